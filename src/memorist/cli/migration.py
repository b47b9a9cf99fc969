"""The command that moves: migrate, from any store to any other."""

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import click

from memorist.cli.declaring import Argument, Option, command
from memorist.cli.options import AsJson
from memorist.cli.progress import records_bar
from memorist.cli.running import confirm, fail, run
from memorist.cli.showing import clean, counted, print_json, print_table, shown_url
from memorist.errors import InvalidInputError

if TYPE_CHECKING:
    from memorist.files.migration import MigrationReport
    from memorist.records.scope import Wall
    from memorist.stores import Store

_MOST_SHOWN = 20


@command()
def migrate(
    context: click.Context,
    source: Annotated[str, Argument(help="The store to copy from: a file or a URL.")],
    target: Annotated[str, Argument(help="The store to copy to: a file or a URL.")],
    dry_run: Annotated[bool, Option(help="Show what would be copied; copy nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Skip the confirmation.")] = False,
    json: AsJson = False,
) -> None:
    """Copy everything from one store to another: all tenants, users and records, with their vectors.

    The source is not changed. Records that the target has already are left alone, so a migration that was
    interrupted is resumed by running it again. At the end both are compared by count and checksum; where they differ
    the exit code is 1. The target's log of changes starts empty.
    """
    from memorist.files.migration import survey
    from memorist.stores import file_of

    if (file := file_of(_url(context, source))) is not None and not file.exists():
        raise fail(f"there is no file {file}")

    async def surveyed() -> "dict[Wall, int]":
        store = _store(context, source)
        await store.open()
        try:
            return await survey(store)
        finally:
            await store.close()

    if dry_run or not (yes or json):
        _show(source, target, run(surveyed), as_json=json)
    if dry_run:
        return
    if not yes:
        confirm("Copy these?")
    report = run(lambda: _migrate(context, source, target))
    if json:
        plain = {name: getattr(report, name) for name in ("records", "copied", "existing", "verified")}
        print_json({**plain, "differing": [[wall.tenant, wall.user] for wall in report.differing]})
    else:
        click.echo(f"{report.copied:,} copied, {report.existing:,} already stored, of {report.records:,}")
    if not report.verified:
        names = ", ".join(f"{wall.tenant}/{wall.user or '(shared)'}" for wall in report.differing[:_MOST_SHOWN])
        raise fail(
            f"source and target differ in {len(report.differing):,} of {report.walls:,} scopes ({names}): something "
            "was written during the migration, or the target had other records; stop all writers and run it again"
        )
    if not json:
        click.echo("Verified: source and target have equal counts and checksums")


def _url(context: click.Context, url: str) -> str:
    return str(context.obj.settings().with_given(url=url).url)


def _store(context: click.Context, url: str) -> "Store":
    from memorist.stores import file_of, open_store

    settings = context.obj.settings().with_given(url=url)
    if file_of(settings.url) is None:  # the key belongs to the file
        settings = replace(settings, key_from=None)
    return open_store(settings)


async def _migrate(context: click.Context, source: str, target: str) -> "MigrationReport":
    from memorist.files.migration import migrate
    from memorist.stores import file_of

    urls = [_url(context, each) for each in (source, target)]
    if len({file_of(url) or url for url in urls}) == 1:
        raise InvalidInputError("source and target are the same store")
    async with AsyncExitStack() as stack:
        stores = [_store(context, url) for url in (source, target)]
        for store in stores:
            await store.open()
            stack.push_async_callback(store.close)
        with records_bar("Copying and comparing") as progress:
            return await migrate(stores[0], stores[1], progress)


def _show(source: str, target: str, sizes: "dict[Wall, int]", *, as_json: bool) -> None:
    if as_json:
        print_json([{"tenant": wall.tenant, "user": wall.user, "records": size} for wall, size in sizes.items()])
        return
    shown = [*sizes.items()][:_MOST_SHOWN]
    rows = ((clean(wall.tenant), clean(wall.user or "(shared)"), f"{size:,}") for wall, size in shown)
    print_table(("Tenant", "User", "Records"), rows)
    more = f", {len(sizes) - _MOST_SHOWN:,} scopes not shown" if len(sizes) > _MOST_SHOWN else ""
    click.echo(f"{counted(sum(sizes.values()), 'record')} from {shown_url(source)} to {shown_url(target)}{more}")
