"""A wrapper that caches vectors and batches calls, so that an embedder gets few, full batches and no text twice."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from memorist.embedders.base import Embedder, Role, Vectors, embed_checked, embed_spoken
from memorist.errors import EmbedderError, EmbedderUnavailableError
from memorist.system.offload import offload

Key = bytes
"""The hash of a text and of the fingerprint that its vector has."""


class BatchedEmbedder(Embedder):
    """Wraps an embedder: caches vectors, embeds equal texts once, and batches concurrent calls.

    A call on an idle embedder runs at once; calls that arrive while it runs form the next batch. If a batch of
    several calls fails, each call is retried alone, so that one call's bad text does not fail another. A failed
    call leaves nothing in the cache. Cancelling a call does not affect the others. Documents and queries have
    separate queues, and long calls alternate with short ones.

    Usable from several event loops at once: each has its own queue, and all share the cache.

    Args:
        inner: The embedder; it is closed with this one.
        cache_size: The number of recently used vectors kept for each role; 0 for none. The cache holds hashes,
            not texts.
        batch_size: The most texts in one call of `inner`.
    """

    def __init__(self, inner: Embedder, *, cache_size: int = 4096, batch_size: int = 64) -> None:
        self.inner = inner
        self.dimensions = inner.dimensions
        self.fingerprint = inner.fingerprint
        self._batch_size = batch_size
        self._caches = {role: _Cache(cache_size) for role in Role}
        self._lanes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Role, _Lane]]
        self._lanes = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    async def ready(self) -> None:
        await self.inner.ready()
        self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint

    async def suits(self, fingerprint: str) -> bool:
        suits = await self.inner.suits(fingerprint)
        self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint
        return suits

    def moves(self, text: str) -> bool:
        return self.inner.moves(text)

    def keeps(self, fingerprint: str, text: str) -> bool:
        return self.inner.keeps(fingerprint, text)

    def newest(self) -> BatchedEmbedder:
        inner = self.inner.newest()
        return self if inner is self.inner else BatchedEmbedder(inner, batch_size=self._batch_size)

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        await self.ready()
        return await embed_spoken(lambda kept: self._embed(kept, role), texts, self.dimensions)

    async def close(self) -> None:
        for cache in self._caches.values():
            cache.clear()
        await self.inner.close()

    async def _embed(self, texts: list[str], role: Role) -> Vectors:
        rows = np.empty((len(texts), self.dimensions), np.float32)
        # One turn for each batch, so that other calls run between the batches of a long one.
        for start in range(0, len(texts), self._batch_size):
            turn = texts[start : start + self._batch_size]
            rows[start : start + len(turn)] = await self._turn(turn, role)
        return rows

    async def _turn(self, texts: list[str], role: Role) -> list[Vectors]:
        lane = self._lane(role)
        found: dict[Key, Vectors] = {}
        waiting: dict[Key, asyncio.Future[Vectors]] = {}
        call = _Call()
        # Of the fingerprint too: an embedder may come to suit other vectors while calls are under way.
        begun = hashlib.blake2b(self.fingerprint.encode(), digest_size=16)
        keys = await offload(lambda: [_hashed(begun, text) for text in texts], texts)
        for key, text in zip(keys, texts, strict=True):
            if key in found or key in waiting:
                continue
            row = self._caches[role].get(key)
            if row is not None:
                found[key] = row
            elif key in lane.flying:
                waiting[key] = lane.flying[key]
            else:
                waiting[key] = lane.flying[key] = call.add(key, text)
        if call.items:
            lane.calls.append(call)
            lane.run(self)
        if waiting:
            # Unlike gather, wait leaves the futures alone when this call is cancelled: others may share them.
            await asyncio.wait(waiting.values())
            found |= {key: future.result() for key, future in waiting.items()}
        return [found[key] for key in keys]

    def _lane(self, role: Role) -> _Lane:
        loop = asyncio.get_running_loop()
        with self._lock:
            return self._lanes.setdefault(loop, {}).setdefault(role, _Lane(role))

    async def _serve(self, calls: list[_Call], role: Role) -> None:
        """Embed the texts of some calls together and settle their futures."""
        items = [item for call in calls for item in call.items.items()]
        try:
            rows = await self._ask([text for _, (text, _) in items], role)
        except EmbedderError as error:
            if len(calls) > 1 and not isinstance(error, EmbedderUnavailableError):
                for call in calls:
                    await self._serve([call], role)
                return
            for _, (_, future) in items:
                future.set_exception(error)
            return
        for (key, (_, future)), row in zip(items, rows, strict=True):
            self._caches[role].put(key, row)
            future.set_result(row)

    async def _ask(self, texts: list[str], role: Role) -> Vectors:
        name = type(self.inner).__name__
        try:
            return await embed_checked(lambda kept: self.inner.embed(kept, role), texts, self.dimensions, name)
        except EmbedderError:
            raise
        except Exception as error:  # an embedder from elsewhere may raise anything
            raise EmbedderError(f"{name} failed: {type(error).__name__}: {error}") from error


def _hashed(begun: hashlib.blake2b, text: str) -> bytes:
    hashed = begun.copy()
    hashed.update(text.encode("utf-8"))
    return hashed.digest()


class _Call:
    """The texts of one call that are not being embedded yet."""

    def __init__(self) -> None:
        self.items: dict[Key, tuple[str, asyncio.Future[Vectors]]] = {}

    def add(self, key: Key, text: str) -> asyncio.Future[Vectors]:
        future: asyncio.Future[Vectors] = asyncio.get_running_loop().create_future()
        # Retrieved here, so that asyncio does not log an exception after its caller was cancelled.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.items[key] = (text, future)
        return future


@dataclass(slots=True)
class _Lane:
    """The queue of one role on one event loop. Only that loop touches it, so it needs no lock."""

    role: Role
    calls: deque[_Call] = field(default_factory=deque)
    flying: dict[Key, asyncio.Future[Vectors]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    def run(self, batched: BatchedEmbedder) -> None:
        """Start a task that empties the queue, unless one runs. Cancelling a caller does not cancel it."""
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._drain(batched))

    async def _drain(self, batched: BatchedEmbedder) -> None:
        batch: list[_Call] = []
        try:
            while self.calls:
                batch = self._take(batched._batch_size)
                await batched._serve(batch, self.role)
                self._settle(batch)
        finally:
            # Calls are left only when the loop is being shut down; settle them so that nothing waits forever.
            self._settle([*batch, *self.calls])
            self.calls.clear()
            self.task = None

    def _take(self, most: int) -> list[_Call]:
        batch: list[_Call] = []
        count = 0
        while self.calls and (not batch or count + len(self.calls[0].items) <= most):
            batch.append(self.calls.popleft())
            count += len(batch[-1].items)
        return batch

    def _settle(self, calls: list[_Call]) -> None:
        for call in calls:
            for key, (_, future) in call.items.items():
                future.cancel()
                self.flying.pop(key, None)


class _Cache:
    """The most recently used vectors of a role; its methods may be called from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rows: OrderedDict[Key, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Vectors | None:
        with self._lock:
            row = self._rows.get(key)
            if row is not None:
                self._rows.move_to_end(key)
            return row

    def put(self, key: Key, row: Vectors) -> None:
        if not self._size:
            return
        with self._lock:
            self._rows[key] = row.copy()  # a view would keep its whole batch alive
            self._rows.move_to_end(key)
            if len(self._rows) > self._size:
                self._rows.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()
