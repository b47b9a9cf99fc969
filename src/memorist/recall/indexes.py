"""The indexes of the walls in use: each is brought up to date with the store's change log before it is read."""

import threading
from collections import OrderedDict

from memorist.embedders import BatchedEmbedder
from memorist.errors import EmbedderMismatchError, embedder_mismatch, embedder_resized
from memorist.recall.index import WallIndex
from memorist.recall.persistence import Keeper
from memorist.records.scope import Wall
from memorist.stores.base import Entries, Outline, Store
from memorist.system.locks import Locks

_BRIEF = 64
"""The most changes that are taken in on the caller's thread."""


class Indexes:
    """An index in memory for each recently used wall.

    Args:
        store: where the records are.
        embedder: made the vectors.
        most_bytes: the most that all indexes together may hold; the least recently used are dropped first.
        largest: a wall of more records is not read, where the store finds candidates by itself.
    """

    def __init__(self, store: Store, embedder: BatchedEmbedder, most_bytes: int, largest: int) -> None:
        self._store = store
        self._embedder = embedder
        self._most_bytes = most_bytes
        self.largest = largest
        self._generations: dict[Wall, str] = {}
        self._held: OrderedDict[Wall, WallIndex] = OrderedDict()
        self._guard = threading.Lock()
        self._turns = Locks()  # one task at a time changes the index of a wall
        self.keeper: Keeper | None = None

    def __len__(self) -> int:
        return len(self._held)

    async def close(self) -> None:
        """Wait for indexes that are being kept, and forget them all."""
        if self.keeper is not None:
            await self.keeper.close()
        self.drop()

    def drop(self, wall: Wall | None = None) -> None:
        """Forget the index of a wall, or all of them. They are only caches."""
        with self._guard:
            for each in [*self._held, *self._generations] if wall is None else [wall]:
                self._held.pop(each, None)
                self._generations.pop(each, None)

    async def of(self, wall: Wall) -> WallIndex | Outline:
        """Return the wall's index with all that was stored before this call.

        For a wall that is too large for an index, the statistics for asking the store are returned.
        """
        await self._embedder.ready()
        index = self._held.get(wall)
        if index is not None and index.living <= self.largest:
            index = await self._up_to_date(wall)
            if index.living <= self.largest:
                return index
        outline = await self._store.outline(wall, self.largest) if self._store.searches_large else None
        if outline is None:
            return await self._up_to_date(wall)
        with self._guard:
            self._held.pop(wall, None)
        if self._generations.get(wall) != outline.generation:
            await self._check_fingerprint()
            self._generations[wall] = outline.generation
        return outline

    async def _up_to_date(self, wall: Wall) -> WallIndex:
        index, changed = self._used(wall), None
        since = index.generation, index.epoch
        if index.generation is not None:
            changed = await self._store.entries(wall, *since)
            if (changed.generation, changed.epoch) == since and not changed.more:
                return self._finished(wall, index)
        async with self._turns.of(wall):
            while True:
                index = self._used(wall)
                if index.generation is None:
                    index = await self._restored(wall, index)
                    await self._check_fingerprint()
                if changed is None or (index.generation, index.epoch) != since:
                    since = index.generation, index.epoch
                    changed = await self._store.entries(wall, *since)
                if index.generation not in (None, changed.generation):  # a purge, or new vectors: begin anew
                    self.drop(wall)
                elif (changed.generation, changed.epoch) != since:
                    try:
                        await self._take_in(wall, index, since, changed)
                    except EmbedderMismatchError:
                        self.drop(wall)  # it has taken in a part
                        raise
                if index.generation == changed.generation and not changed.more:
                    return self._finished(wall, index)
                changed = None

    async def _take_in(self, wall: Wall, index: WallIndex, since: tuple[str | None, int], changed: Entries) -> None:
        def update() -> None:
            if (index.generation, index.epoch) == since:  # a caller that was cancelled may still be at work on a thread
                index.update(changed)

        await index.alone(update, brief=len(changed.entries) + len(changed.gone) <= _BRIEF)
        self._bound(wall)

    def _finished(self, wall: Wall, index: WallIndex) -> WallIndex:
        if index.mostly_dead:
            self.drop(wall)
        elif self.keeper is not None:
            self.keeper.keep(wall, index)
        return index

    def _used(self, wall: Wall) -> WallIndex:
        with self._guard:
            index = self._held.get(wall)
            if index is None:
                index = self._held[wall] = WallIndex(self._embedder.dimensions)
            self._held.move_to_end(wall)
            return index

    async def _restored(self, wall: Wall, empty: WallIndex) -> WallIndex:
        """Return the wall's index as the store keeps it, or an empty one."""
        if self.keeper is None and (segments := self._store.segments) is not None:
            self.keeper = Keeper(segments, self._embedder.dimensions)
        if self.keeper is None or self.keeper.knows(empty):
            return empty
        index = await self.keeper.restored(wall)
        with self._guard:
            self._held[wall] = index
        self._bound(wall)
        return index

    def _bound(self, wall: Wall) -> None:
        """Drop the least recently used indexes until the rest fit; the index in use stays."""
        with self._guard:
            total = sum(index.nbytes for index in self._held.values())
            for other in list(self._held):
                if total <= self._most_bytes or other == wall:
                    return
                total -= self._held.pop(other).nbytes

    async def _check_fingerprint(self) -> None:
        stored, mine = await self._store.fingerprint(), self._embedder.fingerprint
        if stored is not None and stored != mine and not await self._embedder.suits(stored):
            raise embedder_mismatch(stored, mine)
        length = await self._store.dimensions()
        if length is not None and length != self._embedder.dimensions:
            raise embedder_resized(mine, length, self._embedder.dimensions)
