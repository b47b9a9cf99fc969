"""Blocking work on a thread that finishes before its caller's cancellation takes effect."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["to_the_end"]

_T = TypeVar("_T")


async def to_the_end(work: Callable[[], _T]) -> _T:
    """Run blocking work on a thread. When cancelled, wait for it to finish, so that the caller can undo it."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():  # some cancel again and again
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        raise
