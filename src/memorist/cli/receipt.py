"""Commands on receipts of purges: verify."""

from typing import Annotated

import click

from memorist.cli.audit import Key, caller_of, trusted_key
from memorist.cli.declaring import Argument, Option, group
from memorist.cli.options import AsJson
from memorist.cli.running import fail
from memorist.cli.showing import clean, counted, print_json
from memorist.errors import FormatError
from memorist.operations.answers import Receipt
from memorist.system.handles import read_file


@group
def receipt() -> None:
    """Receipts of purges."""


@receipt.subcommand
async def verify(
    context: click.Context,
    file: Annotated[str, Argument(help="What `memorist purge --receipt` wrote.")],
    user: Annotated[str | None, Option("--user", "-u", help="The user the receipt must be about.")] = None,
    key: Key = None,
    json: AsJson = False,
) -> None:
    """Check that a receipt is unchanged and signed with the right key, and tell what it says."""
    from memorist.audit.signing import check
    from memorist.operations.answers import RECEIPT
    from memorist.operations.lines import read_object

    statement = read_object(read_file(file))
    check(statement, RECEIPT, key or trusted_key(context.obj))
    found = Receipt(statement)
    try:
        if user is not None and not found.is_of(user):
            raise fail(f"the receipt is unchanged, but it is not of {user!r}")
        print_json(statement) if json else describe(found)
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"the receipt was made by another version: {error!r}") from error


def describe(found: Receipt) -> None:
    """Print what a receipt says."""
    said = found.statement
    click.echo(f"Asked for at {said['at'][:19]} by {caller_of(said)}")
    beside = [(what, said.get(f"{what}s", 0)) for what in ("token", "trace", "proposal")]
    for what, count in (*said["records"].items(), *beside):
        if count:
            click.echo(f"  {counted(count, what)}")
    searched = "Would be searched" if found.dry_run else "Searched"
    click.echo(f"{searched} for {counted(said['texts'], 'text')} afterwards:")
    for place in said["searched"]:
        others = f"; {place['elsewhere']} in records of others" if place.get("elsewhere") else ""
        click.echo(f"  {clean(place['where'])}" + ("" if found.dry_run else f": {place['found']} found{others}"))
    for copy in said["copies"]:
        click.echo(f"  not purged: {clean(copy)}")
    if said["signature"] is None and not found.dry_run:
        click.echo(f"Not signed: {said['unsigned']}")
