"""Commands on Mango's memory: training from a file, and export into one."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import click

from memorist.cli.declaring import Argument, Option, group
from memorist.cli.files import write_lines
from memorist.cli.options import User
from memorist.cli.progress import spinner
from memorist.cli.running import EXIT_BAD_LINES, opened
from memorist.cli.showing import counted, print_bad
from memorist.system.handles import read_file
from memorist.system.places import expanded

if TYPE_CHECKING:
    from memorist.adapters.mango.layered import LayeredMemory

Folder: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FOLDER", help="Mango's own Chroma folder; without it, the database is used."),
]
Collection: TypeAlias = Annotated[str, Option(help="The collection's name in the folder.")]


@group
def mango() -> None:
    """Mango's memory: tool calls, texts and training examples."""


@asynccontextmanager
async def _memory(
    context: click.Context, user: str | None, folder: Path | None, collection: str
) -> AsyncIterator["LayeredMemory"]:
    from memorist.adapters.mango import AgentMemory, ChromaAgentMemory

    if folder is None:
        async with opened(context, user, new=True) as memory:
            yield AgentMemory(memory)
        return
    embedder = context.obj.settings().embedder
    chroma = ChromaAgentMemory(folder, collection, embedding_function=embedder)
    try:
        yield chroma
    finally:
        await chroma.close()


@mango.subcommand
async def train(
    context: click.Context,
    file: Annotated[str, Argument(help="The file; - reads standard input.")],
    persist_dir: Folder = None,
    collection: Collection = "mango_memory",
    user: User = None,
) -> None:
    """Take in training entries, one JSON object a line: question, tool_name, tool_args, and if you have them
    result_summary, id, timestamp, type.

    The type is training where a line names none; what `export` wrote is read as well. A line replaces the entry
    with the same id. Blank lines are skipped; bad ones are counted and listed, and then the exit code is 3.
    """
    from memorist.adapters.mango import train_lines

    lines = sys.stdin.buffer.readlines() if file == "-" else read_file(expanded(file)).splitlines()
    async with _memory(context, user, persist_dir, collection) as memory:
        with spinner("Training"):
            report = await train_lines(memory, lines)
    click.echo(f"{report.imported:,} imported, {counted(len(report.bad), 'bad line')}")
    print_bad((f"line {line.number}: {line.reason}" for line in report.bad), len(report.bad))
    if report.bad:
        raise click.exceptions.Exit(EXIT_BAD_LINES)


@mango.subcommand
async def export(
    context: click.Context,
    file: Annotated[str, Argument(help="A new file. By default standard output.")] = "-",
    persist_dir: Folder = None,
    collection: Collection = "mango_memory",
    user: User = None,
) -> None:
    """Write tool calls, texts and training entries as lines of JSON that `train` reads."""
    from memorist.adapters.mango import export_lines

    async with _memory(context, user, persist_dir, collection) as memory:
        written = await write_lines(file, export_lines(memory))
    if written is not None:
        click.echo(f"{counted(written, 'entry', 'entries')} written to {file}")
