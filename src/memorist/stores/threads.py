"""Work that finishes before its caller's cancellation takes effect."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

_T = TypeVar("_T")


async def to_the_end(work: Callable[[], _T]) -> _T:
    """Run blocking work on a thread. When cancelled, wait for it to finish, so that the caller can undo it."""
    return await settled(asyncio.to_thread(work))


async def settled(work: Awaitable[_T]) -> _T:
    """Wait until `work` has succeeded or failed, also when the caller is cancelled meanwhile."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():  # the caller may be cancelled several times
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # retrieve the exception, so that asyncio does not log it
        raise
