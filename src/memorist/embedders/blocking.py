"""A base class for embedders that block: they run in threads, so that they never block an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from numpy.typing import ArrayLike

from memorist.embedders.base import Embedder, Role, Vectors, embed_checked
from memorist.errors import EmbedderError

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """A thread pool that starts with its first job and survives a fork."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._closed = False
        self._lock = threading.Lock()

    def submit(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run `call` in a thread.

        Raises:
            EmbedderError: The pool was closed.
        """
        with self._lock:
            if self._closed:
                raise EmbedderError("this embedder is closed; open a new one")
            # A forked child inherits the pool but none of its threads: a job given to it would wait forever.
            if self._pool is None or self._process != os.getpid():
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="memorist-embedder")
                self._process = os.getpid()
            return self._pool.submit(call, *args, **kwargs)

    def close(self) -> None:
        """Drop the jobs that have not started; running jobs finish. Idempotent."""
        with self._lock:
            self._closed = True
            if self._pool is not None and self._process == os.getpid():
                self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class BlockingEmbedder(Embedder):
    """An embedder written as two blocking methods, usable from several event loops and threads at once.

    Args:
        name: The embedder's name in errors.
        threads: How many calls of `_encode` may run at once.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self.name = name
        self._workers = Workers(threads)
        self._loaded = False
        self._load_lock = threading.Lock()

    @abstractmethod
    def _load(self) -> None:
        """Set `dimensions` and `fingerprint`. Called once, in a thread, and again only if it raised."""

    @abstractmethod
    def _encode(self, texts: list[str], role: Role) -> ArrayLike:
        """Return vectors for texts, none of them blank. Called in a thread, after `_load`."""

    async def ready(self) -> None:
        if not self._loaded:
            await self._in_thread(self._load_once)

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        await self.ready()
        return await embed_checked(lambda kept: self._encode_all(kept, role), texts, self.dimensions, self.name)

    async def close(self) -> None:
        self._workers.close()

    async def _encode_all(self, texts: list[str], role: Role) -> ArrayLike:
        return await self._in_thread(self._encode, texts, role)

    async def _in_thread(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._workers.submit(call, *args, **kwargs))

    def _load_once(self) -> None:
        with self._load_lock:
            if not self._loaded:
                self._load()
                self._loaded = True
