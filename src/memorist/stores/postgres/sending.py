"""Sending the changes of a wall's records in few statements, with whole columns as arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from memorist.stores.postgres.batch import Batch
from memorist.stores.postgres.libpq import Connection
from memorist.stores.postgres.rows import escaped, lexemes_of
from memorist.stores.rows import NAMES, name_of

_T = TypeVar("_T")


async def send(connection: Connection, schema: str, batches: Sequence[Batch]) -> None:
    """Send the changes of records behind walls of one tenant in one pipeline."""
    batches = [batch for batch in batches if batch.changes]
    if not batches:
        return
    tenant, cursor = batches[0].wall.tenant, connection.cursor()
    name = {batch.wall: batch.wall.user or "" for batch in batches}
    if blanked := [(name[batch.wall], id) for batch in batches for id in batch.blanked]:
        await cursor.execute(
            f"UPDATE {schema}.changes SET before = NULL WHERE tenant = %s"
            " AND (user_name, id) IN (SELECT * FROM unnest(%s::text[], %s::text[])) AND before IS NOT NULL".encode(),
            (tenant, *columns_of(blanked)),
        )
    steps = [(step, (name[batch.wall], *row)) for batch in batches for step, row in batch.steps]
    if removed := [(user, number) for step, (user, number, *_) in steps if step == "remove"]:
        among = "(by_user, number) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))"
        await cursor.execute(
            f"DELETE FROM {schema}.quotes WHERE by_tenant = %s AND {among}".encode(), (tenant, *columns_of(removed))
        )
    for step, rows in _together(steps):
        if step == "put":
            await cursor.execute(*_bulk(schema, "records", _RECORDS, tenant, rows))
        else:
            await cursor.execute(*_removal(schema, "records", tenant, [row[:2] for row in rows]))
    if quoting := [
        (*name_of(wall), id, tenant, name[batch.wall], number)
        for batch in batches
        for number, quotes in batch.quoting.items()
        for wall, id in quotes
    ]:
        given = "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[]"
        await cursor.execute(
            f"INSERT INTO {schema}.quotes SELECT * FROM unnest({given}) ON CONFLICT DO NOTHING".encode(),
            columns_of(quoting),
        )
    for some in _chunks([(name[batch.wall], *each) for batch in batches for each in batch.changes]):
        await cursor.execute(*_bulk(schema, "changes", _CHANGES, tenant, some, update=False))
    indexed = [(batch.wall, number, write) for batch in batches for number, write in batch.indexed.items()]
    # before the index is written, which overwrites what this statement subtracts
    await cursor.execute(*_outlines(schema, tenant, batches))
    if gone := [(name[wall], number) for wall, number, write in indexed if write is None]:
        for table in ("indexed", "words", "staged"):
            await cursor.execute(*_removal(schema, table, tenant, gone))
    found = [(wall, number, write) for wall, number, write in indexed if write is not None]
    for part in _chunks(found):
        rows = [
            (name[wall], number, escaped(write.terms or ""), write.vector, " ".join(sorted(write.marks)))
            for wall, number, write in part
        ]
        await cursor.execute(*_bulk(schema, "indexed", _INDEXED, tenant, rows))
        words = [
            (user, number, *reversed(lexemes_of(wall, terms)))
            for (user, number, terms, *_), (wall, *_) in zip(rows, part, strict=True)
        ]
        await cursor.execute(*_bulk(schema, "words", _WORDS, tenant, words))


_RECORDS = {
    "number": "bigint", **dict.fromkeys(NAMES, "text"), "metadata": "json", "payload": "json", "verified": "boolean",
    "rating": "float8", "created_at": "bigint", "updated_at": "bigint", "happened_at": "bigint",
    "expires_at": "bigint", "superseded_at": "bigint", "version": "bigint", "authors": "int", "at": "bigint",
    "epoch": "bigint", "happened_offset": "int",
}  # fmt: skip
_CHANGES = {
    "epoch": "bigint", "number": "bigint", "id": "text", "action": "text", "at": "bigint", "source": "text",
    "before": "text",
}  # fmt: skip
_INDEXED = {"number": "bigint", "terms": "text", "vector": "vector", "marks": "text"}
_WORDS = {"number": "bigint", "length": "int", "terms": "tsvector"}


def _bulk(
    schema: str, table: str, columns: Mapping[str, str], tenant: str, rows: Sequence[Sequence[Any]], update: bool = True
) -> tuple[bytes, list[Any]]:
    """Return the statement that stores rows of (user's name, then `columns`), and its values: a list for each column.

    Vectors are sent in binary: written out as text they would take longer than all else.
    """
    sent = {"user_name": "text", **columns}
    given = ", ".join(f"{'%b' if form == 'vector' else '%s'}::{_SENT.get(form, form)}[]" for form in sent.values())
    cast = ", ".join(f"{column}::{form}" if form in _SENT else column for column, form in sent.items())
    set_all = ", ".join(f"{column} = excluded.{column}" for column in columns if column != "number")
    then = f" ON CONFLICT (tenant, user_name, number) DO UPDATE SET {set_all}" if update else ""
    query = (
        f"INSERT INTO {schema}.{table} (tenant, {', '.join(sent)})"
        f" SELECT %s, {cast} FROM unnest({given}) AS given ({', '.join(sent)}){then}"
    )
    return query.encode(), [tenant, *columns_of(rows)]


def _removal(schema: str, table: str, tenant: str, rows: Sequence[tuple[str, int]]) -> tuple[bytes, list[Any]]:
    """Return the statement that deletes rows by (user's name, number), and its values."""
    among = "(user_name, number) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))"
    return f"DELETE FROM {schema}.{table} WHERE tenant = %s AND {among}".encode(), [tenant, *columns_of(rows)]


def _outlines(schema: str, tenant: str, batches: Sequence[Batch]) -> tuple[bytes, list[Any]]:
    """Return the statement that notes each wall's last epoch, and its number of entries and terms, and its values."""
    walls, touched = [], []
    for batch in batches:
        user = batch.wall.user or ""
        found = [write for write in batch.indexed.values() if write is not None]
        length = sum(len((write.terms or "").split()) for write in found)
        walls.append((user, batch.wall_id, batch.changes[-1].epoch, len(found), length))
        touched += [(user, number) for number in batch.indexed]
    query = (
        f"INSERT INTO {schema}.walls (tenant, user_name, id, epoch, entries, length)"
        " SELECT %s, user_name, id, epoch, given.entries - coalesce(old.entries, 0),"
        " given.length - coalesce(old.length, 0)"
        " FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])"
        " AS given (user_name, id, epoch, entries, length)"
        f" LEFT JOIN (SELECT user_name, count(*) AS entries, sum(length) AS length FROM {schema}.words"
        " WHERE tenant = %s AND (user_name, number) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))"
        " GROUP BY user_name) AS old USING (user_name)"
        " ON CONFLICT (tenant, user_name) DO UPDATE SET epoch = excluded.epoch,"
        " entries = walls.entries + excluded.entries, length = walls.length + excluded.length"
    )
    return query.encode(), [tenant, *columns_of(walls), tenant, *(columns_of(touched) or [[], []])]


def columns_of(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return the columns of rows, each as one array for the server."""
    return [list(column) for column in zip(*rows, strict=True)]


_SENT = {"json": "text", "tsvector": "text"}
"""Types that are sent as another type."""
_AT_ONCE = 1000


def _chunks(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(rows), _AT_ONCE):
        yield rows[start : start + _AT_ONCE]


def _together(steps: Sequence[tuple[str, tuple[Any, ...]]]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield the steps in order, grouped by kind, such that no statement changes a row twice."""
    rows: dict[int, tuple[Any, ...]] = {}
    doing = ""
    for step, row in steps:
        if rows and (step != doing or row[1] in rows or len(rows) == _AT_ONCE):
            yield doing, list(rows.values())
            rows = {}
        doing, rows[row[1]] = step, row
    if rows:
        yield doing, list(rows.values())
