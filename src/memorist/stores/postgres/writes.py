"""What a write does inside its transaction: one reading of what is there, and one sending of what becomes of it.

The wall is locked first, so nobody else writes behind it until the commit; numbers and epochs are drawn under
that lock. So they grow in the order of the commits, and whoever has seen an epoch has seen all before it.
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
from memorist.stores.postgres.batch import Batch, Change, Held
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
"""Changes that one write may make: its own, and what expired and stands in its way by its id or its key."""


def _name(wall: Wall) -> tuple[str, str]:
    return wall.tenant, wall.user or ""


async def carry_out(
    connection: "Connection",
    schema: str,
    wall: Wall,
    calls: Sequence[Sequence[Write]],
    fingerprint: str | None,
    clock: Clock,
) -> tuple[list[Outcome], Change | None]:
    """Carry out the writes of several calls, in order; `fingerprint` is that of the vectors they bring.

    Return for each call the outcomes of its writes, or the error for which nothing of it was carried out; and the
    last change, by which `took_effect` knows the transaction again.
    """
    # Keep new vectors from being put in force in the middle of this write.
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
    """Refuse to mix: another process may have put another embedder's vectors in force."""
    _check_fingerprint(await (await _fingerprint(connection, schema)).fetchone(), fingerprint)


async def _fingerprint(connection: "Connection", schema: str) -> "AsyncCursor[tuple[Any, ...]]":
    return await connection.execute(f"SELECT value FROM {schema}.meta WHERE name = 'fingerprint'".encode())


def _check_fingerprint(row: tuple[Any, ...] | None, fingerprint: str | None) -> None:
    rules.check_fingerprint(None if row is None else row[0], fingerprint)


async def lock_wall(connection: "Connection", schema: str, wall: Wall, *, create: bool = False) -> bool:
    """Keep all others from writing behind a wall until the commit; False where there is none, and none is made."""
    # Not the row's own lock: after waiting for one, PostgreSQL looks at the row anew with the old plan, and behind a
    # policy it has been seen to lose it. A statement after the lock sees what was committed before.
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
    """Read what the writes may find: the records of their ids, and those that hold their keys."""
    records = [each.record for each in writes if isinstance(each, Put)]
    ids = {each.record.id if isinstance(each, Put) else each.id for each in writes}
    handles = {handle for record in records if (handle := rules.handle_of(record)) is not None}
    place = f"FROM {schema}.records WHERE tenant = %s AND user_name = %s"
    found = [await connection.execute(
        f"SELECT number, {SELECTED} {place} AND id = ANY(%s::text[])".encode(),
        (*_name(wall), [id for id in ids if "\0" not in id]),
    )]  # fmt: skip
    if handles:
        kinds, keys = zip(*handles, strict=True)
        found.append(await connection.execute(
            f"SELECT number, {SELECTED} {place} AND (kind, key) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
            " AND superseded_at IS NULL".encode(),
            (*_name(wall), list(kinds), list(keys)),
        ))  # fmt: skip
    drawn = await _draw(connection, schema, _MOST_EPOCHS * len(writes))
    held = {row[1]: Held(row[0], row[1:]) for cursor in found for row in await cursor.fetchall()}
    return Batch(wall, moment, held, iter(sorted(row[0] for row in await drawn.fetchall())))


async def _draw(connection: "Connection", schema: str, count: int) -> "AsyncCursor[tuple[Any, ...]]":
    """Draw numbers, of which none was there before and none comes again."""
    query = f"SELECT nextval('{schema}.numbers') FROM generate_series(1, %s)"
    return await connection.execute(query.encode(), (count,))


async def took_effect(connection: "Connection", schema: str, wall: Wall, last: Change | None) -> bool:
    """Return whether the change that was sent last is stored, once its transaction has ended."""
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
) -> tuple[int, Change | None]:
    """Take out every record behind a wall that meets a condition, some at a time; return how many, and the last."""
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
    """Take out everything behind a wall, its history and its name; return how many records."""
    if not await lock_wall(connection, schema, wall):
        return 0
    place = "WHERE tenant = %s AND user_name = %s"
    counted = await connection.execute(f"SELECT count(*) FROM {schema}.records {place}".encode(), _name(wall))
    for table in ("indexed", "words", "staged", "changes", "records", "walls"):
        await connection.execute(f"DELETE FROM {schema}.{table} {place}".encode(), _name(wall))
    [(count,)] = await counted.fetchall()
    return int(count)
