"""What a store with a log keeps beyond the contract, for the tests of each back end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memorist.config import Settings
from memorist.errors import EmbedderMismatchError, StoreFullError
from memorist.memory import Memory
from memorist.scope import Wall
from memorist.stores import Store
from memorist.stores.logged.log import Log
from memorist.testing import HashEmbedder
from memorist.testing.contract.base import DIMENSIONS, FINGERPRINT, forgotten, make_record, put, revised

ALICE = Wall("acme", "alice")


async def opened(store: Store) -> Store:
    """Return the store, open and told whose vectors it gets."""
    await store.open()
    await store.bind(FINGERPRINT, DIMENSIONS)
    return store


class Killed(BaseException):
    """What stands for the end of a process."""


def _killed(*_: object) -> None:
    raise Killed


def _full(*_: object) -> None:
    raise RuntimeError("database or disk is full")


async def finishes_what_a_killed_process_had_logged(make: Callable[[], Store], patch: pytest.MonkeyPatch) -> None:
    store = await opened(make())
    first = make_record("one")
    await store.write(ALICE, [put(first), put(make_record("two"))])
    with patch.context() as broken:
        broken.setattr(Log, "_finish", _killed)
        with pytest.raises(Killed):
            writes = [put(revised(first, content="changed")), *forgotten("two"), put(make_record("three"))]
            await store.write(ALICE, writes)
    await store.close()

    store = await opened(make())
    try:
        assert [each.content for each in await store.get(ALICE, ["one", "two", "three"])] == ["changed", "about three"]
        assert [change.record for change in await store.history(ALICE, "two")] == [None, None]
        assert len(await store.search_words(ALICE, ["changed"], 9)) == 1
        assert await store.write(ALICE, [put(make_record("four"))]) == [True]
    finally:
        await store.close()


async def keeps_what_was_logged_and_could_not_be_carried_out(
    make: Callable[[], Store], patch: pytest.MonkeyPatch
) -> None:
    store = await opened(make())
    try:
        first = make_record("one")
        await store.write(ALICE, [put(first)])
        with patch.context() as broken:
            broken.setattr(Log, "_finish", _full)
            assert await store.write(ALICE, [put(revised(first, content="changed"))]) == [True]
            with pytest.raises(StoreFullError):
                await store.get(ALICE, ["one"])
        assert await store.write(ALICE, [put(make_record("two"))]) == [True]
        assert [each.content for each in await store.get(ALICE, ["one", "two"])] == ["changed", "about two"]
        assert len(await store.history(ALICE, "one")) == 2
    finally:
        await store.close()


async def takes_a_commit_larger_than_one_row_of_the_log(make: Callable[[], Store], patch: pytest.MonkeyPatch) -> None:
    patch.setattr("memorist.stores.logged.log._PIECE", 500)
    store = await opened(make())
    try:
        records = [make_record(f"{n}") for n in range(50)]
        await store.write(ALICE, [put(record) for record in records])
        assert await store.get(ALICE, [record.id for record in records]) == records
    finally:
        await store.close()


async def keeps_a_memory(url: str) -> None:
    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        kept = await alice.remember("Prefers homestays when she travels", metadata={"trip": "Lisbon"})
        await alice.remember("Is allergic to peanuts")
        await alice.topics.set("language", "Elixir")
        await memory.scoped(user="bob").remember("Prefers homestays, too")

    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        [hit] = await alice.recall("homestays when she travels", limit=1)
        assert hit.record == kept
        assert await alice.topics.get("language") == "Elixir"
        assert await alice.count(where={"trip": "Lisbon"}) == 1
        await alice.revise(kept.id, content="Prefers hotels now")
        assert [str(change.action) for change in await alice.history(kept.id)] == ["remembered", "revised"]
        assert await memory.users() == {"alice": 3, "bob": 1}
        assert await alice.purge() == 3
        assert await memory.users() == {"bob": 1}


async def refuses_another_embedder_until_it_is_reindexed(url: str) -> None:
    async with Memory.open(url, embedder=HashEmbedder(64)) as memory:
        await memory.remember(["Likes tea", "Likes coffee"])
    with pytest.raises(EmbedderMismatchError, match="reindex"):
        await Memory.open(url, embedder=HashEmbedder(32))
    async with Memory.open(settings=Settings(url=url, embedder=HashEmbedder(32), reindexing=True)) as memory:
        assert await memory.reindex() == 2

    async with Memory.open(url, embedder=HashEmbedder(32)) as memory:
        [hit] = await memory.recall("Likes tea", limit=1)
        assert hit.similarity == pytest.approx(1, abs=1e-5)


async def backs_up_to_sqlite_with_the_histories(url: str, target: Path) -> None:
    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        kept = await alice.remember("Likes tea", source="monday")
        await alice.revise(kept.id, content="Likes green tea", source="tuesday")
        await alice.rate(kept.id, 1.0)
        gone = await alice.remember("Likes coffee")
        await alice.forget(gone.id, source="alice")
        await memory.facts.add("Tea is a plant", key="tea")
        await memory.backup(target)
        expected = [await each.history(id) for each, id in ((alice, kept.id), (alice, gone.id))]
        lines = [line async for line in memory.export(everyone=True)]

    async with Memory.open(target, embedder=HashEmbedder()) as copy:
        alice = copy.scoped(user="alice")
        assert [await alice.history(kept.id), await alice.history(gone.id)] == expected
        assert [line async for line in copy.export(everyone=True)][1:] == lines[1:]
        [hit] = await alice.recall("green tea", limit=1)
        assert hit.record.id == kept.id


async def never_see_each_other(url: str) -> None:
    async with Memory.open(url, embedder=HashEmbedder()) as one:
        async with Memory.open(url, embedder=HashEmbedder()) as two:
            await one.remember("Likes tea")
            assert await two.count() == 0
        assert await one.count() == 1
