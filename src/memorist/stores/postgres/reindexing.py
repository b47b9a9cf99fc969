"""Reindexing: new vectors are staged until every record has one, and then replace the old ones at once."""

from collections.abc import Sequence

import numpy as np

from memorist.records.record import Record
from memorist.records.scope import Wall
from memorist.stores.base import Staged
from memorist.stores.postgres.connections import Settled
from memorist.stores.postgres.libpq import Connection, fetched, first_of
from memorist.stores.postgres.rows import BEHIND, SELECTED, escaped, lexemes_of, record_from
from memorist.stores.postgres.schema import lock_key, put_meta, read_meta
from memorist.stores.postgres.writes import check_embedder, keep_vectors, lock_walls
from memorist.stores.rows import name_of
from memorist.stores.rules import length_of

_MISSING = (
    "FROM {s}.records AS r JOIN {s}.indexed AS i USING (tenant, user_name, number)"
    " LEFT JOIN {s}.staged AS s ON s.tenant = r.tenant AND s.user_name = r.user_name AND s.number = r.number"
    " AND s.version = r.version WHERE s.number IS NULL"
)
_SELECTED = ", ".join(f"r.{name.strip()}" for name in SELECTED.split(","))


async def _begin(connection: Connection, schema: str, fingerprint: str) -> None:
    """Lock what is staged against other reindexes, and discard vectors that were staged for another embedder."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "staged"),))
    if await read_meta(connection, schema, "staged") != fingerprint:
        await connection.execute(f"DELETE FROM {schema}.staged".encode())
        await put_meta(connection, schema, "staged", fingerprint)


async def missing(connection: Connection, schema: str, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
    """Return records that have no staged vector yet, as (number, version, record)."""
    await _begin(connection, schema, fingerprint)
    last = "ORDER BY tenant DESC, user_name DESC, number DESC LIMIT 1"
    start = ("", "", 0)
    reached = await first_of(connection, f"SELECT tenant, user_name, number FROM {schema}.staged {last}") or start
    for after in dict.fromkeys((reached, start)):  # mostly the next ones; in the end those that changed meanwhile
        rows = await fetched(
            connection,
            f"SELECT r.tenant, r.user_name, r.number, r.version, {_SELECTED} {_MISSING.format(s=schema)}"
            " AND (r.tenant, r.user_name, r.number) > (%s, %s, %s)"
            " ORDER BY r.tenant, r.user_name, r.number LIMIT %s",
            (*after, limit),
        )
        if rows:
            return [
                (number, version, record_from(row, Wall(tenant, user or None)))
                for tenant, user, number, version, *row in rows
            ]
    return []


async def unembedded(connection: Connection, schema: str, limit: int) -> list[tuple[int, int, Record]]:
    """Return records that were stored without a vector, as (number, version, record)."""
    rows = await fetched(
        connection,
        f"SELECT r.tenant, r.user_name, r.number, r.version, {_SELECTED} FROM {schema}.indexed AS i"
        f" JOIN {schema}.records AS r USING (tenant, user_name, number) WHERE i.vector IS NULL LIMIT %s",
        (limit,),
    )
    return [
        (number, version, record_from(row, Wall(tenant, user or None))) for tenant, user, number, version, *row in rows
    ]


async def fill(connection: Connection, schema: str, fingerprint: str, rows: Sequence[Staged]) -> None:
    """Store a vector for each of these records that has none, and make every index in memory read its wall again."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "vectors"),))
    await check_embedder(connection, schema, fingerprint, length_of(rows))
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"UPDATE {schema}.indexed AS i SET vector = %s FROM {schema}.records AS r WHERE i.vector IS NULL"
            " AND i.tenant = %s AND i.user_name = %s AND i.number = %s AND r.tenant = i.tenant"
            " AND r.user_name = i.user_name AND r.number = i.number AND r.version = %s".encode(),
            [(np.asarray(each.vector, np.float32), *name_of(each.wall), each.number, each.version) for each in rows],
        )
    await put_meta(connection, schema, "vectors", str(int(await read_meta(connection, schema, "vectors") or 0) + 1))


async def count_missing(connection: Connection, schema: str, fingerprint: str) -> int:
    """Return the number of records that have no staged vector of `fingerprint` yet."""
    under_way = await read_meta(connection, schema, "staged")
    rows = _MISSING.format(s=schema) if under_way == fingerprint else f"FROM {schema}.indexed"
    [(count,)] = await fetched(connection, f"SELECT count(*) {rows}")
    return int(count)


async def stage(connection: Connection, schema: str, fingerprint: str, rows: Sequence[Staged]) -> None:
    """Stage new vectors, terms and marks. Records forgotten meanwhile are ignored."""
    await _begin(connection, schema, fingerprint)
    await lock_walls(connection, schema, (row.wall for row in rows))  # or what is being purged would be staged
    values = []
    for row in rows:
        terms, vector, marks = escaped(row.terms), np.asarray(row.vector, np.float32), " ".join(sorted(row.marks))
        lexemes, length = lexemes_of(row.wall, terms)
        key = (*name_of(row.wall), row.number)
        values.append((row.version, vector, terms, length, lexemes, marks, *key))
    async with connection.cursor() as cursor:
        await cursor.executemany(
            f"INSERT INTO {schema}.staged SELECT tenant, user_name, number, %s, %s, %s, %s, %s::tsvector, %s"
            f" FROM {schema}.indexed WHERE {BEHIND} AND number = %s"
            " ON CONFLICT (tenant, user_name, number) DO UPDATE SET version = excluded.version,"
            " vector = excluded.vector, terms = excluded.terms, length = excluded.length,"
            " words = excluded.words, marks = excluded.marks".encode(),
            values,
        )


async def adopt(connection: Connection, schema: str, fingerprint: str, dimensions: int) -> tuple[bool, Settled | None]:
    """Replace all vectors by the staged ones, unless a record has no staged vector. Writers wait meanwhile."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "vectors"),))
    await _begin(connection, schema, fingerprint)
    if await first_of(connection, f"SELECT 1 {_MISSING.format(s=schema)} LIMIT 1"):
        return False, None
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
    ):
        await connection.execute(statement.encode())
    count = int(await read_meta(connection, schema, "vectors") or 0) + 1
    await put_meta(connection, schema, "vectors", str(count))
    for name, value in (("fingerprint", fingerprint), ("dimensions", str(dimensions))):
        await put_meta(connection, schema, name, value)

    async def adopted(connection: Connection) -> bool:
        await keep_vectors(connection, schema)
        return int(await read_meta(connection, schema, "vectors") or 0) >= count

    return True, adopted
