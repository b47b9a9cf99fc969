"""The common part of the contract: a store for each test, and records to store."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from memorist.records.filters import Filter
from memorist.records.origins import Author, Origin
from memorist.records.record import Action, Kind, Record, check_fields
from memorist.records.scope import Scope, Wall
from memorist.records.times import now
from memorist.stores.base import Entries, Entry, Put, Remove, Store, Vector

ALICE, BOB, SHARED = Wall("acme", "alice"), Wall("acme", "bob"), Wall("acme", None)
NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
WRITTEN = Origin(authors=Author.USER, door="python")
ALL = Filter(superseded=True)
FINGERPRINT = "contract-v1"
DIMENSIONS = 8
_C = TypeVar("_C")
_S = TypeVar("_S")


class Contract:
    """Gives every test its own store."""

    async def make_store(self) -> Store:
        """Return a new, empty store, not opened yet."""
        raise NotImplementedError("say how to make a store")

    async def another(self, store: Store) -> Store | None:
        """Return a second store on the same data, not opened yet, as another process would open it.

        None if that is impossible; the tests that need one then pass without testing anything.
        """
        return None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Store]:
        store = await self.make_store()
        await store.open()
        try:
            await store.bind(FINGERPRINT, DIMENSIONS)
            yield store
        finally:
            await store.close()


def scenario_in(opening: str) -> Callable[[Callable[[_C, _S], Awaitable[None]]], Callable[[_C], None]]:
    """Return a decorator that runs a test on its own event loop, with what this method of the contract opens."""

    def scenario(test: Callable[[_C, _S], Awaitable[None]]) -> Callable[[_C], None]:
        async def whole(contract: _C) -> None:
            async with getattr(contract, opening)() as opened:
                await test(contract, opened)

        def run(self: _C) -> None:
            asyncio.run(whole(self))

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(run, name, getattr(test, name))
        return run

    return scenario


def scenario(test: Callable[[_C, Store], Awaitable[None]]) -> Callable[[_C], None]:
    """Run a test on its own event loop, with an open store that is bound to an embedder."""
    return scenario_in("_opened")(test)


def make_record(id: str, wall: Wall = ALICE, *, after: float = 0, **fields: Any) -> Record:
    """Return a record stored `after` seconds past noon."""
    labels = {name: fields.pop(name, None) for name in ("agent", "session")}
    moment = NOON + timedelta(seconds=after)
    times = {"created_at": moment, "updated_at": moment}
    given = {"content": f"about {id}", "kind": Kind.NOTE, "origin": WRITTEN, **times, **fields}
    record = Record(id=id, scope=Scope(wall.tenant, wall.user, **labels), **given)
    return replace(record, **check_fields(record))


def revised(old: Record, **changes: Any) -> Record:
    """Return the version after `old`."""
    return replace(old, **{"version": old.version + 1, "updated_at": old.updated_at + timedelta(seconds=1), **changes})


def put(record: Record, **given: Any) -> Put:
    """Return the write that stores `record` over its previous version, so that recall finds it."""
    found = record.kind.recallable and not given.get("keep_index")
    index = {"terms": record.text.lower(), "vector": vector_of(record.text)} if found else {}
    return Put(record, **{"expected": record.version - 1, **index, **given})


def forgotten(*ids: str) -> list[Remove]:
    """Return the writes that remove records."""
    return [Remove(id, Action.FORGOTTEN, now(), "a test") for id in ids]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> Vector:
    """Return a unit vector, always the same for the same text."""
    row = np.random.default_rng(zlib.crc32(text.encode())).normal(size=dimensions)
    return np.asarray(row / np.linalg.norm(row), np.float32)


async def everything(store: Store, wall: Wall, seen: Entries | None = None) -> dict[str, Entry]:
    """Return all entries behind a wall, by id, as a reader gets them who has those of `seen`, by default none."""
    found = {entry.number: entry for entry in (() if seen is None else seen.entries)}
    generation, epoch, more = (None, 0, True) if seen is None else (seen.generation, seen.epoch, True)
    while more:
        got = await store.entries(wall, generation, epoch)
        found.update({entry.number: entry for entry in got.entries})
        for number in got.gone:
            found.pop(number, None)
        generation, epoch, more = got.generation, got.epoch, got.more
    return {entry.id: entry for entry in found.values()}


def ids_of(records: Iterable[Record]) -> list[str]:
    """Return the ids, in order."""
    return [record.id for record in records]
