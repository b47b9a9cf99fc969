"""Reindexing: new vectors are staged until every record has one, and then replace the old ones at once."""

from collections.abc import Sequence

import apsw

from memorist.records.record import Record
from memorist.records.scope import Wall
from memorist.stores import rules
from memorist.stores.base import Staged
from memorist.stores.rows import NAMES, name_of, record_of
from memorist.stores.sqlite import writes
from memorist.stores.sqlite.rows import query_all

_MISSING = (
    "records AS r JOIN indexed AS i ON i.wall = r.wall AND i.number = r.number JOIN walls AS w ON w.id = r.wall"
    " LEFT JOIN staged AS s ON s.number = r.number AND s.version = r.version WHERE s.number IS NULL"
)


def missing(connection: apsw.Connection, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
    """Return records that have no staged vector yet, as (number, version, record)."""
    _begin(connection, fingerprint)
    columns = ", ".join(f"r.{name}" for name in NAMES)
    after = int(connection.execute("SELECT ifnull(max(number), 0) FROM staged").get)
    # A record's number is the epoch of its first change, so the changes lead to the records in order.
    for floor in dict.fromkeys((after, 0)):  # mostly the next ones; in the end those that changed meanwhile
        rows = query_all(
            connection,
            f"SELECT r.number, r.version, tenant, user, {columns} FROM changes AS c CROSS JOIN {_MISSING}"
            " AND r.wall = c.wall AND r.number = c.epoch AND c.epoch > ? ORDER BY c.epoch LIMIT ?",
            (floor, limit),
        )
        if rows:
            return [(row[0], row[1], record_of(row[4:], Wall(row[2], row[3] or None))) for row in rows]
    return []


def count_missing(connection: apsw.Connection, fingerprint: str) -> int:
    """Return the number of records that have no staged vector of `fingerprint` yet."""
    under_way = connection.execute("SELECT value FROM meta WHERE name = 'staged'").get
    missing = _MISSING if under_way == fingerprint else "indexed"
    return connection.execute(f"SELECT count(*) FROM {missing}").get  # type: ignore[no-any-return]


def unembedded(connection: apsw.Connection, limit: int) -> list[tuple[int, int, Record]]:
    """Return records that were stored without a vector, as (number, version, record)."""
    columns = ", ".join(f"r.{name}" for name in NAMES)
    rows = query_all(
        connection,
        f"SELECT r.number, r.version, tenant, user, {columns} FROM indexed AS i INDEXED BY indexed_later"
        " CROSS JOIN records AS r ON r.wall = i.wall AND r.number = i.number CROSS JOIN walls AS w ON w.id = i.wall"
        " WHERE i.vector IS NULL LIMIT ?",
        (limit,),
    )
    return [(row[0], row[1], record_of(row[4:], Wall(row[2], row[3] or None))) for row in rows]


def fill(connection: apsw.Connection, fingerprint: str, rows: Sequence[Staged]) -> None:
    """Store a vector for each of these records that has none, and make every index in memory read its wall again."""
    writes.check_embedder(connection, fingerprint, rules.length_of(rows))
    connection.executemany(
        "UPDATE indexed SET vector = ? WHERE vector IS NULL AND number = ?"
        " AND wall = (SELECT id FROM walls WHERE tenant = ? AND user = ?)"
        " AND ? = (SELECT version FROM records AS r WHERE r.wall = indexed.wall AND r.number = indexed.number)",
        ((row.vector.tobytes(), row.number, *name_of(row.wall), row.version) for row in rows),
    )
    for table in ("segments", "kept_indexes"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'vectors'")


def _begin(connection: apsw.Connection, fingerprint: str) -> None:
    """Discard vectors that were staged for another embedder."""
    under_way = connection.execute("SELECT value FROM meta WHERE name = 'staged'").get
    if under_way != fingerprint:
        connection.execute("DELETE FROM staged")
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('staged', ?)", (fingerprint,))


def stage(connection: apsw.Connection, fingerprint: str, rows: Sequence[Staged]) -> None:
    """Stage new vectors, terms and marks. Records forgotten meanwhile are ignored."""
    _begin(connection, fingerprint)
    connection.executemany(
        "INSERT OR REPLACE INTO staged (number, wall, version, vector, terms, marks)"
        " SELECT number, wall, ?, ?, ?, ? FROM indexed"
        " WHERE wall = (SELECT id FROM walls WHERE tenant = ? AND user = ?) AND number = ?",
        (
            (row.version, row.vector.tobytes(), row.terms, " ".join(sorted(row.marks)), *name_of(row.wall), row.number)
            for row in rows
        ),
    )


def adopt(connection: apsw.Connection, fingerprint: str, dimensions: int) -> bool:
    """Replace all vectors by the staged ones, unless a record has no staged vector."""
    _begin(connection, fingerprint)
    if connection.execute(f"SELECT EXISTS (SELECT 1 FROM {_MISSING})").get:
        return False
    changed = query_all(
        connection,
        "SELECT i.wall, i.number, s.terms FROM indexed AS i JOIN staged AS s ON s.number = i.number"
        " WHERE s.terms <> i.terms",
    )
    for wall_id, number, terms in changed:
        writes.unindex(connection, wall_id, number)
        writes.index(connection, wall_id, number, terms, None)
    connection.execute(
        "UPDATE indexed SET (vector, marks) = (SELECT vector, marks FROM staged WHERE staged.number = indexed.number)"
        " WHERE wall IN (SELECT id FROM walls)"  # others are being purged
    )
    for table in ("staged", "segments", "kept_indexes"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("DELETE FROM meta WHERE name = 'staged'")
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'vectors'")
    for name, value in (("fingerprint", fingerprint), ("dimensions", str(dimensions))):
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
    return True
