"""Commands between files and the memory: load, export."""

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import bytes_bar, records_bar
from memorist.cli.running import EXIT_BAD_LINES, opened
from memorist.cli.showing import clean, counted, print_bad, print_json
from memorist.errors import path_taken
from memorist.records.kind import Kind
from memorist.system.places import expanded

_REFRESH = 100


@command()
async def load(
    context: click.Context,
    file: Annotated[str, Argument(metavar="PATH", help="The file; - reads the standard input.")],
    user: Annotated[str | None, Option("--user", "-u", help="The user of the lines that name none.")] = None,
    json: AsJson = False,
) -> None:
    """Load a chat, or what `memorist export` wrote. The format is recognised.

    A chat is one JSON object a line: text (or content), and if you have them id, group, session, speaker
    (or role), timestamp, user, metadata. Records that exist already are left alone, so a file can be loaded
    again, after an interruption too. Lines that cannot be read are left out, counted and listed, and then
    the exit code is 3.

    You vouch for the file: its records have the authors that it names, an operator among them. What other programs
    export, and files of others, are read by `memorist import`.
    """
    from memorist.files.chats import load_file

    begun = time.perf_counter()
    async with opened(context, user, new=True) as memory:
        with bytes_bar(f"Loading {clean(file)}") as progress:
            report = await load_file(memory, file, progress=progress)
    if json:
        bad = [{"number": each.number, "reason": each.reason} for each in report.bad]
        print_json({"added": report.added, "existing": report.existing, "bad": bad})
    else:
        counts = f"{report.added:,} added, {report.existing:,} there already"
        click.echo(f"{counts}, {counted(len(report.bad), 'bad line')} ({time.perf_counter() - begun:.1f} s)")
        if report.added:
            click.echo("Their authors are those that the file names; `memorist import` trusts no file that far")
        print_bad((f"line {each.number}: {each.reason}" for each in report.bad), len(report.bad))
    if report.bad:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


@command()
async def export(
    context: click.Context,
    file: Annotated[str, Argument(metavar="[FILE]", help="A new file; by default the standard output.")] = "-",
    user: Annotated[str | None, Option("--user", "-u", help="Whose records. Without it, those of all users.")] = None,
) -> None:
    """Write every memory, superseded ones too, as lines of JSON that `memorist load` reads."""
    async with opened(context, user) as memory:
        lines = memory.export(everyone=user is None)
        with nullcontext() if file == "-" else records_bar(f"Writing {clean(file)}") as bar:
            total = 0 if bar is None else await memory.count(kind=tuple(Kind), everyone=user is None, superseded=True)
            written = await write_lines(file, lines, None if bar is None else lambda done: bar(done - 1, total))
    if written is not None:
        click.echo(f"{counted(written - 1, 'record')} written to {file}")  # the first line is the header


async def write_lines(file: str, lines: AsyncIterator[str], show: Callable[[int], None] | None = None) -> int | None:
    """Write lines to a new file, all or none, and return their number; None where they go to the standard output.

    Args:
        file: the file; ``-`` is the standard output, which gets UTF-8 whatever the terminal's encoding.
        lines: the lines, without line ends.
        show: called during the work with the number of written lines.
    """
    if file == "-":
        async for line in lines:
            sys.stdout.buffer.write(f"{line}\n".encode())
        sys.stdout.buffer.flush()
        return None
    target, number = expanded(file), 0
    if target.exists():
        raise path_taken(target)
    with replacing(target) as stream:
        async for line in lines:
            stream.write(f"{line}\n".encode())
            number += 1
            if show is not None and number % _REFRESH == 0:
                show(number)
    return number


@contextmanager
def replacing(target: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `target`, with these rights, once the block ends without an error."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
