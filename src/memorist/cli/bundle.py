"""The command that writes a whole store to one portable file, and reads it back."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import click

from memorist.cli.declaring import Argument, command
from memorist.cli.options import AsJson
from memorist.cli.progress import spinner
from memorist.cli.running import check_exists, opened
from memorist.cli.showing import clean, counted, print_json
from memorist.errors import InvalidInputError

if TYPE_CHECKING:
    from memorist.config import Settings
    from memorist.files.bundle import BundleReport


@command()
async def bundle(
    context: click.Context,
    do: Annotated[Literal["write", "read", "check"], Argument(help="Write the store to a file, read it, or check it.")],
    path: Annotated[str, Argument(help="The file.")],
    json: AsJson = False,
) -> None:
    """Write the whole store to one file of JSON lines with a checksum, or read such a file into this store.

    It holds every tenant and user, each record with its history, origins and ratings, what was forgotten (without its
    texts), the inbox, and the rules of retention; not traces and tokens. Any version and any store reads it. What the
    store has already is left alone, and of a damaged file nothing is stored.
    """
    from memorist.files.bundle import check_bundle

    settings: Settings = context.obj.settings()
    if settings.url.startswith(("http://", "https://")):
        raise InvalidInputError("a bundle is of a whole store: run this where the store is, with --db")
    if do == "check":
        report = check_bundle(path)
    elif do == "write":
        check_exists(settings.url)
        report = await _written(settings, path)
    else:
        report = await _read(settings, path)
        async with opened(context) as memory:
            with spinner("Embedding"):
                await memory.admin.reindex(missing=True)
    if json:
        counts = {"records": report.records, "changes": report.changes, "existing": report.existing}
        print_json({**counts, "walls": len(report.walls)})
        return
    there = f", {report.existing:,} of them stored already" if report.existing else ""
    held = f"{counted(report.records, 'record')} of {counted(len(report.walls), 'scope')}"
    click.echo(f"{clean(path)}: {held}, {counted(report.changes, 'change')}{there}")


async def _written(settings: "Settings", path: str) -> "BundleReport":
    from memorist.files.bundle import write_bundle
    from memorist.stores import open_store

    store = open_store(settings)
    await store.open()
    try:
        return await write_bundle(store, path)
    finally:
        await store.close()


async def _read(settings: "Settings", path: str) -> "BundleReport":
    from memorist.files.bundle import before_all, read_bundle
    from memorist.stores import open_store

    store = open_store(replace(settings, clock=before_all))
    await store.open()
    try:
        return await read_bundle(store, path)
    finally:
        await store.close()
