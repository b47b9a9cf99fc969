"""Searches the files and the tables for texts that a purge should have removed."""

import os
from collections.abc import Collection
from contextlib import closing
from functools import partial
from glob import escape
from pathlib import Path
from typing import BinaryIO

import apsw

from memorist.errors import MemoristError
from memorist.records.scope import Wall
from memorist.stores.rows import name_of
from memorist.stores.searching import Place, Search, found_in
from memorist.stores.sqlite.encryption import connect
from memorist.stores.sqlite.rows import query_all
from memorist.stores.sqlite.writes import find_wall
from memorist.system.handles import open_file

_TABLES = ("walls", "records", "changes", "indexed", "staged", "quotes", "derivations", "meta", "audit")


def search(
    connection: apsw.Connection, path: Path | None, wall: Wall, texts: Collection[str], *, encrypted: bool
) -> Search:
    """Search the file, its log and its tables for texts; in the bytes of an encrypted file no text shows.

    The bytes are read through SQLite's own handles; see `system.handles`. SQLite gives no such handle for "-shm",
    which holds page numbers and no content; it is not searched.
    """
    done = Search()
    files = [] if path is None or encrypted else [path, path.with_name(f"{path.name}-wal")]
    found: dict[Path, set[str]] = {}
    for which, file in enumerate(files):  # the database is 0, its log is 1
        size = file.stat().st_size if file.exists() else 0
        found[file] = found_in(lambda start, size: connection.read("main", which, start, size)[1], size, texts)  # noqa: B023
    asked = set().union(*found.values()) if files else set(texts)
    queries = []
    for table in _TABLES:
        texts_in = [row[1] for row in query_all(connection, f"PRAGMA table_info({table})") if row[2] == "TEXT"]
        condition = " OR ".join(f"instr({name}, ?1)" for name in texts_in)
        queries.append(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {condition})")
    others = {text for text in asked if any(connection.execute(query, (text,)).get for query in queries)}
    for file, texts_there in found.items():
        done.places.append(Place(f"file {file}", len(texts_there - others), len(texts_there & others)))
    left = 0 if find_wall(connection, wall) is None else 1
    done.places.append(Place(f"tables {', '.join(_TABLES)}", left, len(others)))
    for copy in [] if path is None else sorted(path.parent.glob(f"{escape(path.name)}.v*.bak")):
        done.copies.append(f"copy {copy}, made before a migration: {held_by(copy, wall, texts, encrypted=encrypted)}")
    return done


def held_by(copy: Path, wall: Wall, texts: Collection[str], *, encrypted: bool) -> str:
    """Return in words what a copy of a store holds of a wall that is purged: its records, and if none, its texts.

    The copy may be of an older version.
    """
    if encrypted:
        return "it is encrypted, so it was not searched"
    try:
        with open_file(copy) as file:  # refused for a file that is open in this process: see `system.handles`
            size = os.fstat(file.fileno()).st_size
            found = found_in(partial(_read, file), size, texts)
        with closing(connect(copy, None, immutable=True)) as connection:
            number = _number_behind(connection, wall)
    except OSError as error:
        return f"it cannot be read, so it was not searched ({error.strerror})"
    except (apsw.Error, MemoristError) as error:
        return f"it cannot be read, so no records were counted ({error}); it holds {len(found)} of the texts"
    whose = "tenant's shared" if wall.user is None else "user's"
    held = f"{number:,}" if number else f"{len(found)} of the texts, and none"
    return f"it holds {held} of the {whose} records"


def _read(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _number_behind(connection: apsw.Connection, wall: Wall) -> int:
    """Return how many records a file has behind a wall, with its traces and proposals."""
    walls, column = ("walls", "wall")
    if connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'partitions'").get:  # before version 3
        walls, column = ("partitions", "partition")
    query = f"SELECT count(*) FROM records WHERE {column} IN (SELECT id FROM {walls} WHERE tenant = ? AND user = ?)"
    return sum(connection.execute(query, name_of(each)).get for each in (wall, wall.traces, wall.inbox))
