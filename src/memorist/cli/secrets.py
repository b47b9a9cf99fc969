"""The command secrets."""

from typing import Annotated

import click

from memorist.cli.declaring import Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import spinner
from memorist.cli.running import confirm, opened
from memorist.cli.showing import clean, counted, print_json, print_table


@command("Secrets")
async def secrets(
    context: click.Context,
    redact: bool = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """List what holds a key, a token or a card number of a known form, of every user; the secret is not shown.

    Masking one removes its record's earlier versions and what quotes the record. Backups are not reached.
    """
    if redact and not yes:
        confirm("Mask every secret found, and delete the earlier versions of these records?")
    async with opened(context) as memory:
        with spinner("Reading every record"):
            found = await memory.admin.secrets(redact=redact)
    if json:
        print_json([each.to_dict() for each in found])
        return
    rows = (
        (each.where, "(shared)" if each.user is None else clean(each.user), clean(each.id), ", ".join(each.forms))
        for each in found
    )
    print_table(("Where", "User", "Id", "What"), rows, none="No secrets of a known form were found.")
    states = sum(each.where == "state" for each in found)
    if redact and len(found) > states:
        click.echo(f"Masked the secrets of {counted(len(found) - states, 'record')}")
    if states:
        click.echo(
            "A framework's saved state is not masked, because the framework could not read it any more; "
            "forget it by its id"
        )
