"""A memory's file as a test looks into it, below the store: with the key that MEMORIST_KEY_FROM names, if any."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest

from memorist.stores.keys import read_key
from memorist.stores.sqlite import SQLiteStore
from memorist.stores.sqlite.encryption import connect, rotate

KEY_FROM = os.environ.get("MEMORIST_KEY_FROM")
KEY = None if KEY_FROM is None else read_key(KEY_FROM)
plain_only = pytest.mark.skipif(KEY is not None, reason="about files that are not encrypted")


def connect_to(path: str | Path) -> apsw.Connection:
    return connect(Path(path), KEY)


def store_at(path: Path | None, **given: Any) -> SQLiteStore:
    return SQLiteStore(path, key_from=KEY_FROM, **given)


def bytes_beside(path: Path) -> dict[str, bytes]:
    """Return the bytes of each file in the folder of a memory's file, by name, decrypted.

    Another process copies them: the memory may be open in this one.
    """
    with TemporaryDirectory() as folder:
        subprocess.run(["cp", "-a", f"{path.parent}/.", folder], check=True)
        copy = Path(folder) / path.name
        if KEY is not None:
            rotate(copy, KEY, None)
        return {each.name: each.read_bytes() for each in copy.parent.iterdir()}


def undo_latest(connection: apsw.Connection) -> None:
    """Make a file one of schema 7, as if the later steps had not been made."""
    connection.execute(
        "DROP TABLE purges; DROP TABLE counts; DROP TABLE derivations; DROP INDEX indexed_later;"
        "DELETE FROM sqlite_stat1; ALTER TABLE records DROP COLUMN happened_offset; PRAGMA user_version = 7"
    ).fetchall()
