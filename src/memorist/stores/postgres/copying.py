"""A consistent copy of everything as one SQLite file, made while the database is in use."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw

from memorist.records.scope import Wall
from memorist.stores.postgres.libpq import Connection
from memorist.stores.postgres.rows import SELECTED, load_row, record_from, unescaped, vector_from
from memorist.stores.rows import COLUMNS, NAMES, dump_record, values_of
from memorist.stores.sqlite import writes as sqlite_writes
from memorist.stores.sqlite.copying import copy_to
from memorist.stores.sqlite.schema import migrate

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
    async for name, value in _rows(connection, f"SELECT name, value FROM {schema}.meta"):
        if name not in ("version", "staged"):
            copy.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
    wall_ids: dict[Wall, int] = {}  # as they are here, since the audit log names them
    async for tenant, user, wall_id in _rows(connection, f"SELECT tenant, user_name, id FROM {schema}.walls"):
        copy.execute("INSERT INTO walls VALUES (?, ?, ?)", (wall_id, tenant, user))
        wall_ids[Wall(tenant, user or None)] = wall_id
    async for (last,) in _rows(connection, f"SELECT last_value FROM {schema}.numbers"):
        copy.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'walls'", (last,))
    columns = "tenant, user_name, id, by_tenant, by_user, number"
    async for tenant, user, id, by_tenant, by_user, number in _rows(
        connection, f"SELECT {columns} FROM {schema}.quotes"
    ):
        walls = wall_ids[Wall(tenant, user or None)], wall_ids[Wall(by_tenant, by_user or None)]
        copy.execute("INSERT INTO quotes (wall, id, by_wall, by) VALUES (?, ?, ?, ?)", (walls[0], id, walls[1], number))
    async for entry in _rows(connection, f"SELECT number, entry, hash FROM {schema}.audit"):
        copy.execute("INSERT INTO audit VALUES (?, ?, ?)", entry)

    def wall_of(tenant: str, user: str) -> tuple[Wall, int]:
        wall = Wall(tenant, user or None)
        return wall, wall_ids[wall]

    insert = _ROW.format(COLUMNS, ",".join("?" * (len(NAMES) + 4)))
    async for tenant, user, number, at, epoch, *row in _rows(
        connection, f"SELECT tenant, user_name, number, at, epoch, {SELECTED} FROM {schema}.records"
    ):
        wall, wall_id = wall_of(tenant, user)
        copy.execute(insert, (wall_id, number, *values_of(record_from(row, wall)), at, epoch))
    async for tenant, user, number, terms, blob, marks in _rows(
        connection, f"SELECT tenant, user_name, number, terms, vector_send(vector), marks FROM {schema}.indexed"
    ):
        _, wall_id = wall_of(tenant, user)
        sqlite_writes.index(copy, wall_id, number, unescaped(terms), vector_from(blob), marks.split())
    async for tenant, user, epoch, number, id, action, at, source, before in _rows(
        connection,
        f"SELECT tenant, user_name, epoch, number, id, action, at, source, before FROM {schema}.changes ORDER BY epoch",
    ):
        wall, wall_id = wall_of(tenant, user)
        record = load_row(before, wall)
        text = None if record is None else dump_record(values_of(record))
        copy.execute(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (epoch, wall_id, number, id, action, at, source, text),
        )


async def _rows(connection: Connection, query: str) -> AsyncIterator[tuple[Any, ...]]:
    """Yield the rows of a query as they come, some at a time."""
    async with connection.cursor(name="memorist_copy", binary=True) as cursor:
        await cursor.execute(query.encode())
        while rows := await cursor.fetchmany(_AT_ONCE):
            for row in rows:
                yield row
