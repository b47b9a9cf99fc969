"""Writes inside a transaction."""

from array import array
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import apsw

from memorist.records import Action
from memorist.scope import Wall
from memorist.stores import rules
from memorist.stores.base import Put, Remove, Vector
from memorist.stores.sql import Sql
from memorist.stores.sqlite.rows import COLUMNS, dump_record, query_all, query_one, shared_name, stored_of, values_of
from memorist.times import to_micros

__all__ = [
    "check_fingerprint",
    "find_partition",
    "index",
    "purge",
    "put",
    "remove",
    "remove_expired",
    "remove_passing",
    "token",
    "unindex",
]

_ALL = f"partition, number, {COLUMNS}, at, epoch"
_MARKS = ",".join("?" * (COLUMNS.count(",") + 5))
_ASSIGN = ", ".join(f"{name.strip()} = ?" for name in COLUMNS.split(","))
_CHANGED = (
    "INSERT INTO changes (epoch, partition, number, id, action, at, source, before)"
    " SELECT next, ?, ifnull(?, next), ?, ?, ?, ?, ?"
    " FROM (SELECT ifnull(max(seq), 0) + 1 AS next FROM sqlite_sequence WHERE name = 'changes')"
)
_UNINVERT = "INSERT INTO words (words, rowid, wall, terms) VALUES ('delete', ?, ?, ?)"


def find_partition(connection: apsw.Connection, wall: Wall, *, create: bool = False) -> int | None:
    """Return a wall's id in the file; None if nothing was ever stored behind it."""
    name = (wall.tenant, shared_name(wall.user))
    found = connection.execute("SELECT id FROM partitions WHERE tenant = ? AND user = ?", name).get
    if found is None and create:
        connection.execute("INSERT INTO partitions (tenant, user) VALUES (?, ?)", name)
        found = connection.last_insert_rowid()
    return found  # type: ignore[no-any-return]


def check_fingerprint(connection: apsw.Connection, fingerprint: str | None) -> None:
    """Refuse vectors of another embedder: another process may have reindexed the store."""
    rules.check_fingerprint(connection.execute("SELECT value FROM meta WHERE name = 'fingerprint'").get, fingerprint)


def put(connection: apsw.Connection, partition: int | None, write: Put, moment: datetime) -> bool:
    """Store a record, if the stored version is the one that the write expects."""
    record = write.record
    found = _find(connection, partition, "id = ?", record.id)
    holder = None
    if (handle := rules.handle_of(record)) is not None:
        holder = _find(connection, partition, "kind = ? AND key = ? AND superseded_at IS NULL", *handle)
    old, expired = rules.check_put(write, found and stored_of(*found), holder and stored_of(*holder), moment)
    for each in expired:
        _remove(connection, partition, each.number, Remove(each.id, Action.EXPIRED, moment))
    # A record's number is the epoch of its first change: assigned in the transaction, never reused.
    before = None if old is None or found is None else dump_record(found[1])
    source = write.source or record.source
    connection.execute(
        _CHANGED,
        (partition, None if old is None else old.number, record.id, str(write.action), to_micros(record.updated_at),
         source, before),
    )  # fmt: skip
    epoch = connection.last_insert_rowid()
    if old is None:
        number = epoch
        row = (partition, number, *values_of(record), to_micros(record.at), epoch)
        connection.execute(f"INSERT INTO records ({_ALL}) VALUES ({_MARKS})", row)
    else:
        number = old.number
        changed = (*values_of(record), to_micros(record.at), epoch, partition, number)
        connection.execute(
            f"UPDATE records SET {_ASSIGN}, at = ?, epoch = ? WHERE partition = ? AND number = ?", changed
        )
    if not write.keep_index:
        if old is not None:
            unindex(connection, partition, number)
        if write.terms is not None:
            index(connection, partition, number, write.terms, write.vector, write.marks)
    return True


def _find(
    connection: apsw.Connection, partition: int | None, condition: str, *values: str
) -> tuple[int, tuple[Any, ...]] | None:
    """Return the number and the columns of the record that meets a condition, even if it has expired."""
    row = query_one(
        connection, f"SELECT number, {COLUMNS} FROM records WHERE partition = ? AND {condition}", (partition, *values)
    )
    return None if row is None else (row[0], row[1:])


def remove(connection: apsw.Connection, partition: int | None, write: Remove, moment: datetime) -> bool:
    """Remove one record; return whether it was there."""
    found = _find(connection, partition, "id = ?", write.id)
    if found is None:
        return False
    noted, done = rules.check_remove(write, stored_of(*found), moment)
    _remove(connection, partition, found[0], noted)
    return done


def _remove(connection: apsw.Connection, partition: int | None, number: int, write: Remove) -> None:
    unindex(connection, partition, number)
    connection.execute("DELETE FROM records WHERE partition = ? AND number = ?", (partition, number))
    connection.execute("UPDATE changes SET before = NULL WHERE partition = ? AND id = ?", (partition, write.id))
    connection.execute(
        "INSERT INTO changes (partition, number, id, action, at, source) VALUES (?, ?, ?, ?, ?, ?)",
        (partition, number, write.id, str(write.action), to_micros(write.at), write.source),
    )


def remove_passing(connection: apsw.Connection, wall: Wall, passing: Sql, at: datetime, source: str | None) -> int:
    """Remove every record behind a wall that passes; return their number. Only record numbers are held in memory."""
    condition, bindings = passing
    query = f"SELECT number FROM records WHERE partition = ? AND {condition}"
    partition = find_partition(connection, wall)
    numbers = array("q", (number for (number,) in connection.execute(query, (partition, *bindings))))
    for number in numbers:
        id = connection.execute("SELECT id FROM records WHERE partition = ? AND number = ?", (partition, number)).get
        _remove(connection, partition, number, Remove(id, Action.FORGOTTEN, at, source))
    return len(numbers)


def remove_expired(connection: apsw.Connection, moment: datetime) -> int:
    """Remove every expired record; return their number."""
    query = "SELECT partition, number, id FROM records WHERE expires_at <= ?"
    over = query_all(connection, query, (to_micros(moment),))
    for partition, number, id in over:
        _remove(connection, partition, number, Remove(id, Action.EXPIRED, moment))
    return len(over)


def purge(connection: apsw.Connection, wall: Wall) -> int:
    """Remove everything behind a wall, its history and its name."""
    partition = find_partition(connection, wall)
    if partition is None:
        return 0
    count: int = connection.execute("SELECT count(*) FROM records WHERE partition = ?", (partition,)).get
    rows = query_all(connection, "SELECT number, terms FROM indexed WHERE partition = ?", (partition,))
    connection.executemany(_UNINVERT, ((number, token(partition), terms) for number, terms in rows))
    for table in ("indexed", "staged", "changes", "records"):
        connection.execute(f"DELETE FROM {table} WHERE partition = ?", (partition,))
    connection.execute("DELETE FROM partitions WHERE id = ?", (partition,))
    return count


def token(partition: int | None) -> str:
    """Return the word that represents a wall in the text index."""
    return f"p{partition}"


def index(
    connection: apsw.Connection,
    partition: int | None,
    number: int,
    terms: str,
    vector: Vector | None,
    marks: Iterable[str] = (),
) -> None:
    """Index a record by its terms and vector, and store its marks with them."""
    blob = None if vector is None else vector.tobytes()
    row = (partition, number, terms, blob, " ".join(sorted(marks)))
    connection.execute("INSERT INTO indexed (partition, number, terms, vector, marks) VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("INSERT INTO words (rowid, wall, terms) VALUES (?, ?, ?)", (number, token(partition), terms))


def unindex(connection: apsw.Connection, partition: int | None, number: int) -> None:
    """Remove a record from the indexes. The inverted index holds no text, so it needs the terms to remove."""
    place = (partition, number)
    terms = connection.execute("SELECT terms FROM indexed WHERE partition = ? AND number = ?", place).get
    if terms is not None:
        connection.execute(_UNINVERT, (number, token(partition), terms))
        connection.execute("DELETE FROM indexed WHERE partition = ? AND number = ?", place)
