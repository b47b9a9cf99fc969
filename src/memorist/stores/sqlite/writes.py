"""Writes inside a transaction."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from memorist.records.filters import Filter
from memorist.records.record import Action, Record
from memorist.records.scope import Wall
from memorist.records.times import to_micros
from memorist.stores import rules
from memorist.stores.base import Put, Remove, Vector, Write
from memorist.stores.rows import COLUMNS, NAMES, dump_record, name_of, stored_of, values_of
from memorist.stores.sql import Sql
from memorist.stores.sqlite.conditions import sql_of
from memorist.stores.sqlite.rows import query_all, query_one

_ALL = f"wall, number, {COLUMNS}, at, epoch"
_MARKS = ",".join("?" * (len(NAMES) + 4))
_ASSIGN = ", ".join(f"{name} = ?" for name in NAMES)
_KIND, _SUPERSEDED_AT, _SOURCES = map(NAMES.index, ("kind", "superseded_at", "derived_from"))
_NEXT = "(SELECT ifnull(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'changes')"
_CHANGED = (  # INSERT ... SELECT would open a savepoint, at which FTS5 writes what it holds to its tables
    "INSERT INTO changes (epoch, wall, number, id, action, at, source, before)"
    f" VALUES ({_NEXT}, ?, ifnull(?, {_NEXT}), ?, ?, ?, ?, ?)"
)
UNINVERT = "INSERT INTO words (words, rowid, wall, terms) VALUES ('delete', ?, ?, ?)"


def find_wall(connection: apsw.Connection, wall: Wall, *, create: bool = False) -> int | None:
    """Return a wall's id in the file; None if nothing was ever stored behind it."""
    name = name_of(wall)
    found = connection.execute("SELECT id FROM walls WHERE tenant = ? AND user = ?", name).get
    if found is None and create:
        connection.execute("INSERT INTO walls (tenant, user) VALUES (?, ?)", name)
        found = connection.last_insert_rowid()
    return found  # type: ignore[no-any-return]


def check_embedder(connection: apsw.Connection, fingerprint: str | None, dimensions: int | None) -> None:
    """Refuse vectors of another embedder: another process may have reindexed the store."""
    noted = connection.execute("SELECT name, value FROM meta WHERE name IN ('fingerprint', 'dimensions')")
    rules.check_embedder(dict(noted), fingerprint, dimensions)


class Dropped(dict[int | None, Counter[str]]):
    """How many records of each kind were removed because they quoted a removed record, by the number of their wall."""


def put(connection: apsw.Connection, wall_id: int | None, write: Put, moment: datetime, dropped: Dropped) -> None:
    """Store a record, if the stored version is the one that the write expects."""
    record = write.record
    found = _find(connection, wall_id, "id = ?", record.id)
    holder = None
    if (handle := rules.handle_of(record)) is not None:
        holder = _find(connection, wall_id, "kind = ? AND key = ? AND superseded_at IS NULL", *handle)
    if write.derived_from:
        sources = [_find(connection, wall_id, "id = ?", id) for id in write.derived_from]
        rules.check_sources(write, [each and stored_of(*each) for each in sources], moment)
    old, expired = rules.check_put(write, found and stored_of(*found), holder and stored_of(*holder), moment)
    for each in expired:
        _remove(connection, wall_id, each.number, Remove(each.id, Action.EXPIRED, moment), dropped)
    if write.expires:
        drop_quoting(connection, wall_id, record.id, moment, dropped)
    # A record's number is the epoch of its first change: assigned in the transaction, never reused.
    before = None if old is None or found is None else dump_record(found[1])
    source = write.source or record.source
    connection.execute(
        _CHANGED,
        (wall_id, None if old is None else old.number, record.id, str(write.action), to_micros(record.updated_at),
         source, before),
    )  # fmt: skip
    epoch = connection.last_insert_rowid()
    if old is not None and found is not None:
        _tally(connection, wall_id, found[1][_KIND], found[1][_SUPERSEDED_AT] is None, -1)
    _tally(connection, wall_id, str(record.kind), record.current, 1)
    _note_sources(connection, wall_id, record, None if found is None else found[1][_SOURCES])
    if old is None:
        number = epoch
        row = (wall_id, number, *values_of(record), to_micros(record.at), epoch)
        connection.execute(f"INSERT INTO records ({_ALL}) VALUES ({_MARKS})", row)
    else:
        number = old.number
        changed = (*values_of(record), to_micros(record.at), epoch, wall_id, number)
        connection.execute(f"UPDATE records SET {_ASSIGN}, at = ?, epoch = ? WHERE wall = ? AND number = ?", changed)
    if not write.keep_index:
        if old is not None:
            unindex(connection, wall_id, number)
        if write.terms is not None:
            index(connection, wall_id, number, write.terms, write.vector, write.marks)
    if write.quotes:
        _note_quotes(connection, wall_id, number, write, moment)


def _tally(connection: apsw.Connection, wall_id: int | None, kind: str, current: bool, by: int) -> None:
    """Count records up or down."""
    connection.execute(
        "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET records = records + excluded.records",
        (wall_id, kind, int(current), by),
    )


def _note_sources(connection: apsw.Connection, wall_id: int | None, record: Record, before: str | None) -> None:
    """Note what a record is derived from, in the place of what the record before it was derived from."""
    if before is not None:
        connection.execute("DELETE FROM derivations WHERE wall = ? AND derived = ?", (wall_id, record.id))
    if sources := record.origin.derived_from:
        rows = ((source, wall_id, record.id) for source in sources)
        connection.executemany("INSERT OR IGNORE INTO derivations VALUES (?, ?, ?)", rows)


def check_alone(connection: apsw.Connection, wall_id: int | None, writes: Sequence[Write], moment: datetime) -> None:
    """Check that no record stays that was derived from one that is to be removed together with its derived records."""
    if ids := rules.removed_alone(writes):
        condition, bindings = sql_of(Filter(derived_from=ids, superseded=True), moment)
        query = f"SELECT id FROM records WHERE wall = ? AND {condition}"
        rules.check_alone(writes, (id for (id,) in query_all(connection, query, (wall_id, *bindings))))


def _note_quotes(connection: apsw.Connection, wall_id: int | None, number: int, write: Put, moment: datetime) -> None:
    there = {}
    for wall, id in write.quotes:
        found = _find(connection, quoted := find_wall(connection, wall), "id = ?", id)
        if found is not None and not stored_of(*found).expired(moment):
            there[wall, id] = quoted
    rules.check_quotes(write, there)
    rows = ((quoted, id, wall_id, number) for (_, id), quoted in there.items())
    connection.executemany("INSERT OR IGNORE INTO quotes (wall, id, by_wall, by) VALUES (?, ?, ?, ?)", rows)


def drop_quoting(connection: apsw.Connection, wall_id: int | None, id: str, moment: datetime, dropped: Dropped) -> None:
    """Remove what quotes a record, in any wall that is not being purged."""
    query = "SELECT by_wall, by FROM quotes WHERE wall = ? AND id = ? AND by_wall NOT IN (SELECT wall FROM purges)"
    for by_wall, by in query_all(connection, query, (wall_id, id)):
        found = query_one(connection, "SELECT id, kind FROM records WHERE wall = ? AND number = ?", (by_wall, by))
        if found is not None and _remove(connection, by_wall, by, Remove(found[0], Action.FORGOTTEN, moment), dropped):
            dropped.setdefault(by_wall, Counter())[found[1]] += 1


def _find(
    connection: apsw.Connection, wall_id: int | None, condition: str, *values: str
) -> tuple[int, tuple[Any, ...]] | None:
    """Return the number and the columns of the record that meets a condition, even if it has expired."""
    row = query_one(
        connection, f"SELECT number, {COLUMNS} FROM records WHERE wall = ? AND {condition}", (wall_id, *values)
    )
    return None if row is None else (row[0], row[1:])


def remove(
    connection: apsw.Connection, wall_id: int | None, write: Remove, moment: datetime, dropped: Dropped
) -> str | None:
    """Remove one record; return its kind, or None where there was none."""
    found = _find(connection, wall_id, "id = ?", write.id)
    noted = rules.check_remove(write, found and stored_of(*found), moment)
    if found is None or noted is None:
        return None
    _, kind, *_ = found[1]
    _remove(connection, wall_id, found[0], noted, dropped)
    return kind if noted is write else None


def _remove(connection: apsw.Connection, wall_id: int | None, number: int, write: Remove, dropped: Dropped) -> bool:
    """Remove a record and those that quote it; return False if it was already removed with a record that it quotes."""
    query = "SELECT kind, superseded_at IS NULL, derived_from FROM records WHERE wall = ? AND number = ?"
    found = query_one(connection, query, (wall_id, number))
    if found is None:
        return False
    kind, current, sources = found
    connection.execute("DELETE FROM records WHERE wall = ? AND number = ?", (wall_id, number))
    _tally(connection, wall_id, kind, current, -1)
    if sources is not None:
        connection.execute("DELETE FROM derivations WHERE wall = ? AND derived = ?", (wall_id, write.id))
    unindex(connection, wall_id, number)
    connection.execute("UPDATE segments SET data = NULL WHERE wall = ? AND ? BETWEEN first AND last", (wall_id, number))
    connection.execute("UPDATE changes SET before = NULL WHERE wall = ? AND id = ?", (wall_id, write.id))
    connection.execute(
        "INSERT INTO changes (wall, number, id, action, at, source) VALUES (?, ?, ?, ?, ?, ?)",
        (wall_id, number, write.id, str(write.action), to_micros(write.at), write.source),
    )
    connection.execute("DELETE FROM quotes WHERE by_wall = ? AND by = ?", (wall_id, number))
    drop_quoting(connection, wall_id, write.id, write.at, dropped)
    return True


def remove_passing(
    connection: apsw.Connection, wall: Wall, passing: Sql, at: datetime, source: str | None, dropped: Dropped
) -> Counter[str]:
    """Remove every record behind a wall that passes; return how many of each kind. Only record numbers are held in
    memory."""
    condition, bindings = passing
    query = f"SELECT number FROM records WHERE wall = ? AND {condition}"
    wall_id = find_wall(connection, wall)
    numbers = array("q", (number for (number,) in connection.execute(query, (wall_id, *bindings))))
    removed: Counter[str] = Counter()
    for number in numbers:
        query = "SELECT id, kind FROM records WHERE wall = ? AND number = ?"
        # None if it was removed with a record that it quotes
        for id, kind in query_all(connection, query, (wall_id, number)):
            _remove(connection, wall_id, number, Remove(id, Action.FORGOTTEN, at, source), dropped)
            removed[kind] += 1
    return removed


EXPIRING = "records INDEXED BY records_by_expiry"
"""The records that expire at some time."""
EXPIRED = "expires_at <= ?1 AND wall IN (SELECT id FROM walls WHERE ?2 IS NULL OR tenant = ?2)"
"""The condition of records that have expired by a time, of a tenant or (None) of all; what a purge left is its own."""


def remove_expired(
    connection: apsw.Connection, moment: datetime, tenant: str | None, dropped: Dropped
) -> Mapping[int | None, Counter[str]]:
    """Remove every expired record, of one tenant or all; return how many of each kind, by the number of the wall."""
    query = f"SELECT wall, number, id, kind FROM {EXPIRING} WHERE {EXPIRED}"
    removed: dict[int | None, Counter[str]] = {}
    for wall_id, number, id, kind in query_all(connection, query, (to_micros(moment), tenant)):
        if _remove(connection, wall_id, number, Remove(id, Action.EXPIRED, moment), dropped):
            removed.setdefault(wall_id, Counter())[kind] += 1
    return removed


def token(wall_id: int | None) -> str:
    """Return the word that represents a wall in the text index."""
    return f"p{wall_id}"


def index(
    connection: apsw.Connection,
    wall_id: int | None,
    number: int,
    terms: str,
    vector: Vector | None,
    marks: Iterable[str] = (),
) -> None:
    """Index a record by its terms and vector, and store its marks with them."""
    blob = None if vector is None else vector.tobytes()
    row = (wall_id, number, terms, blob, " ".join(sorted(marks)))
    connection.execute("INSERT INTO indexed (wall, number, terms, vector, marks) VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("INSERT INTO words (rowid, wall, terms) VALUES (?, ?, ?)", (number, token(wall_id), terms))


def unindex(connection: apsw.Connection, wall_id: int | None, number: int) -> None:
    """Remove a record from the indexes. The inverted index holds no text, so it needs the terms to remove."""
    row = (wall_id, number)
    terms = connection.execute("SELECT terms FROM indexed WHERE wall = ? AND number = ?", row).get
    if terms is not None:
        connection.execute(UNINVERT, (number, token(wall_id), terms))
        connection.execute("DELETE FROM indexed WHERE wall = ? AND number = ?", row)
