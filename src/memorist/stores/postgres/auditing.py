"""The audit log in the database: one chain for all servers, appended in the transaction of the change.

The chain's lock is the last one that a transaction takes, so that no deadlock is possible, and is held until the
commit. The server computes the hash, so that an entry costs no round trip of its own.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from memorist.audit.log import Act, AuditEntry, Counts, Mode, text_of
from memorist.records.scope import Wall
from memorist.records.times import Clock
from memorist.stores.audit import AuditLog, entry_of
from memorist.stores.postgres.libpq import Connection, fetched
from memorist.stores.postgres.rows import BEHIND
from memorist.stores.postgres.schema import lock_key, put_meta, read_meta
from memorist.stores.rows import name_of

_Run: TypeAlias = Callable[[Callable[[Connection], Awaitable[Any]]], Awaitable[Any]]
_WALL = "SELECT id FROM {s}.walls WHERE " + BEHIND
_NO_WALL = '"wall":null'
_APPEND = (
    "INSERT INTO {s}.audit (number, entry, hash) SELECT last.number + 1, given.entry,"
    " encode(sha256(convert_to(concat_ws(E'\\n', last.hash, last.number + 1, given.entry), 'UTF8')), 'hex')"
    " FROM (SELECT number, hash FROM {s}.audit UNION ALL SELECT 0, '' ORDER BY number DESC LIMIT 1) AS last,"
    " (SELECT replace(%s, %s, '\"wall\":' || coalesce((" + _WALL + ")::text, 'null')) AS entry) AS given"
    " WHERE EXISTS (SELECT FROM {s}.meta WHERE name = 'audit' AND value = ANY(%s))"
)


async def append(
    connection: Connection,
    schema: str,
    act: Act | None,
    clock: Clock,
    wall: Wall,
    counts: Counts | None,
    modes: tuple[Mode, ...] = ("changes", "reads"),
) -> None:
    """Append an entry to the chain, unless the mode is not one of `modes`, or nothing happened (`counts` is empty, not
    None)."""
    if counts is not None and not +counts:
        return
    lock = f"SELECT pg_advisory_xact_lock(%s) FROM {schema}.meta WHERE name = 'audit' AND value = ANY(%s)"
    locked = await connection.execute(lock.encode(), (lock_key(schema, "audit"), list(modes)))
    if act is None and not await locked.fetchall():
        return
    text = text_of(act, clock(), wall.tenant, None, counts or Counts())  # the server knows the wall's number
    values = (text, _NO_WALL, *name_of(wall), list(modes))
    await connection.execute(_APPEND.format(s=schema).encode(), values)


class PostgresAudit(AuditLog):
    """The log of one schema.

    Args:
        schema: where the tables are.
        run: runs work in a transaction that is committed at its end.
        clock: returns the present.
    """

    def __init__(self, schema: str, run: _Run, clock: Clock) -> None:
        self._schema, self._run, self._clock = schema, run, clock

    async def mode(self) -> Mode:
        rows = await self._rows(f"SELECT value FROM {self._schema}.meta WHERE name = 'audit'")
        return rows[0][0] if rows else "off"

    async def switch(self, mode: Mode, act: Act) -> None:
        schema, clock = self._schema, self._clock

        async def work(connection: Connection) -> None:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, "audit"),))
            before = await read_meta(connection, schema, "audit") or "off"
            if before == mode:
                return
            await append(connection, schema, act, clock, Wall("", None), None)  # the log is switched off
            await put_meta(connection, schema, "audit", mode)
            if before == "off":
                await append(connection, schema, act, clock, Wall("", None), None)

        await self._run(work)

    async def note(self, wall: Wall, counts: Counts, act: Act) -> None:
        noted, schema, clock = counts or None, self._schema, self._clock
        await self._run(lambda connection: append(connection, schema, act, clock, wall, noted, ("reads",)))

    async def entries(self, after: int | None, limit: int, wall: Wall | None = None) -> list[AuditEntry]:
        schema = self._schema
        query = f"SELECT number, entry, hash FROM {schema}.audit WHERE {{}}{{}} ORDER BY number LIMIT %s"

        async def work(connection: Connection) -> list[tuple[Any, ...]]:
            only = f" AND (entry::json ->> 'wall')::bigint = ({_WALL.format(s=schema)})"
            behind, ours = ("", ()) if wall is None else (only, name_of(wall))
            follows, place = ("true", ()) if after is None else ("number > %s", (after,))
            return await fetched(connection, query.format(follows, behind), (*place, *ours, limit))

        return [entry_of(row) for row in await self._run(work)]

    async def last(self) -> AuditEntry | None:
        rows = await self._rows(f"SELECT number, entry, hash FROM {self._schema}.audit ORDER BY number DESC LIMIT 1")
        return entry_of(rows[0]) if rows else None

    async def _rows(self, query: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = await self._run(lambda connection: fetched(connection, query))
        return rows
