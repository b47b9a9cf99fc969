"""A pool of connections with its own event loop, for callers on any thread and any loop.

Every statement runs in a transaction that first names its wall: row-level security needs that, and it works with a
pooler in transaction mode. After a lost connection, the server is asked whether the commit took effect: a call that
returns has its records on the server's disk, and one that raises has stored nothing, unless the error says otherwise.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, TypeVar

from memorist.errors import ClosedError, StoreUnavailableError
from memorist.records.scope import Reach
from memorist.stores.postgres.libpq import Connection, fetched, is_direct, is_lost, is_unprepared, translated
from memorist.stores.postgres.options import PostgresOptions
from memorist.stores.postgres.pool import Pool, persist
from memorist.stores.postgres.preparing import prepare
from memorist.stores.postgres.schema import asked_version, check_version

_T = TypeVar("_T")
Query: TypeAlias = tuple[str, Sequence[Any]]
Rows: TypeAlias = list[tuple[Any, ...]]
EVERYTHING = Reach("", None)
"""The records of every tenant; only for maintenance."""
_ATTEMPTS = 5
"""The most attempts of a call over new connections: a server may restart several times in a row."""
_SETTINGS = (
    "SELECT set_config('memorist.tenant', %s, true), set_config('memorist.users', %s, true),"
    " set_config('memorist.everything', %s, true), set_config('lock_timeout', %s, true),"
    " set_config('synchronous_commit', %s, true)"
)
Settled: TypeAlias = Callable[[Connection], Awaitable[bool]]
"""Returns, over a new connection, whether a write with an unknown outcome took effect."""


class Connections:
    """The connections of one process to a database. `connect` opens them, `close` ends them."""

    def __init__(self, options: PostgresOptions) -> None:
        self.options = options
        self._loop = asyncio.SelectorEventLoop()  # psycopg takes no other on Windows
        self._thread = threading.Thread(target=self._loop.run_forever, name="memorist-postgres", daemon=True)
        self._pool: Pool | None = None
        self._prepare = options.prepare_threshold
        self._commit = ""
        self._process = os.getpid()
        self._gate = threading.Lock()
        self._closed = False
        self._running: set[asyncio.Task[Any]] = set()

    # --- from outside, on any thread and loop ----------------------------------------------------------

    async def connect(self) -> None:
        """Check the server and its tables, migrate what is old, open the pool; raises as `preparing.prepare`.

        While the server is away, this waits for it as a call does.
        """
        self._thread.start()
        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._tracked(self._connect), self._loop))
        except BaseException:
            await self.close()
            raise

    async def run(self, work: Callable[[], Coroutine[Any, Any, _T]], *, whole: bool = False) -> _T:
        """Run work on the pool's loop. `whole` work continues when its caller is cancelled."""
        with self._gate:
            if self._closed:
                raise ClosedError("the store is closed")
            if self._process != os.getpid():
                raise ClosedError("the store was opened before this process was forked; open it again in the child")
            future = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop))
        return await (asyncio.shield(future) if whole else future)

    async def close(self) -> None:
        """Finish pending work and close every connection."""
        with self._gate:
            if self._closed or self._process != os.getpid():
                return
            self._closed = True
        await asyncio.to_thread(self._end)  # continues when its caller is cancelled

    def _end(self) -> None:
        async def finish() -> None:
            mine = asyncio.current_task()
            while others := [task for task in self._running if task is not mine]:
                await asyncio.wait(others)
            if self._pool is not None:
                await self._pool.close()

        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(finish(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()

    # --- on the pool's own loop ------------------------------------------------------------------------

    async def _tracked(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            with translated(self.options.shown):
                return await work()
        finally:
            self._running.discard(task)

    async def _connect(self) -> None:
        import psycopg
        from pgvector.psycopg import register_vector_async

        timeout = max(2, int(self.options.busy_timeout))

        async def plain() -> Connection:
            return await psycopg.AsyncConnection.connect(
                self.options.conninfo, autocommit=True, connect_timeout=timeout, prepare_threshold=None
            )

        async def connected() -> Connection:
            connection = await plain()
            try:
                await register_vector_async(connection)
                if not await is_direct(connection):
                    self._prepare = None  # clients of a pooler may give different statements the same name
            except BaseException:
                await connection.close()
                raise
            return connection

        async def prepared() -> None:
            async with await plain() as first:
                await first.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
                await prepare(first, self.options)
                [(setting,)] = await fetched(first, "SHOW synchronous_commit")
                self._commit = "on" if setting == "off" else setting  # a commit waits for the disk in any case

        await persist(prepared, time.monotonic() + self.options.busy_timeout)
        self._pool = Pool(connected, self.options.pool_size, self.options.busy_timeout, self.options.shown)

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Connection]:
        """Lend a connection outside of any transaction; it is returned in that state, or closed."""
        assert self._pool is not None
        connection = await self._pool.take()
        connection.prepare_threshold = self._prepare
        try:
            yield connection
        except BaseException:
            if not connection.closed:
                with suppress(Exception):
                    await connection.rollback()
            if connection.pgconn.pipeline_status:  # cancelled within a transaction, which is then left open
                await connection.close()
            raise
        finally:
            await self._pool.give_back(connection)

    async def _attempts(self, attempt: Callable[[Connection], Awaitable[_T]]) -> _T:
        """Run an attempt that changes nothing when it fails; retry it if the connection failed."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                async with self._lent() as connection:
                    return await attempt(connection)
            except Exception as error:
                if left == 0 or not await self._to_repeat(error):
                    raise
        raise AssertionError("unreachable")

    async def _to_repeat(self, error: Exception) -> bool:
        if is_lost(error):
            if self._pool is None:
                return True
            gave_up = error is self._pool.away  # the pool has tried for as long as a call may wait
            await self._pool.discard()
            return not gave_up
        if is_unprepared(error):
            self._prepare = None
            return True
        return False

    async def _begin(self, connection: Connection, reach: Reach, how: str = "ISOLATION LEVEL READ COMMITTED") -> None:
        """Begin a transaction; by default one in which a statement after a lock sees earlier commits of others."""
        users = None if reach.users is None else [user or "" for user in reach.users]
        everything = "on" if reach is EVERYTHING else "off"
        timeout = str(max(1, int(self.options.busy_timeout * 1000)))
        await connection.execute(f"BEGIN {how}".encode())
        await connection.execute(
            _SETTINGS, (reach.tenant, json.dumps(users, ensure_ascii=False), everything, timeout, self._commit)
        )

    async def read(self, reach: Reach, *queries: Query, before: Sequence[str] = ()) -> list[Rows]:
        """Return the rows of each query from one snapshot, in one round trip; `before` are statements to run first."""

        async def attempt(connection: Connection) -> list[Rows]:
            async with connection.pipeline():
                await self._begin(connection, reach, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
                for statement in before:
                    await connection.execute(statement.encode())
                cursors = [await connection.execute(query.encode(), values, binary=True) for query, values in queries]
                await connection.execute("COMMIT")
            return [await cursor.fetchall() for cursor in cursors]

        return await self._attempts(attempt)

    async def write(self, reach: Reach, work: Callable[[Connection], Awaitable[tuple[_T, Settled | None]]]) -> _T:
        """Run `work` in a transaction, commit it, and return the first of its values.

        Its statements are pipelined until it needs a result. If the connection is lost before the commit was sent,
        nothing is stored and the work is retried. If it is lost during the commit, the second value finds out the
        outcome; if that is None, the work may be done twice.
        """
        for left in reversed(range(_ATTEMPTS)):
            committing, value, settled = False, None, None
            try:
                async with self._lent() as connection:
                    async with connection.pipeline():
                        await self._begin(connection, reach)
                        version = await asked_version(connection, self.options.schema)
                        value, settled = await work(connection)
                        await check_version(version, self.options.shown)  # came with the first result, so in no time
                        committing = True
                        await connection.execute("COMMIT")
                    return value
            except Exception as error:
                if not await self._to_repeat(error):
                    raise
                if committing and settled is not None and await self._took_effect(reach, settled):
                    return value  # type: ignore[return-value]
                if left == 0:
                    raise
        raise AssertionError("unreachable")

    async def snapshot(self, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        """Run a long read of everything in one snapshot."""
        async with self._lent() as connection:
            await self._begin(connection, EVERYTHING, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
            value = await work(connection)
            await connection.execute("COMMIT")
            return value

    async def _took_effect(self, reach: Reach, settled: Settled) -> bool:
        """Ask the server whether a write with an unknown outcome is stored."""

        async def attempt(connection: Connection) -> bool:
            await self._begin(connection, reach)
            done = await settled(connection)
            await connection.execute("COMMIT")
            return done

        try:
            with translated(self.options.shown):
                return await self._attempts(attempt)
        except Exception as error:
            raise StoreUnavailableError(
                f"the connection to {self.options.shown} was lost while a write was being committed: it was stored "
                "completely or not at all; read it back, or repeat it with your own ids and if_exists='ignore'"
            ) from error

    async def outside(self, *statements: str) -> None:
        """Run statements outside of any transaction, as VACUUM requires."""

        async def attempt(connection: Connection) -> None:
            for statement in statements:
                await connection.execute(statement.encode())

        await self._attempts(attempt)
