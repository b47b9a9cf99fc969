"""Commands on the key that encrypts a memory's file: make one, and give the file another."""

import asyncio
from pathlib import Path
from typing import Annotated

import click

from memorist.cli.declaring import Argument, Option, group
from memorist.cli.running import check_exists
from memorist.errors import InvalidInputError
from memorist.system.writing import new_file

_PLAIN = "none"


@group
def key() -> None:
    """The key that encrypts the database's file."""


@key.subcommand
async def new(
    file: Annotated[Path | None, Argument(help="A new file for the key, readable only by you.")] = None,
) -> None:
    """Make a random key: print it, or write it to a file. Keep a copy elsewhere: without the key the data is lost."""
    from memorist.stores.keys import new_key

    if file is None:
        click.echo(new_key())
        return
    with new_file(file) as target:
        target.write(f"{new_key()}\n".encode())
    click.echo(f"Use it with: MEMORIST_KEY_FROM=file:{file.absolute()}")


@key.subcommand
async def rotate(
    context: click.Context,
    to: Annotated[
        str,
        Option(
            metavar="SOURCE",
            help="The source of the new key: file:PATH, env:NAME, command:COMMAND or keyring:SERVICE/NAME; or "
            "none, to decrypt.",
        ),
    ],
) -> None:
    """Encrypt the file with another key, or a plain file with a first one. Repeat it if it was killed.

    MEMORIST_KEY_FROM says where the present key is kept. No other process may have the file open.
    """
    from memorist.stores import file_of
    from memorist.stores.keys import read_key
    from memorist.stores.sqlite.encryption import rotate

    settings = context.obj.settings()
    path = file_of(settings.url)
    if path is None:
        raise InvalidInputError("only a SQLite file is encrypted by Memorist; name one with --db")
    old = None if settings.key_from is None else read_key(settings.key_from)
    new = None if to == _PLAIN else read_key(to)
    check_exists(settings.url)
    changed = await asyncio.to_thread(rotate, path, old, new, busy_timeout=settings.busy_timeout)
    done = "is not encrypted" if new is None else f"has the key from {new.origin}"
    click.echo(
        f"{path} {done}{'' if changed else ' already'}. Existing backups still need the key that they were made with."
    )
