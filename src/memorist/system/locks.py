"""A lock for tasks of several event loops; `asyncio.Lock` is for those of one."""

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future
from weakref import WeakValueDictionary


class Lock:
    """A lock that tasks in any thread, on any event loop, wait for in the order in which they came.

    ```python
    async with lock:
        ...
    ```
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._last: Future[None] = Future()
        """Done when the last task in the queue has released the lock."""
        self._last.set_result(None)
        self._held = self._last

    async def __aenter__(self) -> None:
        mine: Future[None] = Future()
        with self._guard:
            before, self._last = self._last, mine
        try:
            if not before.done():
                await asyncio.shield(asyncio.wrap_future(before))
        except BaseException:  # cancelled: the next task in the queue now waits for the task before this one
            before.add_done_callback(lambda _: mine.set_result(None))
            raise
        self._held = mine

    async def __aexit__(self, *raised: object) -> None:
        self._held.set_result(None)


class Locks:
    """A `Lock` for each name, for as long as a task uses it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[Hashable, Lock] = WeakValueDictionary()

    def of(self, name: Hashable) -> Lock:
        """Return the lock of a name."""
        with self._guard:
            return self._locks.setdefault(name, Lock())

    def used(self) -> list[Lock]:
        """Return the locks that tasks use now."""
        with self._guard:
            return [*self._locks.values()]
