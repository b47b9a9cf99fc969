"""Commands between files and the memory: load, export."""

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import bytes_bar, records_bar
from memorist.cli.running import EXIT_BAD_LINES, opened, run
from memorist.cli.showing import clean, counted, print_json
from memorist.errors import path_taken

if TYPE_CHECKING:
    from memorist.lines import LoadReport

__all__ = ["export", "load", "write_new"]

_MOST_SHOWN = 20
_REFRESH = 100


@command()
def load(
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

    async def work() -> "LoadReport":
        async with opened(context, user, new=True) as memory:
            from memorist.files.chats import load_file

            with bytes_bar(f"Loading {clean(file)}") as progress:
                return await load_file(memory, file, progress=progress)

    begun = time.perf_counter()
    report = run(work)
    if json:
        bad = [{"number": each.number, "reason": each.reason} for each in report.bad]
        print_json({"added": report.added, "existing": report.existing, "bad": bad})
    else:
        _say(report, time.perf_counter() - begun)
    if report.bad:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


def _say(report: "LoadReport", seconds: float) -> None:
    """Print the report of a load."""
    bad = len(report.bad)
    counts = f"{report.added:,} added, {report.existing:,} there already, {counted(bad, 'bad line')}"
    click.echo(f"{counts} ({seconds:.1f} s)")
    for each in report.bad[:_MOST_SHOWN]:
        click.echo(f"line {each.number}: {clean(each.reason)}", err=True)
    if bad > _MOST_SHOWN:
        click.echo(f"… and {bad - _MOST_SHOWN:,} more", err=True)


@command()
def export(
    context: click.Context,
    file: Annotated[str, Argument(metavar="[FILE]", help="A new file; by default the standard output.")] = "-",
    user: Annotated[str | None, Option("--user", "-u", help="Whose; without it, of all users.")] = None,
) -> None:
    """Write every memory, superseded ones too, as lines of JSON that `memorist load` reads."""

    async def work() -> None:
        async with opened(context, user) as memory:
            lines = memory.export(everyone=user is None)
            if file == "-":
                async for line in lines:
                    sys.stdout.buffer.write(f"{line}\n".encode())
                sys.stdout.buffer.flush()
                return
            with records_bar(f"Writing {clean(file)}") as bar:
                total = 0 if bar is None else await memory.count(everyone=user is None, superseded=True)
                show = None if bar is None else lambda done: bar(done, total)
                number = await write_new(Path(file).expanduser(), lines, show)
        click.echo(f"{counted(number, 'record')} written to {file}")

    run(work)


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
