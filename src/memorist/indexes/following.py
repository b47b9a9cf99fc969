"""A store with an index: the index follows the store, and finds the nearest vectors in large walls."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from memorist.audit.log import Act
from memorist.errors import InvalidInputError, StoreError
from memorist.indexes.base import Index, Point, Position, token_of
from memorist.records.scope import Wall
from memorist.stores.base import Candidates, Store, Vector, Wanted
from memorist.stores.searching import Place, Search
from memorist.stores.wrapped import WrappedStore
from memorist.system.locks import Locks

_T = TypeVar("_T")
_WIDER = (2, 32)
"""The multiple of the limit that is requested from the index, since some of its results do not pass the filter."""
log = logging.getLogger("memorist.indexes")


class IndexedStore(WrappedStore):
    """A store whose large walls are searched by an index.

    The index is updated with a wall's changes before it is queried, and each id that it finds is checked against the
    store, so that stale entries are neither returned nor seen by another user. If the index is far behind, cannot
    be reached, or finds too few entries that pass the filter, the store compares the vectors itself.

    Args:
        store: holds the records.
        index: follows the store. It may be deleted at any time, and is then filled again.

    Raises:
        InvalidInputError: the store finds no candidates.
    """

    def __init__(self, store: Store, index: Index) -> None:
        if type(store).candidates is Store.candidates:
            raise InvalidInputError(f"an index works with SQLite and PostgreSQL only; {store} does not support one")
        super().__init__(store)
        self.index = index
        self._locks = Locks()  # those of the walls that are followed or purged now
        self._behind: set[asyncio.Task[bool]] = set()
        self._closing = False

    @property
    def searches_large(self) -> bool:
        return True

    async def open(self) -> None:
        await self.store.open()
        try:
            await asyncio.to_thread(self.index.open)
        except BaseException:
            await self.store.close()
            raise
        self._closing = False

    async def close(self) -> None:
        self._closing = True  # a following task stops after its current batch
        for lock in self._locks.used():
            async with lock:
                pass
        await asyncio.to_thread(self.index.close)
        await self.store.close()

    async def purge(self, wall: Wall, *more: Wall, act: Act | None = None) -> Counter[str]:
        async with self._locks.of(wall):
            count = await self.store.purge(wall, *more, act=act)
            try:
                for token in map(token_of, (wall, *more)):
                    await asyncio.to_thread(self.index.purge, token)
            except StoreError as error:
                raise type(error)(
                    f"the records are deleted, but their vectors are still in {self.index.name}: {error}; purge again"
                ) from error
            return count

    async def search(self, wall: Wall, texts: Sequence[str]) -> Search:
        found = await self.store.search(wall, texts)
        left = await asyncio.to_thread(self.index.count, token_of(wall))
        found.places.append(Place(f"vectors in {self.index.name}", left))
        if self.index.residue:
            found.copies.append(f"{self.index.name}: {self.index.residue}")
        return found

    async def check(self) -> list[str]:
        """Check the store, and compare the index with it; differing walls are removed from the index and filled
        again."""
        found = await self.store.check()
        tenants = await self.store.tenants()
        walls = [Wall(tenant, user) for tenant in tenants for user in await self.store.users(tenant)]
        known = {token_of(wall): wall for wall in walls}
        for token, held in (await asyncio.to_thread(self.index.walls)).items():
            expected = await self._expected(known[token]) if token in known else 0
            if token in known:
                held = (await asyncio.to_thread(self.index.walls)).get(token, 0)  # updated meanwhile
            if held != expected:
                await asyncio.to_thread(self.index.purge, token)
                found.append(
                    f"{self.index.name} held {held:,} vectors of a user where the store has {expected:,};"
                    " they were removed, and the index will be rebuilt at the next use"
                )
        return found

    async def _expected(self, wall: Wall) -> int:
        """Update the index with a wall's changes; return the number of vectors that it should hold."""
        await self.follow(wall)
        generation, epoch, more, numbers = None, 0, True, set[int]()
        while more:
            got = await self.store.entries(wall, generation, epoch)
            numbers.update(each.number for each in got.entries if each.vector is not None)
            numbers.difference_update(got.gone)
            generation, epoch, more = got.generation, got.epoch, got.more
        return len(numbers)

    async def candidates(self, wall: Wall, wanted: Wanted) -> Candidates:
        if wanted.vector is not None and wanted.near is None:
            try:
                wanted = replace(wanted, near=await self._near(wall, wanted.vector, wanted))
            except StoreError as error:
                log.warning("the index failed, so recall searches the store instead: %s", error)
        return await self.store.candidates(wall, wanted)

    async def _near(self, wall: Wall, vector: Vector, wanted: Wanted) -> list[int] | None:
        """Return the numbers of the nearest records that pass the filter; None if the index cannot be used."""
        if not await self.follow(wall, batches=1):
            task = asyncio.ensure_future(self.follow(wall))
            self._behind.add(task)
            task.add_done_callback(self._caught_up)
            return None
        for times in _WIDER:
            asked = times * wanted.limit
            found = await asyncio.to_thread(self.index.nearest, token_of(wall), vector, asked)
            ids = {each.id for each in found if wanted.filter.ids is None or each.id in wanted.filter.ids}
            passing = set((await self.store.matching(wall, replace(wanted.filter, ids=frozenset(ids)))).tolist())
            best = list(dict.fromkeys(each.number for each in found if each.number in passing))[: wanted.limit]
            if len(best) == wanted.limit or wanted.outline.rows <= asked:
                return best
        return None

    async def follow(self, wall: Wall, batches: int | None = None) -> bool:
        """Update the index with the changes behind a wall.

        Args:
            wall: the wall.
            batches: the number of batches of a thousand records after which to stop; by default at the end.

        Returns:
            Whether the index is up to date.
        """
        token = token_of(wall)
        async with self._locks.of(wall):
            position = await asyncio.to_thread(self.index.position, token)
            while not self._closing:
                generation, epoch = position or (None, 0)
                got = await self.store.entries(wall, generation, epoch)
                reached = Position(got.generation, got.epoch)
                if reached == position and not got.more:
                    return True
                if position is not None and reached.generation != generation:  # purged or reindexed: start again
                    await asyncio.to_thread(self.index.purge, token)
                    position = None
                    continue
                if batches == 0:
                    return False
                if position is None and not got.entries and not got.more:
                    return True
                points = [Point(each.number, each.id, each.vector) for each in got.entries if each.vector is not None]
                gone = [*got.gone, *(each.number for each in got.entries if each.vector is None)]
                await asyncio.to_thread(self.index.update, token, points, gone, reached)
                position = reached
                batches = None if batches is None else batches - 1
        return False

    def _caught_up(self, task: "asyncio.Task[bool]") -> None:
        self._behind.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("the index could not be updated and will be retried: %s", error)
