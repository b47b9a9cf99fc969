"""Writes inside a transaction: one read of the stored rows, and one pipeline of changes.

The wall is locked first, so that no other transaction writes behind it until the commit. Numbers and epochs are
assigned under that lock. So they grow in the order of the commits, and a reader of an epoch has seen all earlier ones.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memorist.audit.log import Act, Counts
from memorist.errors import ConflictError, EmbedderMismatchError
from memorist.records.filters import Filter
from memorist.records.record import Action
from memorist.records.scope import Wall
from memorist.records.times import Clock, to_micros
from memorist.stores import rules
from memorist.stores.base import Put, Remove
from memorist.stores.postgres.auditing import append
from memorist.stores.postgres.batch import Batch, ChangeRow, Held
from memorist.stores.postgres.conditions import ALIVE, sql_of
from memorist.stores.postgres.connections import Rows, Settled
from memorist.stores.postgres.grouping import Call, Outcome
from memorist.stores.postgres.libpq import Connection, Cursor, fetched, first_of
from memorist.stores.postgres.queries import PURGED
from memorist.stores.postgres.rows import BEHIND, SELECTED
from memorist.stores.postgres.schema import lock_key
from memorist.stores.postgres.sending import columns_of, send
from memorist.stores.rows import name_of
from memorist.stores.sql import Sql

_AT_ONCE = 1000
_MOST_EPOCHS = 3
"""The most changes of one write: the write itself, and the removal of expired records with the same id or key."""


_NOTED = "SELECT name, value FROM {s}.meta WHERE name IN ('fingerprint', 'dimensions')"


async def carry_out(
    connection: Connection, schema: str, calls: Sequence[Call], fingerprint: str | None, clock: Clock
) -> tuple[list[Outcome], Settled]:
    """Carry out calls of one tenant, in order, as `Run` does, and return their outcomes.

    `fingerprint` is that of their vectors.
    """
    await keep_vectors(connection, schema)
    stored = await connection.execute(_NOTED.format(s=schema).encode())
    quoted = await _quoted(connection, schema, calls, clock())
    batches = await _locked(connection, schema, calls, clock(), quoted)
    drawn = {}
    for call in calls:
        if ids := rules.removed_alone(call.writes):
            condition, values = sql_of(Filter(derived_from=ids, superseded=True), clock())
            query = f"SELECT id FROM {schema}.records WHERE {BEHIND} AND {condition}"
            drawn[call] = [id for (id,) in await fetched(connection, query, (*name_of(call.wall), *values))]
    of_vectors: dict[str, str] = dict(await stored.fetchall())
    outcomes, several = list[Outcome](), len(calls) > 1
    noted: list[tuple[Act | None, Wall, Counts]] = []
    for call in calls:
        batch = batches.get(call.wall)
        if batch is None:
            outcomes.append(None)
            continue
        attempt = batch.copy() if several else batch
        try:
            rules.check_alone(call.writes, drawn.get(call, ()))
            if any(isinstance(each, Put) and each.vector is not None for each in call.writes):
                rules.check_embedder(of_vectors, fingerprint, rules.length_of(call.writes))
            outcomes.append(
                [attempt.put(each) if isinstance(each, Put) else attempt.remove(each) for each in call.writes]
            )
        except (ConflictError, EmbedderMismatchError) as error:
            if not several:
                raise
            outcomes.append(error)
        else:
            batches[call.wall] = attempt
            noted.append((call.act, call.wall, attempt.counts))
    changed = [batch for batch in batches.values() if batch.changes]
    await send(connection, schema, changed)
    acts = {wall: act for act, wall, _ in noted}
    quoting = [(acts.get(each.wall), await _quoting(connection, schema, each)) for each in changed]
    await _remove_quoting(connection, schema, quoting, clock)
    for act, wall, counts in noted:
        await append(connection, schema, act, clock, wall, counts)
    return outcomes, _stored(schema, (changed[-1].wall, changed[-1].changes[-1]) if changed else None)


async def check_embedder(connection: Connection, schema: str, fingerprint: str, dimensions: int | None) -> None:
    """Refuse vectors of another embedder: another process may have reindexed the store."""
    noted = await connection.execute(_NOTED.format(s=schema).encode())
    rules.check_embedder(dict(await noted.fetchall()), fingerprint, dimensions)


def _lock(schema: str, wall: Wall) -> int:
    return lock_key(schema, json.dumps(["wall", *wall]))


async def keep_vectors(connection: Connection, schema: str) -> None:
    """Keep a reindex from replacing the vectors, and from counting the terms, during this transaction."""
    await connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_key(schema, "vectors"),))


async def lock_wall(connection: Connection, schema: str, wall: Wall) -> int | None:
    """Lock a wall against other writers until the commit; return its id, or None if nothing is behind it."""
    await keep_vectors(connection, schema)
    # Not a row lock: after waiting for one, PostgreSQL rechecks the row with the old plan, and behind a policy it was
    # observed to miss the row. A statement after an advisory lock sees everything committed before.
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock(schema, wall),))
    query = f"SELECT id FROM {schema}.walls WHERE {BEHIND}"
    row = await first_of(connection, query, name_of(wall))
    return None if row is None else int(row[0])


async def lock_walls(connection: Connection, schema: str, walls: Iterable[Wall]) -> None:
    """Lock walls against writers until the commit, in an order that is the same for all, so there is no deadlock."""
    keys = sorted({_lock(schema, wall) for wall in walls})
    await connection.execute("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", (keys,))


async def _locked(
    connection: Connection,
    schema: str,
    calls: Sequence[Call],
    moment: datetime,
    quoted: Collection[tuple[Wall, str]],
) -> dict[Wall, Batch]:
    """Lock the walls of some calls, and return for each a batch with the records that the calls' writes concern.

    A single wall is waited for. Of several, those that another transaction has locked are left out: nobody waits for
    a lock while holding others, so there is no deadlock.
    """
    walls = list(dict.fromkeys(call.wall for call in calls))
    if len(walls) == 1:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock(schema, walls[0]),))
        locked = None
    else:
        locked = await connection.execute(
            "SELECT place FROM unnest(%s::bigint[]) WITH ORDINALITY AS wanted(lock, place)"
            " WHERE pg_try_advisory_xact_lock(lock)",
            ([_lock(schema, wall) for wall in walls],),
        )
    ids, handles = set[tuple[str, str]](), set[tuple[str, str, str]]()
    for wall, each in ((call.wall, each) for call in calls for each in call.writes):
        needed = (each.record.id, *each.derived_from) if isinstance(each, Put) else (each.id,)
        ids.update((wall.user or "", id) for id in needed if "\0" not in id)
        if isinstance(each, Put) and (handle := rules.handle_of(each.record)) is not None:
            handles.add((wall.user or "", *handle))
    tenant = walls[0].tenant
    query = f"SELECT user_name, number, {SELECTED} FROM {schema}.records WHERE tenant = %s AND "
    found = []
    if ids:
        among = "(user_name, id) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
        found.append(await connection.execute((query + among).encode(), (tenant, *columns_of(ids))))
    if handles:
        among = "(user_name, kind, key) IN (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))"
        found.append(
            await connection.execute(
                f"{query}{among} AND superseded_at IS NULL".encode(), (tenant, *columns_of(handles))
            )
        )
    drawn = await _draw(connection, schema, _MOST_EPOCHS * sum(len(call.writes) for call in calls) + len(walls))
    held: dict[str, dict[str, Held]] = defaultdict(dict)
    for user, number, *row in [row for cursor in found for row in await cursor.fetchall()]:
        held[user][row[0]] = Held(number, row)
    if locked is not None:
        walls = [walls[place - 1] for (place,) in await locked.fetchall()]
    epochs = iter(sorted(row[0] for row in await drawn.fetchall()))
    return {wall: Batch(wall, moment, held[wall.user or ""], epochs, next(epochs), quoted=quoted) for wall in walls}


async def _quoted(
    connection: Connection, schema: str, calls: Sequence[Call], moment: datetime
) -> Collection[tuple[Wall, str]]:
    """Return which of the quoted records exist, and keep them until the commit.

    Their walls are locked, for all who only quote together, before the calls' own: whoever removes a record locks its
    wall first and those of what quotes it last, so there is no deadlock.
    """
    asked = {quote for call in calls for each in call.writes if isinstance(each, Put) for quote in each.quotes}
    if not asked:
        return ()
    keys = sorted({_lock(schema, wall) for wall, _ in asked})
    await connection.execute("SELECT pg_advisory_xact_lock_shared(key) FROM unnest(%s::bigint[]) AS key", (keys,))
    await _see_everything(connection, "on")
    query = (
        f"SELECT tenant, user_name, id FROM {schema}.records WHERE {ALIVE} AND (tenant, user_name, id) IN"
        " (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))"
    )
    named = columns_of([(*name_of(wall), id) for wall, id in asked])
    rows = await fetched(connection, query, (to_micros(moment), *named))
    await _see_everything(connection, "off")
    return {(Wall(tenant, user or None), id) for tenant, user, id in rows}


async def _see_everything(connection: Connection, on: str) -> None:
    """Let this transaction see the rows of every tenant, or those behind its own wall again."""
    await connection.execute("SELECT set_config('memorist.everything', %s, true)", (on,))


async def _quoting(connection: Connection, schema: str, batch: Batch) -> Rows:
    """Return the tenant, user and number of what quotes records that a batch removes, or sets to expire."""
    if not batch.dropping:
        return []
    query = f"DELETE FROM {schema}.quotes WHERE {BEHIND} AND id = ANY(%s) RETURNING by_tenant, by_user, number"
    return await fetched(connection, query, (*name_of(batch.wall), list(batch.dropping)))


async def _remove_quoting(
    connection: Connection, schema: str, quoting: Iterable[tuple[Act | None, Rows]], clock: Clock
) -> None:
    """Remove what quoted records that are gone; the last walls that a transaction locks are those of what quotes."""
    places: dict[tuple[Act | None, Wall], list[int]] = {}
    for act, rows in quoting:
        for tenant, user, number in rows:
            places.setdefault((act, Wall(tenant, user or None)), []).append(number)
    if not places:
        return
    await lock_walls(connection, schema, [wall for _, wall in places])
    for (act, wall), numbers in places.items():
        await _see_everything(connection, "on")
        chosen, note = ("number = ANY(%s)", [numbers]), Remove("", Action.FORGOTTEN, clock())
        await remove_passing(connection, schema, wall, chosen, note, act, clock)
    await _see_everything(connection, "off")


async def _draw(connection: Connection, schema: str, count: int) -> Cursor:
    """Return new numbers that are never reused."""
    query = f"SELECT nextval('{schema}.numbers') FROM generate_series(1, %s)"
    return await connection.execute(query.encode(), (count,))


def _stored(schema: str, last: tuple[Wall, ChangeRow] | None) -> Settled:
    """Return a function that tells whether an ended transaction took effect, by the last change that it sent."""

    async def stored(connection: Connection) -> bool:
        if last is None:
            return True
        wall, change = last
        if await lock_wall(connection, schema, wall) is None:
            return False
        query = f"SELECT 1 FROM {schema}.changes WHERE {BEHIND} AND epoch = %s AND id = %s AND action = %s AND at = %s"
        values = (*name_of(wall), change.epoch, change.id, change.action, change.at)
        return await first_of(connection, query, values) is not None

    return stored


async def remove_passing(
    connection: Connection, schema: str, wall: Wall, condition: Sql, note: Remove, act: Act | None, clock: Clock
) -> tuple[int, Settled]:
    """Remove every record behind a wall that meets a condition, in chunks; return their number.

    `note` is the history entry of each.
    """
    found, last, floor, counts = 0, None, -1, Counts()
    quoting: Rows = []
    query = (
        f"SELECT number, {SELECTED} FROM {schema}.records WHERE {BEHIND} AND number > %s"
        f" AND {condition[0]} ORDER BY number LIMIT {_AT_ONCE}"
    )
    more = await lock_wall(connection, schema, wall) is not None
    while more:
        rows = await fetched(connection, query, (*name_of(wall), floor, *condition[1]))
        drawn = await _draw(connection, schema, len(rows) + 1)
        held = {row[1]: Held(row[0], row[1:]) for row in rows}
        epochs = iter(sorted(row[0] for row in await drawn.fetchall()))
        batch = Batch(wall, note.at, held, epochs, next(epochs), counts=counts)
        for id in list(held):
            batch.take_out(replace(note, id=id))
        await send(connection, schema, [batch])
        quoting += await _quoting(connection, schema, batch)
        found, more = found + len(rows), len(rows) == _AT_ONCE
        if rows:
            floor, last = rows[-1][0], (wall, batch.changes[-1])
    await _remove_quoting(connection, schema, [(act, quoting)], clock)
    await append(connection, schema, act, clock, wall, counts)
    return found, _stored(schema, last)


async def purge(
    connection: Connection, schema: str, wall: Wall, act: Act | None, clock: Clock, *, named: bool
) -> tuple[Counter[str], Settled]:
    """Remove everything behind a wall, its history and its name; return how many records of each kind it had.

    With `named`, the purge is in the audit log even if the wall was empty.
    """
    purged = await lock_wall(connection, schema, wall)
    quotes = f"DELETE FROM {schema}.quotes WHERE by_tenant = %s AND by_user = %s"
    await connection.execute(quotes.encode(), name_of(wall))
    dropped = f"DELETE FROM {schema}.quotes WHERE {BEHIND} RETURNING by_tenant, by_user, number"
    await _remove_quoting(connection, schema, [(act, await fetched(connection, dropped, name_of(wall)))], clock)
    query = f"SELECT kind, count(*) FROM {schema}.records WHERE {BEHIND} GROUP BY kind"
    rows = await fetched(connection, query, name_of(wall))
    kinds = Counter({kind: int(count) for kind, count in rows})
    counts = Counts({("purged", kind): count for kind, count in kinds.items()})
    await append(connection, schema, act, clock, wall, (counts or None) if named else counts)
    for table in PURGED:
        await connection.execute(f"DELETE FROM {schema}.{table} WHERE {BEHIND}".encode(), name_of(wall))

    async def gone(connection: Connection) -> bool:
        return purged is not None and await lock_wall(connection, schema, wall) != purged

    return kinds, gone
