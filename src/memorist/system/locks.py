"""A lock for tasks of several event loops; `asyncio.Lock` is for those of one."""

import asyncio
import threading
from concurrent.futures import Future


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
            await asyncio.shield(asyncio.wrap_future(before))
        except BaseException:  # cancelled: the next task in the queue now waits for the task before this one
            before.add_done_callback(lambda _: mine.set_result(None))
            raise
        self._held = mine

    async def __aexit__(self, *raised: object) -> None:
        self._held.set_result(None)
