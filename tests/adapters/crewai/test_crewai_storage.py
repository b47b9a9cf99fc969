"""The storage: the cases of CrewAI's own, by itself and under CrewAI's own memory."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("crewai")

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory as CrewMemory

from memorist import Memory
from memorist.adapters.crewai import MemoristStorage, embedder, factory
from memorist.errors import ClosedError, InvalidInputError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
embed = embedder(HashEmbedder())


def record(content: str, scope: str = "/", **fields: Any) -> MemoryRecord:
    return MemoryRecord(content=content, scope=scope, embedding=embed([content])[0], **fields)


@pytest.fixture
def storage(alice: Memory) -> MemoristStorage:
    return MemoristStorage(alice)


def contents(records: list[MemoryRecord]) -> list[str]:
    return [each.content for each in records]


async def test_a_record_is_read_as_it_was_saved(storage: MemoristStorage) -> None:
    assert isinstance(storage, StorageBackend)
    more: dict[str, Any] = {"categories": ["drinks"], "metadata": {"cup": 1}, "source": "alice", "private": True}
    given = record("Likes tea", "/crew/cook", importance=0.9, **more)
    storage.save([given])
    assert storage.get_record(given.id) == given.model_copy(update={"embedding": None})
    assert storage.get_record("unknown") is None
    storage.save([])


async def test_a_search_goes_by_vectors_and_keeps_to_its_bounds(storage: MemoristStorage) -> None:
    records = [
        record("Likes tea", "/a", categories=["drinks"], metadata={"n": 1}),
        record("Likes tea very much", "/a/b", categories=["drinks", "habits"], metadata={"n": 2}),
        record("Likes tea not", "/ab", metadata={"n": 1}),
        record("Owns a boat", "/"),
    ]
    storage.save(records)
    query = embed(["Likes tea"])[0]
    [(best, score), *others] = storage.search(query)
    assert (best.content, round(score, 3)) == ("Likes tea", 1.0)
    assert [each for _, each in others] == sorted((each for _, each in others), reverse=True)

    def found(**bounds: Any) -> list[str]:
        return contents([each for each, _ in storage.search(query, **bounds)])

    assert found(scope_prefix="/a") == ["Likes tea", "Likes tea very much"]
    assert found(scope_prefix="/a/") == ["Likes tea", "Likes tea very much"]
    assert found(scope_prefix="/a/b") == ["Likes tea very much"]
    assert len(found(scope_prefix="/")) == 4
    assert found(categories=["habits", "other"]) == ["Likes tea very much"]
    assert found(metadata_filter={"n": 1}) == ["Likes tea", "Likes tea not"]
    assert found(limit=1) == ["Likes tea"]
    assert found(min_score=0.99) == ["Likes tea"]


async def test_records_are_listed_newest_first(storage: MemoristStorage) -> None:
    start = datetime(2026, 1, 1)
    records = [record(f"number {n}", "/a", created_at=start + timedelta(days=n)) for n in (1, 0, 2)]
    storage.save(records)
    storage.save([record("elsewhere", "/b", created_at=start)])
    assert contents(storage.list_records("/a")) == ["number 2", "number 1", "number 0"]
    assert contents(storage.list_records("/a", limit=1, offset=1)) == ["number 1"]
    assert contents(storage.list_records("/a", offset=5)) == contents(storage.list_records("/a", offset=-1)) == []
    assert len(storage.list_records()) == 4


async def test_deleting_needs_every_criterion(storage: MemoristStorage) -> None:
    old, new = datetime(2025, 1, 1), datetime(2026, 1, 1)
    records = [
        record("one", "/a", categories=["x"], created_at=old),
        record("two", "/a/b", categories=["x"], created_at=new),
        record("three", "/c", categories=["y"], metadata={"k": 1}, created_at=old),
        record("four", "/c", created_at=new),
    ]
    storage.save(records)
    assert storage.delete(scope_prefix="/c", categories=["x"]) == 0
    assert storage.delete(record_ids=[]) == 0
    assert storage.delete(scope_prefix="/a", categories=["x"], older_than=datetime(2025, 6, 1)) == 1
    assert storage.delete(record_ids=[records[1].id], scope_prefix="/c") == 0
    assert storage.delete(record_ids=[records[1].id, "unknown"]) == 1
    assert storage.delete(metadata_filter={"k": 1}) == 1
    assert contents(storage.list_records()) == ["four"]
    storage.reset("/a")
    assert storage.count() == 1
    storage.reset()
    assert storage.count() == 0


@pytest.mark.parametrize("metadata", [{"a.b": 1}, {"n": {"x": 1}}, {"$eq": "x"}, {"l": [1, 2], "k": "y"}])
async def test_metadata_of_any_form_narrows(storage: MemoristStorage, metadata: dict[str, Any]) -> None:
    storage.save([record(f"number {n}", metadata={"k": "y"} if n else metadata) for n in range(3)])
    vector = embed(["number 0"])[0]
    assert contents([found for found, _ in storage.search(vector, metadata_filter=metadata)]) == ["number 0"]
    assert storage.delete(metadata_filter=metadata) == 1
    assert storage.count() == 2


async def test_an_update_takes_the_place_by_id(storage: MemoristStorage) -> None:
    given = record("Likes tea", "/a")
    storage.save([given])
    changed = record("Likes coffee", "/b", id=given.id, created_at=given.created_at)
    storage.update(changed)
    assert storage.get_record(given.id) == changed.model_copy(update={"embedding": None})
    assert storage.count() == 1
    [(best, _)] = storage.search(embed(["Likes coffee"])[0])
    assert best.content == "Likes coffee"


async def test_scopes_are_a_tree(storage: MemoristStorage) -> None:
    start = datetime(2026, 1, 1)
    places = ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/ab"]
    storage.save(
        [
            record(f"in {place}", place, categories=[place[-1]], created_at=start + timedelta(days=n))
            for n, place in enumerate(places)
        ]
    )
    assert storage.list_scopes() == ["/a", "/ab"]
    assert storage.list_scopes("/a") == ["/a/b", "/a/d"]
    assert storage.list_scopes("/a/b/c") == []
    assert (storage.count(), storage.count("/a"), storage.count("/none")) == (6, 4, 0)
    info = storage.get_scope_info("/a")
    assert (info.path, info.record_count, info.categories) == ("/a", 4, ["a", "b", "c", "d"])
    assert (info.oldest_record, info.newest_record) == (start + timedelta(days=1), start + timedelta(days=4))
    assert info.child_scopes == ["/a/b", "/a/d"]
    assert storage.list_categories("/a/b") == {"b": 1, "c": 1}
    assert storage.get_scope_info("/none").oldest_record is None


async def test_vectors_of_another_length_are_crewais_error(storage: MemoristStorage) -> None:
    bad = record("Likes tea")
    bad.embedding = [1.0, 0.0, 0.0]
    storage.save([record("Likes tea")])
    for call in (lambda: storage.save([bad]), lambda: storage.search([1.0, 0.0, 0.0])):
        with pytest.raises(EmbeddingDimensionMismatchError) as raised:
            call()
        assert not isinstance(raised.value, RuntimeError)
        assert str(HashEmbedder().dimensions) in str(raised.value)


async def test_users_and_other_records_are_apart(alice: Memory, bob: Memory, storage: MemoristStorage) -> None:
    note = await alice.remember("Likes tea")
    storage.save([record("Likes tea")])
    assert MemoristStorage(bob).list_records() == []
    assert MemoristStorage(bob).search(embed(["Likes tea"])[0]) == []
    assert storage.get_record(note.id) is None
    storage.reset()
    assert [each.id for each in await alice.recent()] == [note.id]


async def test_saves_from_many_threads_are_all_kept(storage: MemoristStorage) -> None:
    def save(number: int) -> None:
        storage.save([record(f"number {number}.{part}", f"/{number}") for part in range(3)])
        storage.search(embed(["number"])[0])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(16)))
    assert storage.count() == 48
    assert len(storage.list_scopes()) == 16


async def test_the_calls_of_coroutines_are_the_same(storage: MemoristStorage) -> None:
    await storage.asave([record("Likes tea", "/a")])
    [(best, _)] = await storage.asearch(embed(["Likes tea"])[0], scope_prefix="/a")
    assert best.content == "Likes tea"
    assert await storage.adelete(scope_prefix="/a") == 1


async def test_errors_are_told(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        storage = MemoristStorage(memory)
        with pytest.raises(InvalidInputError, match="blank"):
            storage.save([MemoryRecord(content=" ")])
    with pytest.raises(ClosedError):
        storage.count()


async def test_crewais_own_memory_runs_on_it(alice: Memory) -> None:
    set_memory_storage_factory(factory(alice))
    try:
        memory = CrewMemory(embedder=embed)
    finally:
        set_memory_storage_factory(None)
    whole: dict[str, Any] = {"scope": "/a", "categories": ["x"], "importance": 0.5, "metadata": {}}
    memory.remember("Likes tea", **whole)
    memory.remember_many(["Owns a boat", "Has a cat"], **whole)
    matches = memory.recall("Likes tea", depth="shallow")
    assert matches[0].record.content == "Likes tea"
    assert await alice.count(kind="note") == 3
    assert memory.forget(scope="/a") == 3
    memory.close()
