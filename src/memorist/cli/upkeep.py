"""Commands on the whole store: backup, reindex."""

from typing import Annotated

import typer

from memorist.cli.progress import records_bar
from memorist.cli.running import opened, run

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    app.command()(backup)
    app.command()(reindex)


def backup(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A new file.")],
) -> None:
    """Copy the whole database while it is in use, and check the copy."""

    async def work() -> None:
        async with opened(context) as memory:
            typer.echo(f"Copied to {await memory.backup(target)}")

    run(work)


def reindex(context: typer.Context) -> None:
    """Make all vectors anew with the embedder that is set now; goes on where it was interrupted."""

    async def work() -> None:
        async with opened(context, reindexing=True) as memory:
            with records_bar("Embedding") as progress:
                number = await memory.reindex(progress)
        typer.echo(f"Embedded {number:,} record{'' if number == 1 else 's'} anew")

    run(work)
