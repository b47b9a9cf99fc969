"""What all scopes of one open memory share: the store, the embedder, the ranking and its cache."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memorist.config import Settings
from memorist.embedders import BatchedEmbedder, OnnxEmbedder, Vectors, open_embedder, unit_rows
from memorist.errors import ClosedError, EmbedderError, EmbedderMismatchError, InvalidInputError
from memorist.indexes import indexed
from memorist.recall import Recaller, embedded, given_vector, marks_of, terms_of
from memorist.records import Action, Draft, Record
from memorist.scope import Scope, Wall
from memorist.stores import open_store
from memorist.stores.base import Put, Staged, Vector
from memorist.times import TimeLike, now, parse_expiry

__all__ = ["Engine"]

_REINDEX_BATCH = 256


class Engine:
    """One open memory. `Memory` is its face, a scope at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = indexed(open_store(settings), settings.index)
        self.embedder = BatchedEmbedder(open_embedder(settings.embedder))
        self.recaller = Recaller(self.store, self.embedder, settings.cache_bytes, settings.largest_index)
        self._is_open = False
        self._clock = _Clock()
        self._swept = now()

    async def open(self) -> None:
        """Open the store and make sure that its vectors are this embedder's."""
        try:
            await self.store.open()
            stored = await self.store.fingerprint()
            if stored is not None and isinstance(self.embedder.inner, OnnxEmbedder):
                with suppress(EmbedderError):  # it names itself without being loaded; a broken one is told when used
                    await self.embedder.ready()
            # An embedder that must ask for its fingerprint is asked at the first vector, not here.
            if stored is not None and self.embedder.fingerprint not in ("", stored) and not self.settings.reindexing:
                raise EmbedderMismatchError(
                    f"the store holds vectors of the embedder {stored!r}, not of {self.embedder.fingerprint!r}; "
                    "open it with that embedder, or run: memorist reindex"
                )
            await self.store.sweep(now())
        except BaseException:
            await self.store.close()
            raise
        self._is_open = True

    def opened(self) -> "Engine":
        """Return this engine, or raise ClosedError."""
        if not self._is_open:
            raise ClosedError("the memory is not open; use `async with Memory.open(...)`, or `await` it")
        return self

    async def close(self) -> None:
        """Close the store and the embedder. A second call does nothing."""
        if self._is_open:
            self._is_open = False
            self.recaller.drop()
            await self.store.close()
            await self.embedder.close()

    # --- records to writes ---------------------------------------------------------------------------

    def stamp(self, drafts: Sequence[Draft], scope: Scope) -> list[Record]:
        """Return the records that the drafts become, each with a time of its own, in order."""
        return [draft.to_record(scope, self._clock.tick()) for draft in drafts]

    def expiry(self, value: TimeLike) -> datetime:
        """Return when something expires that is said now."""
        return parse_expiry(value, now())

    async def embed(self, records: Sequence[Record], given: Sequence[Any]) -> list[Vector | None]:
        """Return a vector for each record that recall can find: the one given, or its text's embedding."""
        vectors: list[Vector | None] = [None] * len(records)
        wanted = [place for place, record in enumerate(records) if record.kind.recallable]
        if not wanted:
            return vectors
        await self.embedder.ready()
        brought = [place for place in wanted if given[place] is not None]
        rows = _unit_rows([given[place] for place in brought], self.embedder.dimensions)
        for place, row in zip(brought, rows, strict=True):
            vectors[place] = row
        missing = [place for place in wanted if vectors[place] is None]
        if missing:
            rows = await embedded(self.embedder, [records[place] for place in missing])
            for place, row in zip(missing, rows, strict=True):
                vectors[place] = row
        await self.store.bind(self.embedder.fingerprint, self.embedder.dimensions)
        return vectors

    def put(
        self, record: Record, action: Action, vector: Vector | None, *, expected: int | None = None,
        keep_index: bool = False, source: str | None = None,
    ) -> Put:  # fmt: skip
        """Return the write that stores `record` in the place of the version before it."""
        findable = record.kind.recallable and not keep_index
        return Put(
            record=record,
            action=action,
            expected=record.version - 1 if expected is None else expected,
            vector=vector,
            terms=terms_of(record) if findable else None,
            keep_index=keep_index,
            source=source,
            marks=marks_of(record) if findable else frozenset(),
        )

    def changed(self, old: Record, new: Record) -> Record:
        """Return `new` as the version after `old`, checked."""
        from memorist.records import check_fields

        new = replace(new, updated_at=self._clock.tick(), version=old.version + 1)
        return replace(new, **check_fields(new))

    # --- upkeep ----------------------------------------------------------------------------------------

    async def sweep_if_due(self, every: timedelta) -> None:
        """Take expired records out, if that was not done for a while."""
        moment = now()
        if moment - self._swept >= every:
            self._swept = moment
            await self.store.sweep(moment)

    async def restore(self, wall: Wall, records: Sequence[Record]) -> list[bool]:
        """Store records as they are, unless their id is there already; tell for each whether it was added."""
        there = {each.id for each in await self.store.get(wall, [record.id for record in records])}
        new = list({record.id: record for record in records if record.id not in there}.values())
        vectors = await self.embed(new, [None] * len(new))
        writes = [
            self.put(record, Action.REMEMBERED, vector, expected=0) for record, vector in zip(new, vectors, strict=True)
        ]
        if writes:
            await self.store.write(wall, writes)
        added = {record.id for record in new}
        return [record.id in added and not added.discard(record.id) for record in records]  # type: ignore[func-returns-value]

    async def purge(self, wall: Wall) -> int:
        """Take everything behind a wall out, of the store and of this process's caches."""
        count = await self.store.purge(wall)
        self.recaller.drop(wall)
        return count

    async def backup(self, target: Path) -> Path:
        """Copy the store to a new file, and open the copy to see that it can be."""
        target = target.expanduser().absolute()
        if target.exists():
            raise InvalidInputError(f"{target} exists; choose another path for the backup")
        await self.store.backup(target)
        copy = Engine(replace(self.settings, index=None).with_given(url=target, embedder=self.embedder))
        try:
            await copy.store.open()
        finally:
            await copy.store.close()
        return target

    async def reindex(self, progress: Callable[[int, int], None] | None) -> int:
        """Embed every record anew, in batches that a kill leaves done."""
        await self.embedder.ready()
        fingerprint, done, total = self.embedder.fingerprint, 0, 0
        while True:
            while rows := await self.store.to_reembed(fingerprint, _REINDEX_BATCH):
                total = total or await self.store.left_to_reembed(fingerprint)
                vectors = await embedded(self.embedder, [record for _, _, record in rows])
                staged = [
                    Staged(number, version, np.asarray(vector), terms_of(record), marks_of(record))
                    for (number, version, record), vector in zip(rows, vectors, strict=True)
                ]
                await self.store.stage(fingerprint, staged)
                done += len(rows)
                if progress is not None:
                    progress(done, max(done, total))
            if await self.store.adopt(fingerprint, self.embedder.dimensions):
                return done
            await asyncio.sleep(0)


def _unit_rows(given: Sequence[Any], dimensions: int) -> Vectors:
    """Check and normalise vectors all at once; one by one where that fails, for the error to name the one."""
    try:
        return unit_rows(given, len(given), dimensions, "the vectors given")
    except EmbedderError:
        return np.concatenate([given_vector(each, dimensions) for each in given])


class _Clock:
    """The present, but never the same twice: the order of storing must show in the times."""

    def __init__(self) -> None:
        self._last = now()
        self._lock = threading.Lock()

    def tick(self) -> datetime:
        with self._lock:
            self._last = max(now(), self._last + timedelta(microseconds=1))
            return self._last
