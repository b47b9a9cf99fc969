"""What ranking reads of the records behind a wall."""

from typing import Any

import apsw
import numpy as np

from memorist.records.record import Kind
from memorist.records.scope import Wall
from memorist.stores.base import Entries, Entry
from memorist.stores.rows import name_of
from memorist.stores.sqlite.rows import query_all

SPEAKER = "ifnull(json_extract(payload, '$.speaker'), json_extract(payload, '$.role'))"
"""Who speaks, of a record."""
_AT_ONCE = 4000
_SELECT = (
    f"SELECT epoch, r.number, id, kind, agent, session, {SPEAKER},"
    " at, expires_at, superseded_at, rating, authors, terms, vector, marks"
    " FROM records AS r LEFT JOIN indexed AS i ON i.wall = r.wall AND i.number = r.number WHERE r.wall = ?"
)
_TERMS = -3


def state_of(connection: apsw.Connection, wall: Wall) -> tuple[int | None, str, int]:
    """Return a wall's id, its generation and the last epoch of the whole file."""
    [(wall_id, vectors, epoch)] = query_all(
        connection,
        "SELECT (SELECT id FROM walls WHERE tenant = ? AND user = ?),"
        " (SELECT value FROM meta WHERE name = 'vectors'),"
        " ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0)",
        name_of(wall),
    )
    return wall_id, f"{wall_id}.{vectors}", epoch


def entries_since(connection: apsw.Connection, wall: Wall, generation: str | None, epoch: int) -> Entries:
    """Return the entries that changed after an epoch, as `Store.entries` does."""
    with connection:  # one snapshot for all three queries
        wall_id, current, latest = state_of(connection, wall)
        since = epoch if generation == current else 0
        rows = query_all(connection, f"{_SELECT} AND epoch > ? ORDER BY epoch LIMIT ?", (wall_id, since, _AT_ONCE))
        more = len(rows) == _AT_ONCE
        reached = rows[-1][0] if more else latest
        gone = query_all(
            connection,
            "SELECT number FROM changes WHERE wall = ? AND epoch > ? AND epoch <= ?"
            " AND action IN ('forgotten', 'expired')",
            (wall_id, since, reached),
        )
    # The record that replaced it may be of a kind that recall does not find: then its entry is removed too.
    found = [_entry(row) for row in rows if row[_TERMS] is not None]
    unfindable = [row[1] for row in rows if row[_TERMS] is None]
    return Entries(current, reached, found, [*unfindable, *(number for (number,) in gone)], more)


def entries_where(connection: apsw.Connection, wall_id: int | None, condition: str, *values: Any) -> list[Entry]:
    """Return the entries of the records behind a wall that meet a condition on their row `r`."""
    rows = query_all(connection, f"{_SELECT} AND {condition}", (wall_id, *values))
    return [_entry(row) for row in rows if row[_TERMS] is not None]


def _entry(row: tuple[Any, ...]) -> Entry:
    _, number, id, kind, agent, session, speaker, *times, rating, authors, terms, blob, marks = row
    at, expires_at, superseded_at = times
    vector = None if blob is None else np.frombuffer(blob, np.float32)
    return Entry(
        number, id, Kind(kind), agent, session, None if speaker is None else str(speaker),
        at, expires_at, superseded_at, rating, terms, vector, frozenset(marks.split()), authors,
    )  # fmt: skip
