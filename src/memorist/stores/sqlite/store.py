"""The SQLite store: one file that several processes may use at once."""

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from memorist.audit.log import Act, Counts
from memorist.errors import ClosedError, StoreError, StoreUnavailableError
from memorist.records.filters import Filter
from memorist.records.record import Action, Change, Record
from memorist.records.scope import Reach, Wall
from memorist.records.times import Clock, now, to_micros
from memorist.stores import rules
from memorist.stores.audit import AuditLog
from memorist.stores.base import (
    Candidates,
    Cursor,
    Entries,
    Order,
    Outline,
    Put,
    Staged,
    Store,
    Vector,
    Wanted,
    Write,
)
from memorist.stores.keys import Key, read_key
from memorist.stores.rows import COLUMNS, record_of
from memorist.stores.rules import history_of
from memorist.stores.searching import Search
from memorist.stores.segments import Segments
from memorist.stores.sqlite import auditing, candidates, purging, reindexing, searching, selecting, writes
from memorist.stores.sqlite.conditions import sql_of
from memorist.stores.sqlite.connections import Connections, TooLong
from memorist.stores.sqlite.copying import copy_to, damage
from memorist.stores.sqlite.entries import entries_since, state_of
from memorist.stores.sqlite.rows import query_all, query_one
from memorist.stores.sqlite.segments import SQLiteSegments
from memorist.stores.sqlite.selecting import ALIVE, rows_in
from memorist.stores.threads import settled
from memorist.system.places import checked_database

log = logging.getLogger("memorist.stores")
_T = TypeVar("_T")
_BRIEF_ROWS = 64
_BRIEF = 0.001
"""Seconds that a read of a few rows may block the caller's event loop before a worker takes over."""
_OUTDATED = 0.01
"""The share of changes in the file after which an outline is read anew."""
_MOST_OUTLINES = 64


class SQLiteStore(Store):
    """Records in one file at `path` (None: in this process's memory).

    Args:
        path: the file; a missing folder is created.
        busy_timeout: how long to wait for another process's write, in seconds.
        clock: returns the present; what expires is gone by it.
        key_from: where the key is kept that encrypts the file, as in `memorist.stores.keys`; None leaves it plain.
    """

    def __init__(
        self, path: Path | None, *, busy_timeout: float = 30.0, clock: Clock = now, key_from: str | None = None
    ) -> None:
        self.path = path and checked_database(path)
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._key_from = key_from
        self._key: Key | None = None
        self._open: Connections | None = None
        self._purging: purging.Purger | None = None
        self._opening = threading.Lock()
        self._bound: str | None = None
        self._outlines: dict[Wall, tuple[Outline, int]] = {}

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self.path or ':memory:')!r})"

    @property
    def segments(self) -> Segments | None:
        if self.path is None:
            return None
        return SQLiteSegments(self._read, self._write, self.path.parent if self._key is None else None)

    @property
    def audit(self) -> AuditLog:
        return auditing.SQLiteAudit(self._read, self._write, self._clock)

    @property
    def _connections(self) -> Connections:
        if self._open is None:
            raise ClosedError("the store is not open")
        return self._open

    @property
    def _purger(self) -> purging.Purger:
        if self._purging is None:
            raise ClosedError("the store is not open")
        return self._purging

    async def _read(self, work: Callable[[apsw.Connection], _T], *, brief: bool = False) -> _T:
        """Run a read on a worker thread. Run a `brief` one on the caller's thread, unless it proves to be long."""
        if brief and self.path is not None:
            with suppress(TooLong):
                return self._connections.read(work, most_seconds=_BRIEF)
        return await asyncio.wrap_future(self._connections.submit_read(work))

    async def _write(self, work: Callable[[apsw.Connection], _T], *, alone: bool = False) -> _T:
        return await self._connections.write(work, alone=alone)

    async def open(self) -> None:
        await settled(asyncio.to_thread(self._connect))

    def _connect(self) -> None:
        with self._opening:
            if self._open is None:
                if self.path is not None:
                    if self.path.is_dir():
                        raise StoreUnavailableError(f"{self.path} is a folder; name a file")
                    try:
                        self.path.parent.mkdir(parents=True, exist_ok=True)
                    except OSError as error:
                        raise StoreUnavailableError(f"the folder of {self.path} cannot be made: {error}") from error
                if self._key_from is not None:
                    self._key = read_key(self._key_from)
                opened = Connections(self.path, self._busy_timeout, self._key)
                if self.path is not None:
                    log.info(
                        "opened %s, %s", self.path, "which is encrypted" if self._key else "which is not encrypted"
                    )
                purger = purging.Purger(opened, self._busy_timeout)
                purger.resume()
                self._open, self._purging = opened, purger

    async def close(self) -> None:
        connections, self._open = self._open, None
        purger, self._purging = self._purging, None
        if purger is not None:
            await asyncio.to_thread(purger.close)
        if connections is not None:
            await asyncio.to_thread(connections.close)

    async def write(self, wall: Wall, writes_: Sequence[Write], *, act: Act | None = None) -> list[bool]:
        def work(connection: apsw.Connection) -> list[bool]:
            if any(isinstance(each, Put) and each.vector is not None for each in writes_):
                writes.check_embedder(connection, self._bound, rules.length_of(writes_))
            wall_id = writes.find_wall(connection, wall, create=any(isinstance(each, Put) for each in writes_))
            writes.check_alone(connection, wall_id, writes_, self._clock())
            moment, done, counts, dropped = self._clock(), list[bool](), Counts(), writes.Dropped()
            for each in writes_:
                kind: str | None
                if isinstance(each, Put):
                    writes.put(connection, wall_id, each, moment, dropped)
                    kind = str(each.record.kind)
                else:
                    kind = writes.remove(connection, wall_id, each, moment, dropped)
                done.append(kind is not None)
                if kind is not None:
                    counts[str(each.action), kind] += 1
            auditing.append(connection, act, self._clock, wall.tenant, wall_id, counts)
            self._note(connection, act, Action.FORGOTTEN, dropped)
            return done

        return await self._write(work)

    async def remove(
        self, wall: Wall, filter: Filter, *, at: datetime, source: str | None = None, act: Act | None = None
    ) -> int:
        passing = sql_of(filter, self._clock())

        def work(connection: apsw.Connection) -> int:
            dropped = writes.Dropped()
            removed = writes.remove_passing(connection, wall, passing, at, source, dropped)
            self._note(connection, act, Action.FORGOTTEN, {writes.find_wall(connection, wall): removed})
            self._note(connection, act, Action.FORGOTTEN, dropped)
            return removed.total()

        return await self._write(work)

    def _note(
        self, connection: apsw.Connection, act: Act | None, what: str, walls: Mapping[int | None, Counter[str]]
    ) -> None:
        """Append what happened behind each of some walls, by their ids in the file, to the audit log."""
        for wall_id, kinds in walls.items():
            tenant = connection.execute("SELECT tenant FROM walls WHERE id = ?", (wall_id,)).get
            counts = Counts({(str(what), kind): count for kind, count in kinds.items()})
            auditing.append(connection, act, self._clock, tenant, wall_id, counts)

    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        def work(connection: apsw.Connection) -> list[Record]:
            alive_at = to_micros(self._clock())
            # Without statistics the planner takes a list of ids for dearer than the whole wall, and scans it.
            rows = rows_in(connection, wall, "id", COLUMNS, ids, alive_at, table="records INDEXED BY records_by_id")
            found = {row[0]: record_of(row, wall) for row in rows}
            return [found[id] for id in dict.fromkeys(ids) if id in found]

        return await self._read(work, brief=len(ids) <= _BRIEF_ROWS)

    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        def work(connection: apsw.Connection) -> dict[int, Record]:
            rows = rows_in(connection, wall, "number", f"number, {COLUMNS}", numbers, to_micros(self._clock()))
            return {row[0]: record_of(row[1:], wall) for row in rows}

        return await self._read(work, brief=len(numbers) <= _BRIEF_ROWS)

    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        if limit < 1:
            return []
        passing = sql_of(filter, self._clock())
        return await self._read(
            lambda connection: selecting.page(connection, reach, passing, order, limit, after),
            brief=limit <= _BRIEF_ROWS,
        )

    async def values(
        self, reach: Reach, filter: Filter, fields: Sequence[str], *, order: Order, limit: int
    ) -> list[tuple[Any, ...]]:
        passing = sql_of(filter, self._clock())
        return await self._read(
            lambda connection: selecting.values(connection, reach, passing, fields, order, limit),
            brief=limit <= _BRIEF_ROWS,
        )

    async def count(self, reach: Reach, filter: Filter) -> int:
        now = self._clock()
        return await self._read(lambda connection: selecting.count(connection, reach, filter, now), brief=True)

    async def users(self, tenant: str) -> dict[str | None, int]:
        now = self._clock()
        return await self._read(lambda connection: selecting.users(connection, tenant, now))

    async def tenants(self) -> list[str]:
        def work(connection: apsw.Connection) -> list[str]:
            rows = connection.execute(
                "SELECT DISTINCT tenant FROM walls WHERE EXISTS"
                f" (SELECT 1 FROM records WHERE wall = walls.id AND {ALIVE}) ORDER BY tenant",
                (to_micros(self._clock()),),
            )
            return [tenant for (tenant,) in rows]

        return await self._read(work)

    async def history(self, wall: Wall, id: str) -> list[Change]:
        def work(connection: apsw.Connection) -> list[Change]:
            row = (writes.find_wall(connection, wall), id)
            rows = query_all(
                connection,
                "SELECT action, at, source, before FROM changes WHERE wall = ? AND id = ? ORDER BY epoch",
                row,
            )
            now_there = query_one(connection, f"SELECT {COLUMNS} FROM records WHERE wall = ? AND id = ?", row)
            present = None if now_there is None else record_of(now_there, wall)
            return history_of(id, rows, partial(record_of, wall=wall), present, self._clock())

        return await self._read(work)

    async def walls(self) -> list[Wall]:
        def work(connection: apsw.Connection) -> list[Wall]:
            rows = connection.execute(
                "SELECT tenant, user FROM walls WHERE EXISTS (SELECT 1 FROM changes WHERE wall = walls.id)"
                " ORDER BY tenant, user"
            )
            return [Wall(tenant, user or None) for tenant, user in rows]

        return await self._read(work)

    async def log(self, wall: Wall) -> list[str]:
        def work(connection: apsw.Connection) -> list[str]:
            query = "SELECT epoch, id FROM changes WHERE wall = ?"
            return [id for _, id in sorted(query_all(connection, query, (writes.find_wall(connection, wall),)))]

        return await self._read(work)

    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        # Most calls find nothing new, in some microseconds: less than waking up a worker.
        _, current, latest = self._connections.read(lambda connection: state_of(connection, wall))
        if current == generation and latest == epoch:
            return Entries(current, epoch, [], [])
        return await self._read(lambda connection: entries_since(connection, wall, generation, epoch))

    async def matching(self, wall: Wall, filter: Filter) -> NDArray[np.int64]:
        condition, bindings = sql_of(filter, self._clock())

        def work(connection: apsw.Connection) -> NDArray[np.int64]:
            wall_id = writes.find_wall(connection, wall)
            query = f"SELECT number FROM records WHERE wall = ? AND {condition}"
            return np.fromiter((row[0] for row in connection.execute(query, (wall_id, *bindings))), np.int64)

        return await self._read(work)

    async def vectors(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Vector]:
        def work(connection: apsw.Connection) -> dict[int, Vector]:
            rows = rows_in(connection, wall, "number", "number, vector", numbers, table="indexed")
            return {number: np.frombuffer(blob, np.float32) for number, blob in rows if blob is not None}

        return await self._read(work, brief=len(numbers) <= _BRIEF_ROWS)

    async def search_words(self, wall: Wall, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        return await self._read(
            lambda connection: candidates.search_words(connection, writes.find_wall(connection, wall), terms, limit)
        )

    async def outline(self, wall: Wall, largest: int) -> Outline | None:
        def work(connection: apsw.Connection) -> Outline | None:
            wall_id, generation, epoch = state_of(connection, wall)
            known, since = self._outlines.get(wall, (None, 0))
            if known is None or known.generation != generation or epoch - since > known.rows * _OUTDATED:
                if not candidates.has_more(connection, wall_id, largest):
                    return None
                known = candidates.outline_of(connection, wall_id, generation)
                self._outlines.pop(wall, None)
                self._outlines[wall] = known, epoch
                for old in list(self._outlines)[:-_MOST_OUTLINES]:
                    self._outlines.pop(old, None)
            return known if known.rows > largest else None

        return await self._read(work)

    async def candidates(self, wall: Wall, wanted: Wanted) -> Candidates:
        passing = sql_of(wanted.filter, self._clock())

        def work(connection: apsw.Connection) -> Candidates:
            with connection:  # one snapshot
                found = candidates.candidates_of(connection, writes.find_wall(connection, wall), wanted, passing)
            return found

        return await self._read(work)

    async def sweep(self, now: datetime, tenant: str | None = None, *, act: Act | None = None) -> int:
        due = f"SELECT EXISTS (SELECT 1 FROM {writes.EXPIRING} WHERE {writes.EXPIRED})"
        values = (to_micros(now), tenant)
        if not await self._read(lambda connection: connection.execute(due, values).get, brief=True):
            return 0

        def work(connection: apsw.Connection) -> int:
            dropped = writes.Dropped()
            removed = writes.remove_expired(connection, now, tenant, dropped)
            self._note(connection, act, Action.EXPIRED, removed)
            self._note(connection, act, Action.FORGOTTEN, dropped)
            return sum(kinds.total() for kinds in removed.values())

        return await self._write(work)

    async def purge(self, wall: Wall, *more: Wall, act: Act | None = None) -> Counter[str]:
        def withdrawn(connection: apsw.Connection, each: Wall) -> Counter[str]:
            wall_id = writes.find_wall(connection, each)
            dropped = writes.Dropped()
            removed = purging.withdraw(connection, each, self._clock(), dropped)
            counts = Counts({("purged", kind): count for kind, count in removed.items()})
            noted = (counts or None) if each is wall else counts  # of the wall that was named, even if it was empty
            auditing.append(connection, act, self._clock, each.tenant, wall_id, noted)
            self._note(connection, act, Action.FORGOTTEN, dropped)
            return removed

        def work(connection: apsw.Connection) -> Counter[str]:
            for each in more:
                withdrawn(connection, each)
            return withdrawn(connection, wall)

        purger = self._purger
        count = await self._write(work)
        await self._finish(purger, wall, *more)
        return count

    async def scrub(self, *walls: Wall) -> None:
        purger = self._purger
        await self._write(purging.withdraw_nothing)
        await self._finish(purger, *walls)

    async def _finish(self, purger: purging.Purger, *walls: Wall) -> None:
        for each in walls:
            self._outlines.pop(each, None)
        await purger.finish()

    async def search(self, wall: Wall, texts: Sequence[str]) -> Search:
        encrypted = self._key is not None
        return await self._read(
            lambda connection: searching.search(connection, self.path, wall, texts, encrypted=encrypted)
        )

    async def backup(self, target: Path) -> None:
        checked_database(target)
        if self.path is None:
            if self._key is not None:
                raise StoreError(
                    "an in-memory database has no key, so its copy cannot be encrypted; open a file instead"
                )
            await self._write(lambda connection: copy_to(connection, target), alone=True)
        else:
            await self._read(lambda connection: copy_to(connection, target, self._key))

    async def check(self) -> list[str]:
        # A connection that checked before holds FTS5's list of segments of then: those merged since would seem damaged.
        return await asyncio.wrap_future(self._connections.submit_read(damage, apart=True))

    async def fingerprint(self) -> str | None:
        query = "SELECT value FROM meta WHERE name = 'fingerprint'"
        return await self._read(lambda connection: connection.execute(query).get, brief=True)

    async def dimensions(self) -> int | None:
        query = "SELECT value FROM meta WHERE name = 'dimensions'"
        found = await self._read(lambda connection: connection.execute(query).get)
        return None if found is None else int(found)

    async def bind(self, fingerprint: str, dimensions: int) -> None:
        if self._bound == fingerprint:
            return

        def work(connection: apsw.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('fingerprint', ?)", (fingerprint,))
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('dimensions', ?)", (str(dimensions),))
            writes.check_embedder(connection, fingerprint, dimensions)

        await self._write(work)
        self._bound = fingerprint

    async def unembedded(self, limit: int) -> list[tuple[int, int, Record]]:
        return await self._read(lambda connection: reindexing.unembedded(connection, limit))

    async def count_unembedded(self) -> int:
        query = "SELECT count(*) FROM indexed WHERE vector IS NULL"
        return await self._read(lambda connection: int(connection.execute(query).get))

    async def fill(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self._write(lambda connection: reindexing.fill(connection, fingerprint, rows))

    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        return await self._write(lambda connection: reindexing.missing(connection, fingerprint, limit))

    async def left_to_reembed(self, fingerprint: str) -> int:
        return await self._read(lambda connection: reindexing.count_missing(connection, fingerprint))

    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self._write(lambda connection: reindexing.stage(connection, fingerprint, rows))

    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        done = await self._write(lambda connection: reindexing.adopt(connection, fingerprint, dimensions))
        if done:
            self._bound = fingerprint
        return done
