"""Writes inside a transaction: one read of the stored rows, and one pipeline of changes.

The wall is locked first, so that no other transaction writes behind it until the commit. Numbers and epochs are
assigned under that lock. So they grow in the order of the commits, and a reader of an epoch has seen all earlier ones.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from memorist.errors import ConflictError, EmbedderMismatchError
from memorist.records import Action
from memorist.scope import Wall
from memorist.stores import rules
from memorist.stores.base import Put, Remove, Write
from memorist.stores.postgres.batch import Batch, ChangeRow, Held
from memorist.stores.postgres.grouping import Outcome
from memorist.stores.postgres.rows import SELECTED
from memorist.stores.postgres.schema import lock_key
from memorist.stores.postgres.sending import send
from memorist.stores.sql import Sql
from memorist.times import Clock

if TYPE_CHECKING:
    from psycopg import AsyncConnection, AsyncCursor

    Connection: TypeAlias = AsyncConnection[tuple[Any, ...]]

__all__ = ["carry_out", "check_fingerprint", "lock_wall", "purge", "remove_passing", "took_effect"]

_AT_ONCE = 1000
_MOST_EPOCHS = 3
"""The most changes of one write: its own, and the removal of expired records with its id or its key."""


def _name(wall: Wall) -> tuple[str, str]:
    return wall.tenant, wall.user or ""


async def carry_out(
    connection: "Connection",
    schema: str,
    wall: Wall,
    calls: Sequence[Sequence[Write]],
    fingerprint: str | None,
    clock: Clock,
) -> tuple[list[Outcome], ChangeRow | None]:
    """Carry out the writes of several calls, in order; `fingerprint` is that of their vectors.

    Return for each call the outcomes of its writes, or the error for which none of them was carried out; and the
    last change, by which `took_effect` identifies the transaction.
    """
    # Keep a reindex from replacing the vectors during this write.
    await connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_key(schema, "vectors"),))
    stored = await _fingerprint(connection, schema)
    everything = [each for writes in calls for each in writes]
    creates = any(isinstance(each, Put) for each in everything)
    if not await lock_wall(connection, schema, wall, create=creates):
        return [[False] * len(writes) for writes in calls], None
    batch, outcomes = await _read(connection, schema, wall, everything, clock()), list[Outcome]()
    found = await stored.fetchone()
    for writes in calls:
        attempt = batch.copy() if len(calls) > 1 else batch
        try:
            if any(isinstance(each, Put) and each.vector is not None for each in writes):
                _check_fingerprint(found, fingerprint)
            outcomes.append([attempt.put(each) if isinstance(each, Put) else attempt.remove(each) for each in writes])
        except (ConflictError, EmbedderMismatchError) as error:
            if len(calls) == 1:
                raise
            outcomes.append(error)
        else:
            batch = attempt
    await send(connection, schema, batch)
    return outcomes, batch.changes[-1] if batch.changes else None


async def check_fingerprint(connection: "Connection", schema: str, fingerprint: str) -> None:
    """Refuse vectors of another embedder: another process may have reindexed the store."""
    _check_fingerprint(await (await _fingerprint(connection, schema)).fetchone(), fingerprint)


async def _fingerprint(connection: "Connection", schema: str) -> "AsyncCursor[tuple[Any, ...]]":
    return await connection.execute(f"SELECT value FROM {schema}.meta WHERE name = 'fingerprint'".encode())


def _check_fingerprint(row: tuple[Any, ...] | None, fingerprint: str | None) -> None:
    rules.check_fingerprint(None if row is None else row[0], fingerprint)


async def lock_wall(connection: "Connection", schema: str, wall: Wall, *, create: bool = False) -> bool:
    """Lock a wall against other writers until the commit; return False if it does not exist and is not created."""
    # Not a row lock: after waiting for one, PostgreSQL rechecks the row with the old plan, and behind a policy it was
    # observed to miss the row. A statement after an advisory lock sees everything committed before.
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(schema, json.dumps(["wall", *wall])),))
    query = f"SELECT id FROM {schema}.walls WHERE tenant = %s AND user_name = %s"
    cursor = await connection.execute(query.encode(), _name(wall))
    if await cursor.fetchone() is not None:
        return True
    if create:
        query = f"INSERT INTO {schema}.walls VALUES (%s, %s, nextval('{schema}.numbers'), 0)"
        await connection.execute(query.encode(), _name(wall))
    return create


async def _read(connection: "Connection", schema: str, wall: Wall, writes: Sequence[Write], moment: datetime) -> Batch:
    """Read the records with the ids of the writes, and those that hold their keys."""
    records = [each.record for each in writes if isinstance(each, Put)]
    ids = {each.record.id if isinstance(each, Put) else each.id for each in writes}
    handles = {handle for record in records if (handle := rules.handle_of(record)) is not None}
    behind = f"FROM {schema}.records WHERE tenant = %s AND user_name = %s"
    found = [
        await connection.execute(
            f"SELECT number, {SELECTED} {behind} AND id = ANY(%s::text[])".encode(),
            (*_name(wall), [id for id in ids if "\0" not in id]),
        )
    ]
    if handles:
        kinds, keys = zip(*handles, strict=True)
        found.append(
            await connection.execute(
                f"SELECT number, {SELECTED} {behind} AND (kind, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
                " AND superseded_at IS NULL".encode(),
                (*_name(wall), list(kinds), list(keys)),
            )
        )
    drawn = await _draw(connection, schema, _MOST_EPOCHS * len(writes))
    held = {row[1]: Held(row[0], row[1:]) for cursor in found for row in await cursor.fetchall()}
    return Batch(wall, moment, held, iter(sorted(row[0] for row in await drawn.fetchall())))


async def _draw(connection: "Connection", schema: str, count: int) -> "AsyncCursor[tuple[Any, ...]]":
    """Return new numbers that are never reused."""
    query = f"SELECT nextval('{schema}.numbers') FROM generate_series(1, %s)"
    return await connection.execute(query.encode(), (count,))


async def took_effect(connection: "Connection", schema: str, wall: Wall, last: ChangeRow | None) -> bool:
    """Return whether the last change sent is stored, once its transaction has ended."""
    if last is None:
        return True
    if not await lock_wall(connection, schema, wall):
        return False
    cursor = await connection.execute(
        f"SELECT 1 FROM {schema}.changes WHERE tenant = %s AND user_name = %s AND epoch = %s"
        " AND id = %s AND action = %s AND at = %s".encode(),
        (*_name(wall), last.epoch, last.id, str(last.action), last.at),
    )
    return await cursor.fetchone() is not None


async def remove_passing(
    connection: "Connection", schema: str, wall: Wall, condition: Sql, action: Action, at: datetime, source: str | None
) -> tuple[int, ChangeRow | None]:
    """Remove every record behind a wall that meets a condition, in chunks; return their number, and the last change."""
    found, last, floor = 0, None, -1
    query = (
        f"SELECT number, {SELECTED} FROM {schema}.records WHERE tenant = %s AND user_name = %s AND number > %s"
        f" AND {condition[0]} ORDER BY number LIMIT {_AT_ONCE}"
    )
    more = await lock_wall(connection, schema, wall)
    while more:
        rows = await (await connection.execute(query.encode(), (*_name(wall), floor, *condition[1]))).fetchall()
        drawn = await _draw(connection, schema, len(rows))
        held = {row[1]: Held(row[0], row[1:]) for row in rows}
        batch = Batch(wall, at, held, iter(sorted(row[0] for row in await drawn.fetchall())))
        for id in list(held):
            batch.take_out(Remove(id, action, at, source))
        await send(connection, schema, batch)
        found, more = found + len(rows), len(rows) == _AT_ONCE
        if rows:
            floor, last = rows[-1][0], batch.changes[-1]
    return found, last


async def purge(connection: "Connection", schema: str, wall: Wall) -> int:
    """Remove everything behind a wall, its history and its name; return the number of records."""
    if not await lock_wall(connection, schema, wall):
        return 0
    behind = "WHERE tenant = %s AND user_name = %s"
    counted = await connection.execute(f"SELECT count(*) FROM {schema}.records {behind}".encode(), _name(wall))
    for table in ("indexed", "words", "staged", "changes", "records", "walls"):
        await connection.execute(f"DELETE FROM {schema}.{table} {behind}".encode(), _name(wall))
    [(count,)] = await counted.fetchall()
    return int(count)
