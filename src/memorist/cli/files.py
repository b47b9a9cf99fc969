"""Commands between files and the memory: load, export."""

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import bytes_bar, records_bar
from memorist.cli.running import EXIT_BAD_LINES, opened
from memorist.cli.showing import clean, counted, print_bad, print_json
from memorist.errors import path_taken

_REFRESH = 100


@command()
async def load(
    context: click.Context,
    file: Annotated[str, Argument(metavar="PATH", help="The file; - reads the standard input.")],
    user: Annotated[
        str | None, Option("--user", "-u", help="Whose records they become, where a line names no user.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Load a chat, or what `memorist export` wrote; which of the two, the file says itself.

    A chat is one JSON object a line: text (or content), and if you have them id, group, session, speaker
    (or role), timestamp, user, metadata. What is there already is left alone, so a file can be loaded
    again, after an interruption too. Lines that cannot be read are left out, counted and listed, and then
    the exit code is 3.

    What other programs export is read by `memorist import`.
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
        print_bad((f"line {each.number}: {each.reason}" for each in report.bad), len(report.bad))
    if report.bad:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


@command()
async def export(
    context: click.Context,
    file: Annotated[str, Argument(metavar="[FILE]", help="A new file; by default the standard output.")] = "-",
    user: Annotated[str | None, Option("--user", "-u", help="Whose; without it, of all users.")] = None,
) -> None:
    """Write every memory, superseded ones too, as lines of JSON that `memorist load` reads."""
    async with opened(context, user) as memory:
        lines = memory.export(everyone=user is None)
        if file == "-":
            return await print_lines(lines)
        with records_bar(f"Writing {clean(file)}") as bar:
            total = 0 if bar is None else await memory.count(everyone=user is None, superseded=True)
            show = None if bar is None else lambda done: bar(done, total)
            number = await write_new(Path(file).expanduser(), lines, show)
    click.echo(f"{counted(number, 'record')} written to {file}")


async def print_lines(lines: AsyncIterator[str]) -> None:
    """Write the lines to the standard output, in UTF-8 whatever the terminal's encoding."""
    async for line in lines:
        sys.stdout.buffer.write(f"{line}\n".encode())
    sys.stdout.buffer.flush()


async def write_new(target: Path, lines: AsyncIterator[str], show: Callable[[int], None] | None = None) -> int:
    """Write the lines to a new file, all or none; return their number without the first.

    Args:
        target: the file.
        lines: the lines, without line ends.
        show: called during the work with the number of written lines.
    """
    if target.exists():
        raise path_taken(target)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    draft, number = Path(name), -1
    try:
        with os.fdopen(handle, "wb") as stream:
            async for line in lines:
                stream.write(f"{line}\n".encode())
                number += 1
                if show is not None and number % _REFRESH == 0:
                    show(number)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return number
