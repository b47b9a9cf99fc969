"""The command that writes every memory to a file: export."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.progress import records_bar
from memorist.cli.running import opened
from memorist.cli.showing import clean, counted
from memorist.records.kind import Kind
from memorist.system.writing import new_file

_REFRESH = 100


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
    number = 0
    with new_file(file) as stream:
        async for line in lines:
            stream.write(f"{line}\n".encode())
            number += 1
            if show is not None and number % _REFRESH == 0:
                show(number)
    return number
