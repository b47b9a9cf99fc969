"""Searches the files and the tables for texts that a purge should have removed."""

from collections.abc import Collection
from glob import escape
from pathlib import Path

import apsw

from memorist.records.scope import Wall
from memorist.stores.searching import Place, Search, found_in, held_by
from memorist.stores.sqlite.rows import query_all
from memorist.stores.sqlite.writes import find_wall

_TABLES = ("walls", "records", "changes", "indexed", "staged", "quotes", "meta", "audit")


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
        done.copies.append(f"copy {copy}, made before a migration: {held_by(copy, texts, encrypted=encrypted)}")
    return done
