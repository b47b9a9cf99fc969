"""The command that writes every memory to a file: export."""

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, BinaryIO

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.progress import records_bar
from memorist.cli.running import opened
from memorist.cli.showing import clean, counted
from memorist.records.kind import Kind
from memorist.system.writing import new_file


@command()
async def export(
    context: click.Context,
    file: Annotated[str, Argument(help="A new file. By default standard output.")] = "-",
    user: Annotated[str | None, Option("--user", "-u", help="The user. Without it, all users.")] = None,
    to: Annotated[
        str,
        Option(metavar="FORMAT", help="memorist, mem0, letta, markdown or openai (ChatGPT's conversations.json)."),
    ] = "memorist",
    kind: Annotated[tuple[Kind, ...], Option("--kind", "-k", help="Only this kind. May be repeated.")] = (),
) -> None:
    """Write memories to a file: as lines of JSON that `memorist load` reads, or as another system reads them.

    Our own format has every record as it is, superseded ones too. Of the others, `memorist import` reads each again;
    what one has no place for is counted at the end.
    """
    from memorist.imports.exporting import export_text
    from memorist.imports.registry import writer_named
    from memorist.imports.writer import ExportReport

    writer, report = writer_named(to), ExportReport()
    async with opened(context, user) as memory:
        everyone, kinds = user is None, kind or writer.kinds
        texts = export_text(memory, writer, report, everyone=everyone, kind=kinds)
        with _writing(file) as stream, nullcontext() if file == "-" else records_bar(f"Writing {clean(file)}") as bar:
            total = 0 if bar is None else await memory.count(kind=kinds, everyone=everyone, superseded=True)
            async for text in texts:
                stream.write(text.encode())
                if bar is not None:
                    bar(report.written, total)
            stream.flush()
    if file != "-":
        click.echo(f"{counted(report.written, 'record')} written to {file}")
    if losses := report.losses():
        click.echo(f"{losses} could not be written in the format {writer.name}", err=file == "-")


async def write_lines(file: str, lines: AsyncIterator[str]) -> int | None:
    """Write lines to a new file, all or none, and return their number; None where they go to the standard output.

    Args:
        file: the file; ``-`` is the standard output, which gets UTF-8 whatever the terminal's encoding.
        lines: the lines, without line ends.
    """
    number = 0
    with _writing(file) as stream:
        async for line in lines:
            stream.write(f"{line}\n".encode())
            number += 1
        stream.flush()
    return None if file == "-" else number


def _writing(file: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdout.buffer) if file == "-" else new_file(file)
