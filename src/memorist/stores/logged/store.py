"""A store on a back end that has no transactions: `LoggedStore`."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from memorist.errors import ClosedError, EmbedderMismatchError
from memorist.records import Action, Change, Record
from memorist.scope import Wall
from memorist.stores.base import Put, Staged, Write
from memorist.stores.logged.copying import copy_to
from memorist.stores.logged.database import Database
from memorist.stores.logged.places import Place, share
from memorist.stores.logged.plans import Plan
from memorist.stores.logged.reindexing import Reindexing
from memorist.stores.logged.rows import load, row_id
from memorist.stores.logged.tables import Backend
from memorist.stores.plain import Source, ViewStore
from memorist.stores.threads import to_the_end
from memorist.times import from_micros, now, to_micros

__all__ = ["LoggedStore"]

_T = TypeVar("_T")


class LoggedStore(ViewStore):
    """Records in the tables ``NAME-records``, ``-vectors-N``, ``-changes`` and ``-log`` of a back end.

    A write is one row of the log before it is anything else, so it is stored whole or not at all, also when
    the process is killed in its middle: who opens the store next finishes it. What is weaker than SQLite:

    - A folder is for one process at a time; a second one is told so when it opens. For several there is a server.
    - On a server the writes of several processes never mix and none is lost. But if one of them stands still for
      longer than `busy_timeout` within a write and then goes on, it can put an older version over a newer one.
    - Where the connection breaks just as a write is logged, it may be stored although it raised; the error says so.
    - The records behind every wall that is asked are held in memory, without their vectors, and calls wait for
      one another.
    - A purge deletes the rows and what was logged of them; whether the back end's own files then hold no byte of it
      depends on the back end.
    - A vector comes back to within the last bit of a float: the back end makes it of unit length once more.

    Args:
        place: a folder, a server's URL ("http://host:port"), or None for this process's memory.
        collection: what the names of the tables begin with.
        busy_timeout: how long another process may take for a write before it is taken for dead, in seconds.
    """

    def __init__(self, place: Place, *, collection: str, busy_timeout: float) -> None:
        self.place = place
        self.collection = collection
        self._busy_timeout = busy_timeout
        self._database: Database | None = None
        self._release: Callable[[], None] = lambda: None
        self._bound: str | None = None
        self._reindex: Reindexing | None = None

    @abstractmethod
    def _backend(self) -> Backend:
        """Return the back end, not connected yet."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.place or ':memory:')!r})"

    async def open(self) -> None:
        def work() -> None:
            if self._database is None:
                key = (type(self), self.place.resolve(), self.collection) if isinstance(self.place, Path) else None
                self._database, self._release = share(key, lambda: Database(self._backend(), self._busy_timeout))

        await to_the_end(work)

    def _reindexing(self, database: Database) -> Reindexing:
        if self._reindex is None or self._reindex.database is not database:
            self._reindex = Reindexing(database)
        return self._reindex

    async def close(self) -> None:
        self._database, release = None, self._release
        self._release = lambda: None
        await asyncio.to_thread(release)

    async def _run(self, work: Callable[[Database], _T]) -> _T:
        """Run `work` on what is stored now, alone."""
        database = self._database
        if database is None:
            raise ClosedError("the store is not open")

        def locked() -> _T:
            with database.lock, database.backend.translated():
                if self._database is None:
                    raise ClosedError("the store is not open")
                database.catch_up()
                return work(database)

        return await asyncio.to_thread(locked)

    async def _read(self, work: Callable[[Source], _T]) -> _T:
        return await self._run(work)

    async def _change(self, work: Callable[[Database, Plan], _T]) -> _T:
        """Commit what `work` plans; plan anew where another process came between."""

        def until_committed(database: Database) -> _T:
            while True:
                plan = database.plan()
                result = work(database, plan)
                if not plan.effects or database.commit(plan):
                    return result
                database.catch_up()

        return await self._run(until_committed)

    # --- writing -----------------------------------------------------------------------------------------

    async def write(self, wall: Wall, writes: Sequence[Write]) -> list[bool]:
        def work(database: Database, plan: Plan) -> list[bool]:
            if any(isinstance(each, Put) and each.vector is not None for each in writes):
                self._check_fingerprint(database)
            return plan.write(database.view(wall), writes)

        return await self._change(work)

    def _check_fingerprint(self, database: Database) -> None:
        stored = database.state.get("fingerprint")
        if stored != self._bound:
            raise EmbedderMismatchError(
                f"the store now holds vectors of the embedder {stored!r}, not of {self._bound!r}; "
                "open it again with that embedder, or run: memorist reindex"
            )

    async def sweep(self, now: datetime) -> int:
        def work(database: Database, plan: Plan) -> int:
            over = database.expired(to_micros(now))
            return sum(plan.expire(database.view(row.record.scope.wall), row.record.id, now) for row in over)

        return await self._change(work)

    async def purge(self, wall: Wall) -> int:
        def work(database: Database, plan: Plan) -> int:
            view = database.view(wall)
            plan.purge(view)
            return len(view.rows)

        count = await self._change(work)
        await self._run(lambda database: database.backend.wipe())
        return count

    async def bind(self, fingerprint: str, dimensions: int) -> None:
        if self._bound == fingerprint and self._database is not None:
            return

        def work(database: Database, plan: Plan) -> None:
            if database.state.get("fingerprint") is None:
                plan.effects.state = {"fingerprint": fingerprint, "dimensions": dimensions}
            elif database.state["fingerprint"] != fingerprint:
                raise EmbedderMismatchError(
                    f"the store holds vectors of the embedder {database.state['fingerprint']!r}, "
                    f"not of {fingerprint!r}; open it with that embedder, or run: memorist reindex"
                )

        await self._change(work)
        self._bound = fingerprint

    # --- reading, beside what a `ViewStore` does ---------------------------------------------------------

    async def history(self, wall: Wall, id: str) -> list[Change]:
        def work(database: Database) -> list[Change]:
            found = database.changes.scan(("record", "=", row_id(wall, id)))
            changes = sorted(found.values(), key=lambda change: change["epoch"])
            row = database.view(wall).rows.get(id)
            over = row is not None and not row.alive(now())  # then as it will be after the next sweep
            before = [None if over else load(change.get("before"), wall) for change in changes[1:]]
            after = [*before, None if row is None or over else row.record]
            return [
                Change(id, Action(change["action"]), from_micros(change["at"]), change.get("source"), record)
                for change, record in zip(changes, after, strict=False)
            ]

        return await self._run(work)

    async def backup(self, target: Path) -> None:
        await copy_to(target, self._run)

    # --- the embedder ------------------------------------------------------------------------------------

    async def fingerprint(self) -> str | None:
        def work(database: Database) -> str | None:
            stored: str | None = database.state.get("fingerprint")
            return stored

        return await self._run(work)

    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        return await self._run(lambda database: self._reindexing(database).missing(fingerprint, limit))

    async def left_to_reembed(self, fingerprint: str) -> int:
        return await self._run(lambda database: self._reindexing(database).count_missing(fingerprint))

    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self._run(lambda database: self._reindexing(database).stage(fingerprint, rows))

    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        done = await self._run(lambda database: self._reindexing(database).adopt(fingerprint, dimensions))
        if done:
            self._bound = fingerprint
        return done
