"""A consistent copy of everything as one SQLite file, made while the database is in use."""

import json
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from memorist.records.scope import Wall
from memorist.stores.postgres.libpq import Connection
from memorist.stores.postgres.rows import SELECTED, record_from, unescaped, vector_from
from memorist.stores.rows import COLUMNS, NAMES, dump_record, values_of
from memorist.stores.sqlite import writes as sqlite_writes
from memorist.stores.sqlite.copying import copy_to
from memorist.stores.sqlite.schema import count_anew, migrate

_AT_ONCE = 2000
_ROW = "INSERT INTO records (wall, number, {}, at, epoch) VALUES ({})"


async def copy_out(connection: Connection, schema: str, target: Path) -> None:
    """Copy everything that the transaction sees to a new SQLite file, which appears only when complete and checked.

    Raises:
        InvalidInputError: the file exists.
        StoreFullError, StoreUnavailableError: it cannot be written.
    """
    with closing(apsw.Connection("")) as copy:  # a file of SQLite's own, gone when closed
        copy.execute("PRAGMA page_size = 8192")
        migrate(copy, None)
        with copy:
            await _fill(connection, schema, copy)
        copy_to(copy, target)


async def _fill(connection: Connection, schema: str, copy: apsw.Connection) -> None:
    rows = partial(_rows, connection, schema)
    async for name, value in rows("meta", "name, value"):
        if name not in ("version", "staged"):
            copy.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
    ids: dict[tuple[str, str], int] = {}  # as they are here, since the audit log names them
    async for tenant, user, wall_id in rows("walls", "tenant, user_name, id"):
        copy.execute("INSERT INTO walls VALUES (?, ?, ?)", (wall_id, tenant, user))
        ids[tenant, user] = wall_id
    async for (last,) in rows("numbers", "last_value"):
        copy.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'walls'", (last,))
    async for tenant, user, id, *by, number in rows("quotes", "tenant, user_name, id, by_tenant, by_user, number"):
        quoting = (ids[tenant, user], id, ids[by[0], by[1]], number)
        copy.execute("INSERT INTO quotes (wall, id, by_wall, by) VALUES (?, ?, ?, ?)", quoting)
    async for entry in rows("audit", "number, entry, hash"):
        copy.execute("INSERT INTO audit VALUES (?, ?, ?)", entry)
    insert = _ROW.format(COLUMNS, ",".join("?" * (len(NAMES) + 4)))
    async for tenant, user, number, at, epoch, *row in rows(
        "records", f"tenant, user_name, number, at, epoch, {SELECTED}"
    ):
        values = values_of(record_from(row, Wall(tenant, user or None)))
        copy.execute(insert, (ids[tenant, user], number, *values, at, epoch))
    async for tenant, user, number, terms, blob, marks in rows(
        "indexed", "tenant, user_name, number, terms, vector_send(vector), marks"
    ):
        sqlite_writes.index(copy, ids[tenant, user], number, unescaped(terms), vector_from(blob), marks.split())
    async for tenant, user, epoch, *change, before in rows(
        "changes", "tenant, user_name, epoch, number, id, action, at, source, before", "ORDER BY epoch"
    ):
        if before is not None:
            before = dump_record(values_of(record_from(json.loads(before), Wall(tenant, user or None))))
        values = (epoch, ids[tenant, user], *change, before)
        copy.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    count_anew(copy)


async def _rows(
    connection: Connection, schema: str, table: str, columns: str, order: str = ""
) -> AsyncIterator[tuple[Any, ...]]:
    """Yield the rows of a table as they come, some at a time."""
    async with connection.cursor(name="memorist_copy", binary=True) as cursor:
        await cursor.execute(f"SELECT {columns} FROM {schema}.{table} {order}".encode())
        while rows := await cursor.fetchmany(_AT_ONCE):
            for row in rows:
                yield row
