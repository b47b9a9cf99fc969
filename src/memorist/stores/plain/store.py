"""The reading half of a store that goes by views; what is written and how it is kept is left to each store."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorist.filters import Filter
from memorist.records import Record
from memorist.scope import Reach, Wall
from memorist.stores.base import Cursor, Entries, Order, Store, Vector
from memorist.stores.plain.views import Row, View, page
from memorist.times import now

__all__ = ["Source", "ViewStore"]

_T = TypeVar("_T")


class Source(Protocol):
    """What is stored, at one moment."""

    @property
    def epoch(self) -> int:
        """The last epoch given."""

    def view(self, wall: Wall) -> View:
        """Return what is behind a wall; an empty view where nothing is."""

    def views(self, tenant: str | None = None) -> Iterable[View]:
        """Return what is behind every wall, or every wall of a tenant."""

    def vectors_of(self, rows: Sequence[Row]) -> dict[int, Vector]:
        """Return the vectors of rows, by their numbers; rows that have none are left out."""


class ViewStore(Store):
    """A store that reads through views.

    It takes `_read` and what is missing of `Store`: to open and close, to write, sweep and purge, the history, the
    backup, and the embedder. A back end that can do a part of the rest better overrides that part.
    """

    @abstractmethod
    async def _read(self, work: Callable[[Source], _T]) -> _T:
        """Run `work` on what is stored now, while nobody writes.

        Raises:
            ClosedError: the store is not open.
        """

    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        def work(source: Source) -> list[Record]:
            rows, moment = source.view(wall).rows, now()
            return [rows[id].record for id in dict.fromkeys(ids) if id in rows and rows[id].alive(moment)]

        return await self._read(work)

    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        def work(source: Source) -> dict[int, Record]:
            moment = now()
            found = source.view(wall).numbered(numbers)
            return {number: row.record for number, row in found.items() if row.alive(moment)}

        return await self._read(work)

    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        return await self._read(lambda source: page(_within(source, reach, filter), order, limit, after))

    async def count(self, reach: Reach, filter: Filter) -> int:
        return await self._read(lambda source: len(_within(source, reach, filter)))

    async def users(self, tenant: str) -> dict[str | None, int]:
        def work(source: Source) -> dict[str | None, int]:
            moment = now()
            counts = {view.wall.user: len(view.alive(moment)) for view in source.views(tenant)}
            return {user: counts[user] for user in sorted(counts, key=lambda user: user or "") if counts[user]}

        return await self._read(work)

    async def tenants(self) -> list[str]:
        def work(source: Source) -> list[str]:
            moment = now()
            return sorted({view.wall.tenant for view in source.views() if view.alive(moment)})

        return await self._read(work)

    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        return await self._read(
            lambda source: source.view(wall).entries(generation, epoch, source.epoch, source.vectors_of)
        )

    async def matching(self, wall: Wall, filter: Filter) -> NDArray[np.int64]:
        def work(source: Source) -> NDArray[np.int64]:
            return np.array([row.number for row in source.view(wall).passing(filter, now())], np.int64)

        return await self._read(work)

    async def vectors(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Vector]:
        return await self._read(lambda source: source.vectors_of([*source.view(wall).numbered(numbers).values()]))

    async def search_words(self, wall: Wall, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        return await self._read(lambda source: source.view(wall).search_words(terms, limit))


def _within(source: Source, reach: Reach, filter: Filter) -> list[Record]:
    """Return the records within reach that pass the filter."""
    moment = now()
    if reach.users is None:
        views = source.views(reach.tenant)
    else:
        views = [source.view(wall) for wall in dict.fromkeys(reach.walls())]
    return [row.record for view in views for row in view.passing(filter, moment)]
