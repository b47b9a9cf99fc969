"""Sending the changes of a wall's records in few statements, with whole columns as arrays."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from memorist.stores.postgres.batch import Batch
from memorist.stores.postgres.rows import COLUMNS, escaped, lexemes_of

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

__all__ = ["send"]

_T = TypeVar("_T")
_NAMES = [name.strip() for name in COLUMNS.split(",")]


async def send(connection: "Connection", schema: str, batch: Batch) -> None:
    """Send the changes of the records in one pipeline."""
    if not batch.changes:
        return
    name = (batch.wall.tenant, batch.wall.user or "")
    async with connection.cursor() as cursor:
        if batch.blanked:
            await cursor.execute(
                f"UPDATE {schema}.changes SET before = NULL"
                " WHERE tenant = %s AND user_name = %s AND id = ANY(%s) AND before IS NOT NULL".encode(),
                (*name, list(batch.blanked)),
            )
        for step, rows in _together(batch.steps):
            if step == "put":
                await cursor.execute(*_bulk(schema, "records", _RECORDS, name, rows))
            else:
                await cursor.execute(
                    f"DELETE FROM {schema}.records WHERE tenant = %s AND user_name = %s AND number = ANY(%s)".encode(),
                    (*name, [row[0] for row in rows]),
                )
        changes = [
            (each.epoch, each.number, each.id, str(each.action), each.at, each.source, each.before)
            for each in batch.changes
        ]
        for some in _chunks(changes):
            await cursor.execute(*_bulk(schema, "changes", _CHANGES, name, some, update=False))
        found = [write for write in batch.indexed.values() if write is not None]
        await cursor.execute(  # before `_index`, which overwrites what is counted off here
            f"UPDATE {schema}.walls SET epoch = %s, entries = walls.entries + %s - old.entries,"
            " length = walls.length + %s - old.length"
            f" FROM (SELECT count(*) AS entries, coalesce(sum(length), 0) AS length FROM {schema}.words"
            " WHERE tenant = %s AND user_name = %s AND number = ANY(%s)) AS old"
            " WHERE tenant = %s AND user_name = %s".encode(),
            (
                batch.changes[-1].epoch,
                len(found),
                sum(len((write.terms or "").split()) for write in found),
                *name,
                list(batch.indexed),
                *name,
            ),
        )
        await _index(connection, schema, batch)


async def _index(connection: "Connection", schema: str, batch: Batch) -> None:
    """Add records to the indexes of terms and vectors, or remove them."""
    import numpy as np

    name, cursor = (batch.wall.tenant, batch.wall.user or ""), connection.cursor()
    gone = [number for number, write in batch.indexed.items() if write is None]
    if gone:
        for table in ("indexed", "words", "staged"):
            await cursor.execute(
                f"DELETE FROM {schema}.{table} WHERE tenant = %s AND user_name = %s AND number = ANY(%s)".encode(),
                (*name, gone),
            )
    found = [(number, write) for number, write in batch.indexed.items() if write is not None]
    if not found:
        return
    for some in _chunks(found):
        rows = [
            (
                number,
                escaped(write.terms or ""),
                None if write.vector is None else np.asarray(write.vector, np.float32),
                " ".join(sorted(write.marks)),
            )
            for number, write in some
        ]
        await cursor.execute(*_bulk(schema, "indexed", _INDEXED, name, rows))
        words = [(number, *reversed(lexemes_of(batch.wall, terms))) for number, terms, *_ in rows]
        await cursor.execute(*_bulk(schema, "words", _WORDS, name, words))


_RECORDS = {
    "number": "bigint", **dict.fromkeys(_NAMES, "text"), "metadata": "json", "payload": "json", "verified": "boolean",
    "rating": "float8", "created_at": "bigint", "updated_at": "bigint", "happened_at": "bigint",
    "expires_at": "bigint", "superseded_at": "bigint", "version": "bigint", "at": "bigint", "epoch": "bigint",
}  # fmt: skip
_CHANGES = {
    "epoch": "bigint",
    "number": "bigint",
    "id": "text",
    "action": "text",
    "at": "bigint",
    "source": "text",
    "before": "text",
}
_INDEXED = {"number": "bigint", "terms": "text", "vector": "vector", "marks": "text"}
_WORDS = {"number": "bigint", "length": "int", "terms": "tsvector"}


def _bulk(
    schema: str,
    table: str,
    columns: Mapping[str, str],
    name: tuple[str, str],
    rows: Sequence[Sequence[Any]],
    *,
    update: bool = True,
) -> tuple[bytes, list[Any]]:
    """Return the statement that stores rows behind a wall, and its values: a list for each column."""
    given = ", ".join(f"%s::{_SENT.get(form, form)}[]" for form in columns.values())
    cast = ", ".join(f"{column}::{form}" if form in _SENT else column for column, form in columns.items())
    set_all = ", ".join(f"{column} = excluded.{column}" for column in columns if column != "number")
    then = f" ON CONFLICT (tenant, user_name, number) DO UPDATE SET {set_all}" if update else ""
    query = (
        f"INSERT INTO {schema}.{table} (tenant, user_name, {', '.join(columns)})"
        f" SELECT %s, %s, {cast} FROM unnest({given}) AS given ({', '.join(columns)}){then}"
    )
    return query.encode(), [*name, *(list(column) for column in zip(*rows, strict=True))]


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
        if rows and (step != doing or row[0] in rows or len(rows) == _AT_ONCE):
            yield doing, list(rows.values())
            rows = {}
        doing, rows[row[0]] = step, row
    if rows:
        yield doing, list(rows.values())
