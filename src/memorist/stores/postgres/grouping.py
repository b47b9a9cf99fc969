"""Group commit: calls that come while others are under way share a transaction with one another.

A transaction ends with a flush of the server's disk, and a wall's lock lets one at a time write behind the wall. So
each tenant's calls are collected while `_LANES` transactions are under way, and the next one carries them all out.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from memorist.audit.log import Act
from memorist.errors import ConflictError, EmbedderMismatchError, MemoristError
from memorist.records.scope import Wall
from memorist.stores.base import Write
from memorist.stores.postgres.libpq import has_waited, is_lost

_LANES = 2
"""Transactions of a tenant's calls at a time: one is prepared while the other waits for the disk."""
_MOST_WRITES = 2000
"""Writes in one transaction; a call of more has one for itself."""


@dataclass(slots=True, eq=False)
class Call:
    """The writes of one call behind a wall, to be carried out all or none."""

    wall: Wall
    writes: Sequence[Write]
    act: Act | None
    done: asyncio.Future[list[bool]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def settle(self, outcome: list[bool] | BaseException) -> None:
        """Answer the caller."""
        if self.done.done():
            return
        if isinstance(outcome, BaseException):
            self.done.set_exception(outcome)
        else:
            self.done.set_result(outcome)


Outcome: TypeAlias = list[bool] | ConflictError | EmbedderMismatchError | None
"""What each write did, or why the call was refused; None if another process writes behind the call's wall."""
Run: TypeAlias = Callable[[Sequence[Call]], Awaitable[list[Outcome]]]
"""Carries out calls of one tenant in one transaction. Calls behind one wall wait for its lock; among calls behind
several, those whose wall is locked are left out. A call that is refused or left out changes nothing."""


class Grouping:
    """Collects calls on one event loop, and runs them tenant by tenant; calls behind a wall run in their order."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: defaultdict[str, list[Call]] = defaultdict(list)
        self._lanes: Counter[str] = Counter()
        self._written: set[Wall] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def write(self, wall: Wall, writes: Sequence[Write], act: Act | None) -> list[bool]:
        """Return what `Store.write` does, once the transaction is committed that carried the writes out."""
        call = Call(wall, writes, act)
        self._waiting[wall.tenant].append(call)
        self._open_lane(wall.tenant)
        return await call.done

    def _open_lane(self, tenant: str) -> None:
        if self._lanes[tenant] < _LANES:
            self._lanes[tenant] += 1
            self._begin(self._lead(tenant))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _lead(self, tenant: str) -> None:
        """Run the waiting calls of a tenant until none of them may run."""
        while calls := self._take(tenant):
            await self._together(calls)
        self._lanes[tenant] -= 1
        for each in (self._lanes, self._waiting):
            if not each[tenant]:
                del each[tenant]

    def _take(self, tenant: str) -> list[Call]:
        """Return the next calls to run, without those behind a wall that is being written behind."""
        taken: list[Call] = []
        left: list[Call] = []
        closed, size = set(self._written), 0
        for call in self._waiting[tenant]:
            if call.wall in closed or (taken and size + len(call.writes) > _MOST_WRITES):
                closed.add(call.wall)  # later calls behind the same wall wait, too
                left.append(call)
            else:
                taken.append(call)
                size += len(call.writes)
        self._waiting[tenant] = left
        self._written.update(call.wall for call in taken)
        return taken

    async def _together(self, calls: Sequence[Call]) -> None:
        """Run calls and answer them, and let others write behind their walls."""
        locked: dict[Wall, list[Call]] = {}
        for call, outcome in zip(calls, await self._outcomes(calls), strict=True):
            if outcome is None:
                locked.setdefault(call.wall, []).append(call)
            else:
                call.settle(outcome)
        self._written.difference_update({call.wall for call in calls}.difference(locked))
        for waiting in locked.values():
            self._begin(self._by_itself(waiting))

    async def _by_itself(self, calls: Sequence[Call]) -> None:
        """Run calls behind one wall outside of the lanes: no other user's calls wait for another process's lock."""
        await self._together(calls)
        self._open_lane(calls[0].wall.tenant)

    async def _outcomes(self, calls: Sequence[Call]) -> Sequence[Outcome | BaseException]:
        try:
            return await self._run(calls)
        except BaseException as error:
            of_all = not isinstance(error, Exception) or isinstance(error, MemoristError)
            if len(calls) == 1 or of_all or is_lost(error) or has_waited(error):
                return [error] * len(calls)
        # One call holds data that the database refuses; this call must not harm the others.
        return [outcome for call in calls for outcome in await self._outcomes([call])]
