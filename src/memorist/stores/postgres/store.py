"""The PostgreSQL store: any number of processes on any number of machines, with one lock for each wall."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorist.audit.log import Act
from memorist.errors import ClosedError, path_taken
from memorist.records.filters import Filter
from memorist.records.record import Action, Change, Kind, Record
from memorist.records.scope import Reach, Wall
from memorist.records.times import Clock, now, to_micros
from memorist.stores.audit import AuditLog
from memorist.stores.base import (
    Candidates,
    Cursor,
    Entries,
    Order,
    Outline,
    Remove,
    Staged,
    Store,
    Vector,
    Wanted,
    Write,
)
from memorist.stores.postgres import candidates, queries, reindexing, searching, writes
from memorist.stores.postgres.auditing import PostgresAudit
from memorist.stores.postgres.conditions import ALIVE, sql_of
from memorist.stores.postgres.connections import EVERYTHING, Connections, Query, Rows, Settled
from memorist.stores.postgres.copying import copy_out
from memorist.stores.postgres.grouping import Call, Grouping, Outcome
from memorist.stores.postgres.libpq import Connection
from memorist.stores.postgres.options import PostgresOptions
from memorist.stores.postgres.rows import BEHIND, SELECTED, record_from, vector_from
from memorist.stores.postgres.schema import index_vectors, put_meta, read_meta
from memorist.stores.rows import name_of
from memorist.stores.rules import history_of
from memorist.stores.searching import Search
from memorist.stores.sql import Sql

_T = TypeVar("_T")


class PostgresStore(Store):
    """Records in a PostgreSQL database with pgvector. Needs `pip install 'memorist[postgres]'`.

    Args:
        options: how to reach and use the database; see `parse_url`.
        clock: returns the present; records expire by this time.
    """

    def __init__(self, options: PostgresOptions, *, clock: Clock = now) -> None:
        self.options = options
        self._clock = clock
        self._open: Connections | None = None
        self._bound: str | None = None
        self._grouping = Grouping(self._write_together)

    def __repr__(self) -> str:
        return f"PostgresStore({self.options.shown!r})"

    @property
    def audit(self) -> AuditLog:
        return PostgresAudit(self._schema, self._upkeep, self._clock)

    @property
    def _connections(self) -> Connections:
        if self._open is None:
            raise ClosedError("the store is not open")
        return self._open

    @property
    def _schema(self) -> str:
        return self.options.schema

    async def _read(self, reach: Reach, *asked: Query, before: Sequence[str] = ()) -> list[Rows]:
        connections = self._connections
        return await connections.run(lambda: connections.read(reach, *asked, before=before))

    async def _upkeep(self, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        """Run a write on every tenant's records, which may be done twice."""

        async def repeatable(connection: Connection) -> tuple[_T, None]:
            return await work(connection), None

        return await self._change(EVERYTHING, repeatable)

    async def _change(self, reach: Reach, work: Callable[[Connection], Awaitable[tuple[_T, Settled | None]]]) -> _T:
        """Run a write, which continues when its caller is cancelled."""
        connections = self._connections
        return await connections.run(lambda: connections.write(reach, work), whole=True)

    async def open(self) -> None:
        if self._open is None:
            connections = Connections(self.options)
            await connections.connect()
            self._open = connections

    async def close(self) -> None:
        connections, self._open = self._open, None
        if connections is not None:
            await connections.close()

    # --- writing ---------------------------------------------------------------------------------------

    async def write(self, wall: Wall, writes_: Sequence[Write], *, act: Act | None = None) -> list[bool]:
        connections, grouping = self._connections, self._grouping
        return await connections.run(lambda: grouping.write(wall, writes_, act), whole=True)

    async def _write_together(self, calls: Sequence[Call]) -> list[Outcome]:
        schema, bound, clock = self._schema, self._bound, self._clock
        walls = dict.fromkeys(call.wall for call in calls)
        reach = Reach(calls[0].wall.tenant, tuple(wall.user for wall in walls))
        return await self._connections.write(
            reach, lambda connection: writes.carry_out(connection, schema, calls, bound, clock)
        )

    async def remove(
        self, wall: Wall, filter: Filter, *, at: datetime, source: str | None = None, act: Act | None = None
    ) -> int:
        passing = sql_of(filter, self._clock())
        return await self._remove(wall, passing, Remove("", Action.FORGOTTEN, at, source), act)

    async def _remove(self, wall: Wall, condition: Sql, note: Remove, act: Act | None) -> int:
        schema, clock = self._schema, self._clock
        return await self._change(
            wall.reach, lambda connection: writes.remove_passing(connection, schema, wall, condition, note, act, clock)
        )

    async def sweep(self, now: datetime, tenant: str | None = None, *, act: Act | None = None) -> int:
        due = f"SELECT DISTINCT tenant, user_name FROM {self._schema}.records WHERE expires_at <= %s"
        values: tuple[Any, ...] = (to_micros(now),)
        if tenant is not None:
            due, values = f"{due} AND tenant = %s", (*values, tenant)
        [walls] = await self._read(EVERYTHING, (due, values))
        over: Sql = ("expires_at <= %s", [to_micros(now)])
        note = Remove("", Action.EXPIRED, now)
        # One transaction for each wall: writers wait only briefly, and no deadlock is possible.
        return sum([await self._remove(Wall(name, user or None), over, note, act) for name, user in walls])

    async def purge(self, wall: Wall, *more: Wall, act: Act | None = None) -> Counter[str]:
        for each in more:  # first, so that a repeated purge continues an interrupted one
            await self._purge(each, act, named=False)
        count = await self._purge(wall, act, named=True)
        await self.scrub(wall, *more)
        return count

    async def scrub(self, *walls: Wall) -> None:
        if self.options.purge != "delete":
            # Reclaim the space of deleted rows and renew the planner's samples of values.
            connections, tables = self._connections, (self._schema, list(queries.PURGED))
            parts = [(queries.PARTS, (*tables, tenant)) for tenant in {each.tenant for each in walls}]
            analyzed, *found = await self._read(EVERYTHING, (queries.ANALYZED, tables), *parts)
            keys = {name: key for rows in found for name, key in rows}
            full = self.options.purge == "full"
            for name, key in keys.items() if full else ():
                # VACUUM FULL runs outside of transactions, so no time-out would end its wait, nor that of others.
                await self._upkeep(methodcaller("execute", f"CLUSTER {self._schema}.{name} USING {key}".encode()))
            how = "ANALYZE" if full else "VACUUM (ANALYZE)"
            statements = [f"{how} {self._schema}.{name}" for name in keys]
            statements += [f"ANALYZE {self._schema}.{name}" for (name,) in analyzed]
            await connections.run(lambda: connections.outside(*statements), whole=True)

    async def _purge(self, wall: Wall, act: Act | None, *, named: bool) -> Counter[str]:
        schema, clock = self._schema, self._clock
        return await self._change(
            wall.reach, lambda connection: writes.purge(connection, schema, wall, act, clock, named=named)
        )

    async def search(self, wall: Wall, texts: Sequence[str]) -> Search:
        return await self._upkeep(lambda connection: searching.search(connection, self.options, wall, texts))

    # --- reading ---------------------------------------------------------------------------------------

    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        query = f"SELECT {SELECTED} FROM {self._schema}.records WHERE {BEHIND} AND id = ANY(%s) AND {ALIVE}"
        asked = [id for id in dict.fromkeys(ids) if "\0" not in id]
        [rows] = await self._read(wall.reach, (query, (*name_of(wall), asked, to_micros(self._clock()))))
        found = {row[0]: record_from(row, wall) for row in rows}
        return [found[id] for id in asked if id in found]

    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        query = f"SELECT number, {SELECTED} FROM {self._schema}.records WHERE {BEHIND} AND number = ANY(%s) AND {ALIVE}"
        [rows] = await self._read(wall.reach, (query, (*name_of(wall), list(numbers), to_micros(self._clock()))))
        return {row[0]: record_from(row[1:], wall) for row in rows}

    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        if limit < 1:
            self._connections  # noqa: B018 - a closed store says so, whatever is asked
            return []
        passing = sql_of(filter, self._clock())
        query = queries.selecting(self._schema, reach, passing, order=order, limit=limit, after=after)
        [rows] = await self._read(reach, query)
        return [record_from(row[4:], Wall(reach.tenant, row[3] or None)) for row in rows]

    async def count(self, reach: Reach, filter: Filter) -> int:
        condition, values = sql_of(filter, self._clock())
        behind, names = queries.behind(reach)
        query = f"SELECT count(*) FROM {self._schema}.records WHERE {behind} AND {condition}"
        [[(count,)]] = await self._read(reach, (query, (*names, *values)))
        return int(count)

    async def users(self, tenant: str) -> dict[str | None, int]:
        query = (
            f"SELECT user_name, count(*) FILTER (WHERE superseded_at IS NULL AND kind <> '{Kind.STATE}')"
            f" FROM {self._schema}.records WHERE tenant = %s AND {ALIVE}"
            " GROUP BY user_name ORDER BY user_name"
        )
        [rows] = await self._read(Reach(tenant, None), (query, (tenant, to_micros(self._clock()))))
        return {user or None: count for user, count in rows}

    async def tenants(self) -> list[str]:
        query = f"SELECT DISTINCT tenant FROM {self._schema}.records WHERE {ALIVE} ORDER BY tenant"
        [rows] = await self._read(EVERYTHING, (query, (to_micros(self._clock()),)))
        return [tenant for (tenant,) in rows]

    async def history(self, wall: Wall, id: str) -> list[Change]:
        if "\0" in id:
            return []
        past = (
            f"SELECT action, at, source, before FROM {self._schema}.changes WHERE {BEHIND} AND id = %s ORDER BY epoch"
        )
        current = f"SELECT {SELECTED} FROM {self._schema}.records WHERE {BEHIND} AND id = %s"
        asked = (*name_of(wall), id)
        rows, now_there = await self._read(wall.reach, (past, asked), (current, asked))
        present = record_from(now_there[0], wall) if now_there else None
        return history_of(id, rows, partial(record_from, wall=wall), present, self._clock())

    async def walls(self) -> list[Wall]:
        query = f"SELECT DISTINCT tenant, user_name FROM {self._schema}.changes ORDER BY tenant, user_name"
        [rows] = await self._read(EVERYTHING, (query, ()))
        return [Wall(tenant, user or None) for tenant, user in rows]

    async def log(self, wall: Wall) -> list[str]:
        query = f"SELECT id FROM {self._schema}.changes WHERE {BEHIND} ORDER BY epoch"
        [rows] = await self._read(wall.reach, (query, name_of(wall)))
        return [id for (id,) in rows]

    # --- what ranking reads ----------------------------------------------------------------------------

    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        state = queries.state(self._schema, wall)
        [[(wall_id, vectors, latest)]] = await self._read(wall.reach, state)
        current = f"{wall_id}.{vectors}"
        if current == generation and latest == epoch:
            return Entries(current, epoch, [], [])
        since = epoch if generation == current else 0
        rows = await self._read(wall.reach, state, *queries.changed(self._schema, wall, since))
        return queries.entries_of(rows, asked=current, since=since)

    async def matching(self, wall: Wall, filter: Filter) -> NDArray[np.int64]:
        condition, values = sql_of(filter, self._clock())
        query = f"SELECT number FROM {self._schema}.records WHERE {BEHIND} AND {condition}"
        [rows] = await self._read(wall.reach, (query, (*name_of(wall), *values)))
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    async def vectors(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Vector]:
        query = f"SELECT number, vector_send(vector) FROM {self._schema}.indexed WHERE {BEHIND} AND number = ANY(%s)"
        [rows] = await self._read(wall.reach, (query, (*name_of(wall), list(numbers))))
        return {number: vector for number, blob in rows if (vector := vector_from(blob)) is not None}

    async def search_words(self, wall: Wall, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        query = queries.searching_words(self._schema, wall, terms, limit)
        if query is None:
            self._connections  # noqa: B018
            return []
        [rows] = await self._read(wall.reach, query)
        return [(number, float(score)) for number, score in rows]

    @property
    def searches_large(self) -> bool:
        return self.options.hnsw  # without the index every query would compare each vector on the server

    async def outline(self, wall: Wall, largest: int) -> Outline | None:
        return await candidates.outline_of(self._read, self._schema, wall, largest)

    async def candidates(self, wall: Wall, wanted: Wanted) -> Candidates:
        passing = sql_of(wanted.filter, self._clock())

        async def by_vector() -> Sequence[int]:
            if wanted.near is not None or wanted.vector is None:
                return wanted.near or []
            found = await self.nearest(wall, wanted.vector, wanted.filter, wanted.limit)
            return [number for number, _ in found]

        by_words = candidates.by_words(self._read, self._schema, wall, wanted, passing)
        nearest, (best, holders) = await asyncio.gather(by_vector(), by_words)
        numbers = sorted({*nearest, *best})
        return await candidates.gathered(self._read, self._schema, wall, numbers, passing, holders)

    async def nearest(self, wall: Wall, vector: Vector, filter: Filter, limit: int) -> list[tuple[int, float]]:
        """Return the entries nearest to a unit vector that pass the filter, with their cosine, best first.

        Exact, except with ``hnsw=on`` if more than `queries.MOST_EXACT` pass: then approximate, by the index.
        """
        passing, by_index = sql_of(filter, self._clock()), False
        if self.options.hnsw:
            # the count stops where there are too many to look at each
            most, behind = queries.MOST_EXACT, f"SELECT 1 FROM {self._schema}.records WHERE {BEHIND} AND {passing[0]}"
            counting = f"SELECT count(*) FROM ({behind} LIMIT {most + 1}) AS found"
            [[(count,)]] = await self._read(wall.reach, (counting, (*name_of(wall), *passing[1])))
            by_index = count > most
        query = queries.nearest(self._schema, wall, vector, passing, limit, by_index=by_index)
        [rows] = await self._read(wall.reach, query, before=queries.BY_INDEX if by_index else ())
        return [(number, float(similarity)) for number, similarity in rows]

    # --- the whole -------------------------------------------------------------------------------------

    async def backup(self, target: Path) -> None:
        if target.exists():
            raise path_taken(target)
        connections, copy = self._connections, partial(copy_out, schema=self._schema, target=target)
        await connections.run(lambda: connections.snapshot(copy))

    async def fingerprint(self) -> str | None:
        query = f"SELECT value FROM {self._schema}.meta WHERE name = 'fingerprint'"
        [rows] = await self._read(EVERYTHING, (query, ()))
        return rows[0][0] if rows else None

    async def dimensions(self) -> int | None:
        query = f"SELECT value FROM {self._schema}.meta WHERE name = 'dimensions'"
        [rows] = await self._read(EVERYTHING, (query, ()))
        return int(rows[0][0]) if rows else None

    async def bind(self, fingerprint: str, dimensions: int) -> None:
        schema = self._schema
        if self._bound == fingerprint and self._connections:
            return

        async def work(connection: Connection) -> None:
            if await read_meta(connection, schema, "fingerprint") is None:
                await put_meta(connection, schema, "fingerprint", fingerprint, replace=False)
                await put_meta(connection, schema, "dimensions", str(dimensions), replace=False)
            await writes.check_embedder(connection, schema, fingerprint, dimensions)
            if self.options.hnsw:
                await index_vectors(connection, self.options, dimensions)

        await self._upkeep(work)
        self._bound = fingerprint

    async def unembedded(self, limit: int) -> list[tuple[int, int, Record]]:
        return await self._upkeep(lambda connection: reindexing.unembedded(connection, self._schema, limit))

    async def count_unembedded(self) -> int:
        query = f"SELECT count(*) FROM {self._schema}.indexed WHERE vector IS NULL"
        [[(count,)]] = await self._read(EVERYTHING, (query, ()))
        return int(count)

    async def fill(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self._upkeep(lambda connection: reindexing.fill(connection, self._schema, fingerprint, rows))

    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        return await self._upkeep(lambda connection: reindexing.missing(connection, self._schema, fingerprint, limit))

    async def left_to_reembed(self, fingerprint: str) -> int:
        return await self._upkeep(lambda connection: reindexing.count_missing(connection, self._schema, fingerprint))

    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self._upkeep(lambda connection: reindexing.stage(connection, self._schema, fingerprint, rows))

    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        done = await self._change(
            EVERYTHING, lambda connection: reindexing.adopt(connection, self._schema, fingerprint, dimensions)
        )
        if done:
            self._bound = fingerprint
            if self.options.hnsw:
                await self._upkeep(lambda connection: index_vectors(connection, self.options, dimensions))
        return done
