"""Sending the changes of a wall's records in few statements, with whole columns as arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from memorist.stores.postgres.batch import Batch
from memorist.stores.postgres.libpq import Connection, Cursor
from memorist.stores.postgres.rows import escaped, lexemes_of
from memorist.stores.rows import NAMES, name_of

_T = TypeVar("_T")


async def send(connection: Connection, schema: str, batches: Sequence[Batch]) -> None:
    """Send the changes of records behind walls of one tenant in one pipeline."""
    batches = [batch for batch in batches if batch.changes]
    if not batches:
        return
    sending = _Sending(connection.cursor(), schema, batches)
    await sending.blank_changes()
    await sending.records()
    await sending.quotes()
    await sending.changes()
    await sending.outlines()
    await sending.index()


class _Sending:
    """The statements of one tenant's batches, in the order in which they are sent.

    Args:
        cursor: what executes them.
        schema: where the tables are.
        batches: the changes behind each wall.
    """

    def __init__(self, cursor: Cursor, schema: str, batches: Sequence[Batch]) -> None:
        self._cursor = cursor
        self._schema = schema
        self._batches = batches
        self._tenant = batches[0].wall.tenant

    async def blank_changes(self) -> None:
        """Remove the earlier versions of what is forgotten."""
        blanked = [(_user(batch), id) for batch in self._batches for id in batch.blanked]
        if blanked:
            await self._cursor.execute(
                f"UPDATE {self._schema}.changes SET before = NULL WHERE tenant = %s"
                " AND (user_name, id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
                " AND before IS NOT NULL".encode(),
                (self._tenant, *columns_of(blanked)),
            )

    async def records(self) -> None:
        """Store and remove records, and what removed ones quote."""
        steps = [(step, (_user(batch), *row)) for batch in self._batches for step, row in batch.steps]
        removed = [row[:2] for step, row in steps if step == "remove"]
        if removed:
            among = "(by_user, number) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))"
            await self._cursor.execute(
                f"DELETE FROM {self._schema}.quotes WHERE by_tenant = %s AND {among}".encode(),
                (self._tenant, *columns_of(removed)),
            )
        for step, rows in _together(steps):
            if step == "put":
                await self._store("records", _RECORDS, rows)
            else:
                await self._remove("records", [row[:2] for row in rows])

    async def quotes(self) -> None:
        """Note which records quote which."""
        rows = [
            (*name_of(wall), id, self._tenant, _user(batch), number)
            for batch in self._batches
            for number, quotes in batch.quoting.items()
            for wall, id in quotes
        ]
        if rows:
            given = "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[]"
            await self._cursor.execute(
                f"INSERT INTO {self._schema}.quotes SELECT * FROM unnest({given}) ON CONFLICT DO NOTHING".encode(),
                columns_of(rows),
            )

    async def changes(self) -> None:
        """Append to the change log."""
        rows = [(_user(batch), *each) for batch in self._batches for each in batch.changes]
        for some in _chunks(rows):
            await self._store("changes", _CHANGES, some, update=False)

    async def outlines(self) -> None:
        """Note what each wall holds, before the index is written, which overwrites what this statement subtracts."""
        await self._cursor.execute(*_outlines(self._schema, self._tenant, self._batches))

    async def index(self) -> None:
        """Write and remove what records are found by."""
        written = [(batch, number, write) for batch in self._batches for number, write in batch.indexed.items()]
        gone = [(_user(batch), number) for batch, number, write in written if write is None]
        if gone:
            for table in ("indexed", "words", "staged"):
                await self._remove(table, gone)
        found = [(batch, number, write) for batch, number, write in written if write is not None]
        for part in _chunks(found):
            rows, words = list[Any](), list[Any]()
            for batch, number, write in part:
                terms = escaped(write.terms or "")
                rows.append((_user(batch), number, terms, write.vector, " ".join(sorted(write.marks))))
                words.append((_user(batch), number, *reversed(lexemes_of(batch.wall, terms))))
            await self._store("indexed", _INDEXED, rows)
            await self._store("words", _WORDS, words)

    async def _store(
        self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], *, update: bool = True
    ) -> None:
        await self._cursor.execute(*_bulk(self._schema, table, columns, self._tenant, rows, update))

    async def _remove(self, table: str, rows: Sequence[tuple[str, int]]) -> None:
        await self._cursor.execute(*_removal(self._schema, table, self._tenant, rows))


def _user(batch: Batch) -> str:
    """Return the name of a batch's user as the tables have it."""
    return batch.wall.user or ""


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
