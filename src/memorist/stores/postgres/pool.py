"""A pool of connections that recovers as soon as its server does.

Each caller that needs a connection opens it and retries until the server is back, without a back-off. When a
connection is lost, all those made before it are removed from the pool.

psycopg_pool is not used: it opens connections in the background, waits 1, 2, 4, … seconds between its attempts, keeps
other lost connections until they are lent, and its time-out does not tell a server that is away from a full pool.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from memorist.errors import StoreBusyError
from memorist.stores.postgres.libpq import Connection, may_come_back

_T = TypeVar("_T")
_FRESH = 30.0
"""Seconds after which an unused connection is tested before it is lent."""
_IDLE = 600.0
"""Seconds after which an unused connection is closed."""
_PAUSE = 0.1
"""Seconds between two attempts to connect."""


class Pool:
    """Up to `size` connections, on one event loop.

    Args:
        connect: opens a connection, outside of any transaction.
        size: the most connections at a time.
        timeout: seconds to wait for a connection.
        shown: the database, as errors may show it.

    Attributes:
        away: the error of the last attempt to connect, None if it succeeded.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int, timeout: float, shown: str) -> None:
        self._connect = connect
        self._timeout = timeout
        self._shown = shown
        self._turns = asyncio.Semaphore(size)
        self._idle: list[tuple[float, Connection]] = []
        self.away: Exception | None = None

    async def take(self) -> Connection:
        """Return a connection, to be returned with `give_back`.

        Raises:
            StoreBusyError: all connections stayed in use until the time-out.
            psycopg.OperationalError: the server could not be reached until the time-out, or refuses this client.
        """
        deadline = time.monotonic() + self._timeout
        try:
            async with asyncio.timeout(self._timeout):
                await self._turns.acquire()
        except TimeoutError:
            if self.away is not None:
                raise self.away from None
            raise StoreBusyError(
                f"every connection to {self._shown} was in use for too long; try again, or raise pool_size in its URL"
            ) from None
        try:
            idle = await self._taken()
            return await persist(self._attempt, deadline) if idle is None else idle
        except BaseException:
            self._turns.release()
            raise

    async def _taken(self) -> Connection | None:
        """Return the most recently used idle connection that still answers."""
        while self._idle:
            used, connection = self._idle.pop()
            try:
                if time.monotonic() - used > _FRESH:
                    await connection.execute("")
            except BaseException as error:
                await _close(connection)
                if not isinstance(error, Exception):  # the caller is cancelled
                    raise
            if not connection.closed:
                return connection
        return None

    async def _attempt(self) -> Connection:
        try:
            connection = await self._connect()
        except Exception as error:
            self.away = error
            raise
        self.away = None
        return connection

    async def give_back(self, connection: Connection) -> None:
        """Take a connection back, and close it if it is no longer usable."""
        from psycopg.pq import TransactionStatus

        try:
            moment = time.monotonic()
            if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
                await _close(connection)
            else:
                self._idle.append((moment, connection))
            while self._idle and moment - self._idle[0][0] > _IDLE:
                await _close(self._idle.pop(0)[1])
        finally:
            self._turns.release()

    async def discard(self) -> None:
        """Close the idle connections: another was lost, so these may be lost as well."""
        while self._idle:
            await _close(self._idle.pop()[1])

    close = discard


async def persist(attempt: Callable[[], Awaitable[_T]], deadline: float) -> _T:
    """Return the outcome of an attempt, which is repeated until the deadline while the server is away."""
    while True:
        try:
            return await attempt()
        except Exception as error:
            if time.monotonic() + _PAUSE > deadline or not may_come_back(error):
                raise
            await asyncio.sleep(_PAUSE)


async def _close(connection: Connection) -> None:
    with suppress(Exception):
        await connection.close()
