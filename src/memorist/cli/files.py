"""Commands between files and the memory: load, export."""

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorist.cli.progress import bytes_bar
from memorist.cli.running import EXIT_BAD_LINES, opened, run
from memorist.cli.showing import clean
from memorist.errors import InvalidInputError

if TYPE_CHECKING:
    from memorist.transfer import LoadReport

__all__ = ["register"]

_MOST_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(load)
    app.command()(export)


def load(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; - reads the standard input.")],
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Whose records they become, where a line names no user.")
    ] = None,
) -> None:
    """Load a chat, or what `memorist export` wrote; which of the two, the file says itself.

    A chat is one JSON object a line: text (or content), and if you have them id, group, session, speaker
    (or role), timestamp, user, metadata. What is there already is left alone, so a file can be loaded
    again, after an interruption too. Lines that cannot be read are left out, counted and listed, and then
    the exit code is 3.
    """

    async def work() -> "LoadReport":
        from memorist.chat import load_file

        async with opened(context, user) as memory:
            with bytes_bar(f"Loading {clean(file)}") as progress:
                return await load_file(memory, file, progress=progress)

    begun = time.perf_counter()
    report = run(work)
    bad = len(report.bad)
    typer.echo(
        f"{report.added:,} added, {report.existing:,} there already, {bad:,} bad line{'' if bad == 1 else 's'}"
        f" ({time.perf_counter() - begun:.1f} s)"
    )
    for line in report.bad[:_MOST_SHOWN]:
        typer.echo(f"line {line.number}: {clean(line.reason)}", err=True)
    if bad > _MOST_SHOWN:
        typer.echo(f"… and {bad - _MOST_SHOWN:,} more", err=True)
    if bad:
        raise typer.Exit(EXIT_BAD_LINES)


def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="A new file; by default the standard output.")] = "-",
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose; without it, of all users.")] = None,
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
            number = await _write_new(Path(file).expanduser(), lines)
        typer.echo(f"{number:,} record{'' if number == 1 else 's'} written to {file}")

    run(work)


async def _write_new(target: Path, lines: AsyncIterator[str]) -> int:
    """Write the lines to a new file, whole or not at all; return how many came after the first."""
    if target.exists():
        raise InvalidInputError(f"{target} exists; choose another path")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
    draft, number = Path(name), -1
    try:
        with os.fdopen(handle, "wb") as stream:
            async for line in lines:
                stream.write(f"{line}\n".encode())
                number += 1
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return number
