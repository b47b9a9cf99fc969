"""What a write does inside its transaction."""

from datetime import datetime

import apsw

from memorist.errors import ConflictError, EmbedderMismatchError
from memorist.records import Action, Record
from memorist.scope import Wall
from memorist.stores.base import Put, Remove, Vector
from memorist.stores.sqlite.rows import COLUMNS, dump_record, query_all, query_one, shared_name, values_of
from memorist.times import now, to_micros

__all__ = [
    "check_fingerprint",
    "find_partition",
    "index",
    "purge",
    "put",
    "remove",
    "remove_expired",
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
    """Return the id of a wall's partition; None where nothing was ever stored behind it."""
    name = (wall.tenant, shared_name(wall.user))
    found = connection.execute("SELECT id FROM partitions WHERE tenant = ? AND user = ?", name).get
    if found is None and create:
        connection.execute("INSERT INTO partitions (tenant, user) VALUES (?, ?)", name)
        found = connection.last_insert_rowid()
    return found  # type: ignore[no-any-return]


def check_fingerprint(connection: apsw.Connection, fingerprint: str | None) -> None:
    """Refuse to mix: another process may have put another embedder's vectors in force."""
    stored = connection.execute("SELECT value FROM meta WHERE name = 'fingerprint'").get
    if stored != fingerprint:
        raise EmbedderMismatchError(
            f"the store now holds vectors of the embedder {stored!r}, not of {fingerprint!r}; "
            "open it again with that embedder, or run: memorist reindex"
        )


def put(connection: apsw.Connection, partition: int | None, write: Put) -> bool:
    """Store a record whole, if what is there is what the write expects."""
    record = write.record
    old = query_one(
        connection,
        f"SELECT number, expires_at, {COLUMNS} FROM records WHERE partition = ? AND id = ?",
        (partition, record.id),
    )
    if old is not None and _is_over(old[1]):
        _remove(connection, partition, old[0], record.id, Action.EXPIRED, now(), None)
        old = None
    _check_expected(write, None if old is None else old[-1])
    _make_way(connection, partition, record)
    # The epoch of its first change is a record's number: assigned in the transaction, never used again.
    before = None if old is None else dump_record(old[2:])
    source = write.source or record.source
    connection.execute(
        _CHANGED,
        (partition, None if old is None else old[0], record.id, str(write.action), to_micros(record.updated_at),
         source, before),
    )  # fmt: skip
    epoch = connection.last_insert_rowid()
    if old is None:
        number = epoch
        row = (partition, number, *values_of(record), to_micros(record.at), epoch)
        connection.execute(f"INSERT INTO records ({_ALL}) VALUES ({_MARKS})", row)
    else:
        number = old[0]
        changed = (*values_of(record), to_micros(record.at), epoch, partition, number)
        connection.execute(
            f"UPDATE records SET {_ASSIGN}, at = ?, epoch = ? WHERE partition = ? AND number = ?", changed
        )
    if not write.keep_index:
        if old is not None:
            unindex(connection, partition, number)
        if write.terms is not None:
            index(connection, partition, number, write.terms, write.vector)
    return True


def _check_expected(write: Put, version: int | None) -> None:
    if (version or 0) == write.expected:
        return
    if write.expected == 0:
        raise ConflictError(f"the id {write.record.id!r} is taken in this scope; revise the record, or choose another")
    raise ConflictError(f"the record {write.record.id!r} was changed or forgotten meanwhile; read it and try again")


def _make_way(connection: apsw.Connection, partition: int | None, record: Record) -> None:
    """Make sure that the record's key is free; an expired record does not hold one."""
    if record.key is None or not record.current:
        return
    holder = query_one(
        connection,
        "SELECT number, id, expires_at FROM records"
        " WHERE partition = ? AND kind = ? AND key = ? AND superseded_at IS NULL AND id <> ?",
        (partition, str(record.kind), record.key, record.id),
    )
    if holder is None:
        return
    number, id, expires_at = holder
    if not _is_over(expires_at):
        raise ConflictError(f"the key {record.key!r} of kind {record.kind} is taken by the record {id!r}")
    _remove(connection, partition, number, id, Action.EXPIRED, now(), None)


def _is_over(expires_at: int | None) -> bool:
    return expires_at is not None and expires_at <= to_micros(now())


def remove(connection: apsw.Connection, partition: int | None, write: Remove) -> bool:
    """Take one record out; tell whether it was there."""
    found = query_one(
        connection, "SELECT number, expires_at FROM records WHERE partition = ? AND id = ?", (partition, write.id)
    )
    if found is None:
        return False
    number, expires_at = found
    if _is_over(expires_at):
        _remove(connection, partition, number, write.id, Action.EXPIRED, write.at, None)
        return False
    _remove(connection, partition, number, write.id, write.action, write.at, write.source)
    return True


def _remove(
    connection: apsw.Connection, partition: int | None, number: int, id: str, action: Action, at: datetime,
    source: str | None,
) -> None:  # fmt: skip
    unindex(connection, partition, number)
    connection.execute("DELETE FROM records WHERE partition = ? AND number = ?", (partition, number))
    connection.execute("UPDATE changes SET before = NULL WHERE partition = ? AND id = ?", (partition, id))
    connection.execute(
        "INSERT INTO changes (partition, number, id, action, at, source) VALUES (?, ?, ?, ?, ?, ?)",
        (partition, number, id, str(action), to_micros(at), source),
    )


def remove_expired(connection: apsw.Connection, moment: datetime) -> int:
    """Take out every record whose time is over; return how many."""
    query = "SELECT partition, number, id FROM records WHERE expires_at <= ?"
    over = query_all(connection, query, (to_micros(moment),))
    for partition, number, id in over:
        _remove(connection, partition, number, id, Action.EXPIRED, moment, None)
    return len(over)


def purge(connection: apsw.Connection, wall: Wall) -> int:
    """Take out everything behind a wall, its history and its name."""
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
    """Return the word that stands for a wall in the text index."""
    return f"p{partition}"


def index(connection: apsw.Connection, partition: int | None, number: int, terms: str, vector: Vector | None) -> None:
    """Make a record findable by its terms and vector."""
    blob = None if vector is None else vector.tobytes()
    connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?)", (partition, number, terms, blob))
    connection.execute("INSERT INTO words (rowid, wall, terms) VALUES (?, ?, ?)", (number, token(partition), terms))


def unindex(connection: apsw.Connection, partition: int | None, number: int) -> None:
    """Make a record unfindable. The inverted index holds no text, so it must be told what it held."""
    place = (partition, number)
    terms = connection.execute("SELECT terms FROM indexed WHERE partition = ? AND number = ?", place).get
    if terms is not None:
        connection.execute(_UNINVERT, (number, token(partition), terms))
        connection.execute("DELETE FROM indexed WHERE partition = ? AND number = ?", place)
