"""Work that finishes before its caller's cancellation takes effect."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

_T = TypeVar("_T")


async def settled(work: Awaitable[_T]) -> _T:
    """Wait until `work` has succeeded or failed, also when the caller is cancelled, so that it can undo the work."""
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
