"""A store that forwards every call to another; a subclass overrides what it changes."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.audit.log import Act
from memorist.records.filters import Filter
from memorist.records.record import Change, Order, Record
from memorist.records.scope import Reach, Wall
from memorist.stores.audit import AuditLog
from memorist.stores.base import Candidates, Cursor, Entries, Outline, Staged, Store, Vector, Wanted, Write
from memorist.stores.searching import Search
from memorist.stores.segments import Segments

__all__ = ["WrappedStore"]


class WrappedStore(Store):
    """Passes every call on to `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"

    async def open(self) -> None:
        await self.store.open()

    async def close(self) -> None:
        await self.store.close()

    async def write(self, wall: Wall, writes: Sequence[Write], *, act: Act | None = None) -> list[bool]:
        return await self.store.write(wall, writes, act=act)

    async def remove(
        self, wall: Wall, filter: Filter, *, at: datetime, source: str | None = None, act: Act | None = None
    ) -> int:
        return await self.store.remove(wall, filter, at=at, source=source, act=act)

    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        return await self.store.get(wall, ids)

    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        return await self.store.fetch(wall, numbers)

    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        return await self.store.select(reach, filter, order=order, limit=limit, after=after)

    async def count(self, reach: Reach, filter: Filter) -> int:
        return await self.store.count(reach, filter)

    async def users(self, tenant: str) -> dict[str | None, int]:
        return await self.store.users(tenant)

    async def tenants(self) -> list[str]:
        return await self.store.tenants()

    async def history(self, wall: Wall, id: str) -> list[Change]:
        return await self.store.history(wall, id)

    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        return await self.store.entries(wall, generation, epoch)

    async def matching(self, wall: Wall, filter: Filter) -> NDArray[np.int64]:
        return await self.store.matching(wall, filter)

    async def vectors(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Vector]:
        return await self.store.vectors(wall, numbers)

    async def search_words(self, wall: Wall, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        return await self.store.search_words(wall, terms, limit)

    @property
    def searches_large(self) -> bool:
        return self.store.searches_large

    @property
    def segments(self) -> Segments | None:
        return self.store.segments

    @property
    def audit(self) -> AuditLog | None:
        return self.store.audit

    async def outline(self, wall: Wall, largest: int) -> Outline | None:
        return await self.store.outline(wall, largest)

    async def candidates(self, wall: Wall, wanted: Wanted) -> Candidates:
        return await self.store.candidates(wall, wanted)

    async def sweep(self, now: datetime, tenant: str | None = None, *, act: Act | None = None) -> int:
        return await self.store.sweep(now, tenant, act=act)

    async def purge(self, wall: Wall, *more: Wall, act: Act | None = None) -> Counter[str]:
        return await self.store.purge(wall, *more, act=act)

    async def search(self, wall: Wall, texts: Sequence[str]) -> Search:
        return await self.store.search(wall, texts)

    async def backup(self, target: Path) -> None:
        await self.store.backup(target)

    async def check(self) -> list[str]:
        return await self.store.check()

    async def fingerprint(self) -> str | None:
        return await self.store.fingerprint()

    async def bind(self, fingerprint: str, dimensions: int) -> None:
        await self.store.bind(fingerprint, dimensions)

    async def unembedded(self, limit: int) -> list[tuple[int, int, Record]]:
        return await self.store.unembedded(limit)

    async def count_unembedded(self) -> int:
        return await self.store.count_unembedded()

    async def fill(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self.store.fill(fingerprint, rows)

    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        return await self.store.to_reembed(fingerprint, limit)

    async def left_to_reembed(self, fingerprint: str) -> int:
        return await self.store.left_to_reembed(fingerprint)

    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        await self.store.stage(fingerprint, rows)

    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        return await self.store.adopt(fingerprint, dimensions)
