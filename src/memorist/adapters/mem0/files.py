"""What mem0 has stored, out of its files: Qdrant's local folder, or else the history alone."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.errors import FormatError, InvalidInputError, missing_extra

_STORAGE = "storage.sqlite"
_BESIDE = ("created_at", "updated_at", "actor_id", "role")
_COLUMNS = ("memory_id", "event", "new_memory", *_BESIDE)
# In the order in which they were written: not every row has its time, and mem0 wrote some in local time.
_CURRENT = f"SELECT {', '.join(_COLUMNS)} FROM history ORDER BY rowid"


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """One memory as it lies in a file: its id, and its fields side by side."""

    id: object
    fields: Mapping[str, Any]


def read_mem0(path: Path) -> Iterator[StoredMemory]:
    """Yield the memories in mem0's files.

    Args:
        path: the folder of mem0's Qdrant store, or the file of its history.

    Raises:
        InvalidInputError: the file is no history of mem0's.
        FormatError: it is damaged.
        MissingExtraError: a folder, and qdrant-client is not installed.
    """
    if not path.is_dir():
        yield from _history(path)
        return
    for collection, found in points(path):
        if not collection.endswith("_entities") and collection != "mem0migrations":  # those are not memories
            yield found


def points(store: Path) -> Iterator[tuple[str, StoredMemory]]:
    """Yield the points of a Qdrant folder, each with its collection.

    A copy is opened: the client locks a folder, and tidies it up.

    Raises:
        FormatError: it cannot be read.
        MissingExtraError: qdrant-client is not installed.
    """
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise missing_extra("qdrant-client", "qdrant") from error

    with tempfile.TemporaryDirectory(prefix="memorist-mem0-") as copy:
        _copy(store, Path(copy))
        try:
            client = QdrantClient(path=copy)
        except Exception as error:  # the client raises what reading happens to raise
            raise FormatError(f"the Qdrant store in {store} cannot be read: {error}") from error
        with closing(client):
            for collection in sorted(each.name for each in client.get_collections().collections):
                cursor: Any = None
                while True:
                    some, cursor = client.scroll(collection, limit=1000, offset=cursor, with_vectors=False)
                    yield from ((collection, StoredMemory(point.id, point.payload or {})) for point in some)
                    if cursor is None:
                        break


def _copy(store: Path, target: Path) -> None:
    (target / "meta.json").write_bytes((store / "meta.json").read_bytes())
    for file in sorted(store.glob(f"collection/*/{_STORAGE}")):
        folder = target / "collection" / file.parent.name
        folder.mkdir(parents=True)
        try:
            with closing(_opened(file)) as source, closing(sqlite3.connect(folder / _STORAGE)) as copy:
                source.backup(copy)
        except sqlite3.Error as error:
            raise FormatError(f"{file} cannot be read: {error}") from error


def _opened(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def has_history(file: Path) -> bool:
    """Whether a file is a history of mem0's."""
    try:
        with closing(_opened(file)) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(history)")}
    except sqlite3.Error:
        return False
    return columns.issuperset(_COLUMNS)


def _history(file: Path) -> Iterator[StoredMemory]:
    """Yield the memories that a history leaves: the last text of each, unless it was deleted."""
    if not has_history(file):
        raise InvalidInputError(f"{file} is no history of mem0's, nor a Qdrant store")
    last: dict[str, dict[str, Any]] = {}
    try:
        with closing(_opened(file)) as connection:
            for id, event, *values in connection.execute(_CURRENT):
                if event == "DELETE":
                    last.pop(id, None)
                    continue
                given = dict(zip(("data", *_BESIDE), values, strict=True))
                last[id] = {name: value for name, value in given.items() if value is not None}
    except sqlite3.Error as error:
        raise FormatError(f"{file} cannot be read: {error}") from error
    yield from (StoredMemory(id, fields) for id, fields in last.items())
