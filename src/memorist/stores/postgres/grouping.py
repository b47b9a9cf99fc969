"""Group commit: writes behind one wall that wait for each other share one transaction.

The wall's lock lets one transaction at a time write behind it, and each ends with a flush of the server's disk. So
while one is under way, the calls that come are collected, and the next transaction carries them all out.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from memorist.errors import ConflictError, EmbedderMismatchError, MemoristError
from memorist.scope import Wall
from memorist.stores.base import Write
from memorist.stores.postgres.libpq import is_lost

__all__ = ["Grouping", "Outcome", "Run"]

_MOST = 2000
"""Writes in one transaction; a call of more has one for itself."""
Outcome: TypeAlias = list[bool] | ConflictError | EmbedderMismatchError
Run: TypeAlias = Callable[[Wall, Sequence[Sequence[Write]]], Awaitable[list[Outcome]]]
"""Carries out the writes of several calls in one transaction; a call that is refused changes nothing."""


@dataclass(slots=True)
class _Call:
    writes: Sequence[Write]
    done: asyncio.Future[list[bool]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, outcome: list[bool] | BaseException) -> None:
        if self.done.done():
            return
        if isinstance(outcome, BaseException):
            self.done.set_exception(outcome)
        else:
            self.done.set_result(outcome)


class Grouping:
    """Collects calls on one event loop, and runs them wall by wall."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: dict[Wall, deque[_Call]] = {}
        self._leaders: set[asyncio.Task[None]] = set()

    async def write(self, wall: Wall, writes: Sequence[Write]) -> list[bool]:
        """Return what `Store.write` does, once the transaction is committed that carried the writes out."""
        call = _Call(writes)
        waiting = self._waiting.get(wall)
        if waiting is not None:
            waiting.append(call)
        else:
            self._waiting[wall] = deque([call])
            leader = asyncio.ensure_future(self._lead(wall))
            self._leaders.add(leader)
            leader.add_done_callback(self._leaders.discard)
        return await call.done

    async def _lead(self, wall: Wall) -> None:
        """Run what waits behind a wall until nothing does."""
        waiting = self._waiting[wall]
        while waiting:
            calls = [waiting.popleft()]
            size = len(calls[0].writes)
            while waiting and size + len(waiting[0].writes) <= _MOST:
                calls.append(waiting.popleft())
                size += len(calls[-1].writes)
            await self._together(wall, calls)
        del self._waiting[wall]

    async def _together(self, wall: Wall, calls: Sequence[_Call]) -> None:
        try:
            outcomes: Sequence[Outcome | BaseException] = await self._run(wall, [call.writes for call in calls])
        except BaseException as error:
            if len(calls) > 1 and not isinstance(error, MemoristError) and not is_lost(error):
                for call in calls:  # one of them holds what the database does not take; it must not harm the others
                    await self._together(wall, [call])
                return
            outcomes = [error] * len(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            call.settle(outcome)
