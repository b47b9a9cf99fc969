"""Commands on the whole store: backup, reindex."""

from typing import Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import records_bar, spinner
from memorist.cli.running import opened
from memorist.cli.showing import counted, print_json


@command("Backup")
async def backup(
    context: click.Context,
    target: Annotated[str, Argument()],
    keep: Annotated[
        int | None,
        Option(
            metavar="N",
            help="With a folder: keep the N latest backups; older ones are deleted once the new one is checked.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Copy the whole database while it is in use, and check the copy."""
    async with opened(context) as memory:
        with spinner("Copying"):
            copy = await memory.admin.backup(target, keep=keep)
    print_json({"path": str(copy)}) if json else click.echo(f"Copied to {copy}")


@command("Reindex")
async def reindex(
    context: click.Context,
    missing: bool = False,
    json: AsJson = False,
) -> None:
    """Embed every record again with the embedder that is set now. Running it again resumes an interrupted one."""
    async with opened(context, reindexing=not missing) as memory:
        with records_bar("Embedding") as progress:
            number = await memory.admin.reindex(progress, missing=missing)
    again = "" if missing else " anew"
    print_json({"reindexed": number}) if json else click.echo(f"Embedded {counted(number, 'record')}{again}")
