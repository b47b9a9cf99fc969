"""Reads the memories in mem0's files: from Qdrant's local folder, or from the history if there is nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memorist.errors import FormatError, InvalidInputError
from memorist.files.foreign import foreign
from memorist.files.qdrant import Point, points

_BESIDE = ("created_at", "updated_at", "actor_id", "role")
_COLUMNS = ("memory_id", "event", "new_memory", *_BESIDE)
# In the order in which they were written: not every row has its time, and mem0 wrote some in local time.
_CURRENT = f"SELECT {', '.join(_COLUMNS)} FROM history ORDER BY rowid"


def read_mem0(path: Path | bytes) -> Iterator[Point]:
    """Yield the memories in mem0's files, their fields side by side in the payload.

    Args:
        path: the folder of mem0's Qdrant store, the file of its history, or what that holds.

    Raises:
        InvalidInputError: the file is not a history of mem0's.
        FormatError: it is damaged.
    """
    if isinstance(path, bytes) or not path.is_dir():
        yield from _history(path)
        return
    for found in points(path):
        if not found.collection.endswith("_entities") and found.collection != "mem0migrations":  # they are no memories
            yield found


def has_history(file: Path | bytes) -> bool:
    """Whether a file is a history of mem0's."""
    try:
        with foreign(file) as connection:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(history)")}
    except FormatError:
        return False
    return columns.issuperset(_COLUMNS)


def _history(file: Path | bytes) -> Iterator[Point]:
    """Yield the memories that a history leaves: the last text of each, unless it was deleted."""
    if not has_history(file):
        raise InvalidInputError("it is neither a history of mem0's nor a Qdrant store")
    last: dict[str, dict[str, Any]] = {}
    with foreign(file) as connection:
        for id, event, *values in connection.execute(_CURRENT):
            if event == "DELETE":
                last.pop(id, None)
                continue
            given = dict(zip(("data", *_BESIDE), values, strict=True))
            last[id] = {name: value for name, value in given.items() if value is not None}
    yield from (Point("history", id, fields) for id, fields in last.items())
