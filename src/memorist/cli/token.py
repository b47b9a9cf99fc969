"""Commands on the tokens that let programs in: create, list, revoke."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import click

from memorist.cli.declaring import Argument, Option, group
from memorist.cli.options import AsJson
from memorist.cli.running import check_exists, local
from memorist.cli.showing import clean, print_json, print_table, shown_time
from memorist.records.scope import Scope

if TYPE_CHECKING:
    from memorist.serve.auth import Tokens


@group
def token() -> None:
    """Tokens for `memorist serve`."""


@token.subcommand
async def create(
    context: click.Context,
    name: Annotated[str, Argument(help="The token's name, used to revoke it.")],
    user: Annotated[
        str | None,
        Option("--user", "-u", help="The user that the token is bound to. Without it, each request names the user."),
    ] = None,
    right: Annotated[str, Option("--right", "-r", help="metrics, read, write or admin.")] = "write",
    expires: Annotated[str | None, Option(help="When it expires: 90d, 12h, or a date. Without it, never.")] = None,
    all_tenants: Annotated[
        bool, Option(help="For an operator: access to every tenant and to whole-store operations.")
    ] = False,
    limits: Annotated[
        tuple[str, ...],
        Option("--limit", metavar="LIMIT", help="requests=600/min, records=10000/day or bytes=10MiB/h. Repeatable."),
    ] = (),
    json: AsJson = False,
) -> None:
    """Make a token and print it once. It is for the tenant that `--tenant` before the command names."""
    from memorist.serve.quotas import parse_limits

    tenant = None if all_tenants else context.obj.tenant
    async with _tokens(context, new=True) as tokens:
        secret, token = await tokens.create(
            name, tenant=tenant, user=user, right=right, expires_at=expires, limits=parse_limits(limits)
        )
    if json:
        print_json({"token": secret, **token.to_dict()})
        return
    click.echo(secret)
    click.echo("This token is shown only once; the store keeps only its hash.", err=True)


@token.subcommand
async def list_(context: click.Context, json: AsJson = False) -> None:
    """Show the tokens of this database, without their secrets."""
    async with _tokens(context) as store:
        tokens, now = await store.list(), store.clock()
    if json:
        print_json([token.to_dict() for token in tokens])
        return
    rows = list[tuple[str, ...]]()
    for token in tokens:
        grant = token.grant
        until = "never" if token.expires_at is None else shown_time(token.expires_at)
        limits = ", ".join(f"{what} {limit}" for what, limit in grant.limits.items()) or "none"
        until = f"{until} (expired)" if token.expired(now) else until
        whose = clean(grant.tenant or "all tenants"), clean(grant.user or "all users")
        rows.append((clean(grant.name), str(grant.right), *whose, limits, until))
    print_table(("Name", "Right", "Tenant", "User", "Limits", "Expires"), rows, none="No tokens.")


@token.subcommand
async def revoke(context: click.Context, name: Annotated[str, Argument(help="The token's name, or its id.")]) -> None:
    """Revoke a token at once."""
    async with _tokens(context) as tokens:
        token = await tokens.revoke(name)
    click.echo(f"Revoked {token.grant.name}")


@asynccontextmanager
async def _tokens(context: click.Context, *, new: bool = False) -> "AsyncIterator[Tokens]":
    from memorist.serve.auth import Tokens

    settings = context.obj.settings()
    if not new:
        check_exists(settings.url)
    async with local(settings, Scope()) as memory:
        yield Tokens(memory)
