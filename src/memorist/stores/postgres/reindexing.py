"""Reindexing: new vectors are staged until every record has one, and then replace the old ones at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from memorist.records import Record
from memorist.scope import Wall
from memorist.stores.base import Staged
from memorist.stores.postgres.rows import COLUMNS, SELECTED, escaped, lexemes_of, record_from
from memorist.stores.postgres.schema import lock_key

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

__all__ = ["adopt", "count_missing", "missing", "put_meta", "read_meta", "stage"]

_MISSING = (
    "FROM {s}.records AS r JOIN {s}.indexed AS i USING (tenant, user_name, number)"
    " LEFT JOIN {s}.staged AS s ON s.tenant = r.tenant AND s.user_name = r.user_name AND s.number = r.number"
    " AND s.version = r.version WHERE s.number IS NULL"
)
_SELECTED = ", ".join(f"r.{name.strip()}" for name in SELECTED.split(","))
assert _SELECTED.count(",") == COLUMNS.count(",")


async def read_meta(connection: "Connection", schema: str, name: str) -> str | None:
    """Return the value stored under a name in the table of settings."""
    cursor = await connection.execute(f"SELECT value FROM {schema}.meta WHERE name = %s".encode(), (name,))
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def put_meta(connection: "Connection", schema: str, name: str, value: str, *, replace: bool = True) -> None:
    """Store a value under a name; an existing value is kept unless it may be replaced."""
    then = "DO UPDATE SET value = excluded.value" if replace else "DO NOTHING"
    query = f"INSERT INTO {schema}.meta VALUES (%s, %s) ON CONFLICT (name) {then}"
    await connection.execute(query.encode(), (name, value))


async def _begin(connection: "Connection", schema: str, fingerprint: str) -> None:
    """Discard vectors that were staged for another embedder."""
    if await read_meta(connection, schema, "staged") != fingerprint:
        await connection.execute(f"DELETE FROM {schema}.staged".encode())
        await put_meta(connection, schema, "staged", fingerprint)


async def missing(connection: "Connection", schema: str, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
    """Return records that have no staged vector yet, as (number, version, record)."""
    await _begin(connection, schema, fingerprint)
    cursor = await connection.execute(
        f"SELECT tenant, user_name, number FROM {schema}.staged"
        " ORDER BY tenant DESC, user_name DESC, number DESC LIMIT 1".encode()
    )
    start = ("", "", 0)
    # Mostly the next ones; in the end those that changed meanwhile.
    for after in dict.fromkeys((await cursor.fetchone() or start, start)):
        cursor = await connection.execute(
            f"SELECT r.tenant, r.user_name, r.number, r.version, {_SELECTED} {_MISSING.format(s=schema)}"
            " AND (r.tenant, r.user_name, r.number) > (%s, %s, %s)"
            " ORDER BY r.tenant, r.user_name, r.number LIMIT %s".encode(),
            (*after, limit),
        )
        if rows := await cursor.fetchall():
            return [
                (number, version, record_from(row, Wall(tenant, user or None)))
                for tenant, user, number, version, *row in rows
            ]
    return []


async def count_missing(connection: "Connection", schema: str, fingerprint: str) -> int:
    """Return the number of records that have no staged vector of `fingerprint` yet."""
    under_way = await read_meta(connection, schema, "staged")
    rows = _MISSING.format(s=schema) if under_way == fingerprint else f"FROM {schema}.indexed"
    cursor = await connection.execute(f"SELECT count(*) {rows}".encode())
    [(count,)] = await cursor.fetchall()
    return int(count)


async def stage(connection: "Connection", schema: str, fingerprint: str, rows: Sequence[Staged]) -> None:
    """Stage new vectors, terms and marks. Records forgotten meanwhile are ignored."""
    await _begin(connection, schema, fingerprint)
    values = []
    for row in rows:
        terms, vector, marks = escaped(row.terms), np.asarray(row.vector, np.float32), " ".join(sorted(row.marks))
        lexemes, length = lexemes_of(row.wall, terms)
        key = (row.wall.tenant, row.wall.user or "", row.number)
        values.append((row.version, vector, terms, length, lexemes, marks, *key))
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"INSERT INTO {schema}.staged SELECT tenant, user_name, number, %s, %s, %s, %s, %s::tsvector, %s"
            f" FROM {schema}.indexed WHERE tenant = %s AND user_name = %s AND number = %s"
            " ON CONFLICT (tenant, user_name, number) DO UPDATE SET version = excluded.version,"
            " vector = excluded.vector, terms = excluded.terms, length = excluded.length,"
            " words = excluded.words, marks = excluded.marks".encode(),
            values,
        )


async def adopt(connection: "Connection", schema: str, fingerprint: str, dimensions: int) -> bool:
    """Replace all vectors by the staged ones, unless a record has no staged vector. Writers wait meanwhile."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "vectors"),))
    await _begin(connection, schema, fingerprint)
    cursor = await connection.execute(f"SELECT EXISTS (SELECT 1 {_MISSING.format(s=schema)})".encode())
    if (await cursor.fetchall())[0][0]:
        return False
    await connection.execute(f"DROP INDEX IF EXISTS {schema}.indexed_nearest".encode())
    same = "t.tenant = s.tenant AND t.user_name = s.user_name AND t.number = s.number"
    for statement in (
        f"UPDATE {schema}.indexed AS t SET vector = s.vector, terms = s.terms, marks = s.marks"
        f" FROM {schema}.staged AS s WHERE {same}",
        f"UPDATE {schema}.words AS t SET length = s.length, terms = s.words FROM {schema}.staged AS s"
        f" WHERE {same} AND t.terms <> s.words",
        f"UPDATE {schema}.walls AS t SET length = s.length FROM (SELECT tenant, user_name, sum(length) AS length"
        f" FROM {schema}.words GROUP BY tenant, user_name) AS s"
        " WHERE t.tenant = s.tenant AND t.user_name = s.user_name",
        f"DELETE FROM {schema}.staged",
        f"DELETE FROM {schema}.meta WHERE name = 'staged'",
        f"UPDATE {schema}.meta SET value = value::bigint + 1 WHERE name = 'vectors'",
    ):
        await connection.execute(statement.encode())
    for name, value in (("fingerprint", fingerprint), ("dimensions", str(dimensions))):
        await put_meta(connection, schema, name, value)
    return True
