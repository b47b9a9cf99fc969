"""A store with an index: the same hits, always of the present and of the right user, whatever is stale in the index."""

import random
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from inside import core_of
from memorist import Draft, Memory
from memorist.config import Settings
from memorist.errors import StoreUnavailableError
from memorist.indexes import Index, IndexedStore, Near, Point, Position, open_index, token_of
from memorist.stores.base import Vector
from memorist.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from own_index import OwnIndex

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = pytest.mark.anyio
WORDS = "tea milk honey lemon sugar train garden sister budget violin harbour recipe winter lantern".split()
QUESTIONS = ["tea with honey", "the violin in the garden", "winter", "milk tea honey lemon"]
ASKED: list[dict[str, Any]] = [
    {}, {"where": {"n": {"$lt": 3}}}, {"kind": "fact"}, {"session": "s1"}, {"mode": "dense"}, {"where": {"n": 99}},
    {"limit": 150},
]  # fmt: skip


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that an index can follow."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    server: Server = request.getfixturevalue("server")
    return server.new_url()


@asynccontextmanager
async def opened(url: str, index: str | Index | None, largest: int = 20, **scope: Any) -> AsyncIterator[Memory]:
    settings = replace(Settings(), largest_index=largest, index=index)
    async with Memory.open(url, embedder=HashEmbedder(), settings=settings, **scope) as memory:
        yield memory


def drafts(count: int) -> list[Draft]:
    chance = random.Random(7)
    return [
        Draft(content=" ".join(chance.choices(WORDS, k=chance.randint(2, 9))), id=f"{n}", session=f"s{n % 9}",
              kind=chance.choice(["note", "fact"]), metadata={"n": n % 7})
        for n in range(count)
    ]  # fmt: skip


async def found(memory: Memory, question: str, **given: Any) -> list[tuple[str, float]]:
    hits = await memory.recall(question, **{"limit": 15, "now": "2025-01-01", **given})
    return [(hit.record.content, round(hit.similarity, 4)) for hit in hits]


def store_of(memory: Memory) -> IndexedStore:
    store = core_of(memory).store
    assert isinstance(store, IndexedStore)
    return store


async def catch_up(memory: Memory) -> None:
    """Bring the index up to date: a wall that is far ahead of it is followed in the background otherwise."""
    assert await store_of(memory).follow(memory.scope.wall)


class Asked(OwnIndex):
    """Counts the questions, and may be wrong or away."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = 0
        self.away = False
        self.lies: list[Near] = []

    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        self.questions += 1
        return [*self.lies, *super().nearest(wall, vector, limit)]

    def position(self, wall: str) -> Position | None:
        if self.away:
            raise StoreUnavailableError("the index is away")
        return super().position(wall)

    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        if self.away:
            raise StoreUnavailableError("the index is away")
        super().update(wall, points, gone, position)

    def purge(self, wall: str) -> None:
        if self.away:
            raise StoreUnavailableError("the index is away")
        super().purge(wall)


@pytest.mark.parametrize("kind", ["own", "qdrant", "chroma"])
async def test_the_same_hits_as_from_memory(url: str, kind: str, tmp_path: Path) -> None:
    index = Asked() if kind == "own" else open_index(f"{kind}:{tmp_path}")
    if kind != "own":
        pytest.importorskip({"qdrant": "qdrant_client", "chroma": "chromadb"}[kind])
    async with opened(url, None, 1000, user="alice") as whole, opened(url, index, user="alice") as large:
        await whole.remember(drafts(200))
        await whole.forget(where={"n": 3})
        await catch_up(large)
        for question in QUESTIONS:
            for given in ASKED:
                assert await found(large, question, **given) == await found(whole, question, **given), (question, given)
        assert not isinstance(index, Asked) or index.questions > 0
        assert await large.recall("tea") != []


async def test_what_was_written_before_the_call_is_found_through_the_index(url: str) -> None:
    index = Asked()
    async with opened(url, None, user="alice") as writer, opened(url, index, user="alice") as reader:
        await writer.remember(drafts(60))
        await catch_up(reader)
        for n in range(5):
            record = await writer.remember(f"The heron number{n} nests in May")
            [(first, _)] = await found(reader, f"heron number{n} nests in May", limit=1, mode="dense")
            assert first == record.content
            await writer.revise(record.id, content=f"The stork number{n} sleeps")
            [(first, _)] = await found(reader, f"The stork number{n} sleeps", limit=1, mode="dense")
            assert first == f"The stork number{n} sleeps"
            await writer.forget(record.id)
            assert f"The stork number{n} sleeps" not in dict(await found(reader, f"stork number{n}", limit=100))
        assert index.questions >= 15


async def test_what_is_stale_or_another_users_is_neither_found_nor_lost(url: str) -> None:
    index = Asked()
    async with opened(url, index) as everyone:
        alice, bob = everyone.scoped(user="alice"), everyone.scoped(user="bob")
        await alice.remember(drafts(60))
        secret = await bob.remember("Bob's secret tea")
        gone = await alice.remember("Tea that was forgotten")
        await alice.forget(gone.id)
        await catch_up(alice)
        entries = (await store_of(everyone).entries(bob.scope.wall, None, 0)).entries
        index.lies = [Near(entries[0].number, secret.id, 1.0), Near(10**9, gone.id, 1.0), Near(-1, "none", 1.0)]
        hits = await alice.recall("Bob's secret tea", limit=100)
        assert {hit.record.scope.user for hit in hits} == {"alice"}
        assert {hit.record.content for hit in hits} <= {draft.content for draft in drafts(60)}
        assert hits


async def test_recall_goes_on_without_the_index(url: str, caplog: pytest.LogCaptureFixture) -> None:
    index = Asked()
    async with opened(url, None, 1000, user="alice") as whole, opened(url, index, user="alice") as large:
        await whole.remember(drafts(60))
        index.away = True
        for question in QUESTIONS:
            assert await found(large, question) == await found(whole, question)
        assert index.questions == 0
        assert "the index is away" in caplog.text
        index.away = False
        assert await found(large, "tea") == await found(whole, "tea")


@pytest.mark.postgres
async def test_a_large_backlog_is_followed_behind_the_callers_back(
    server: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.stores.postgres import queries

    monkeypatch.setattr(queries, "_ENTRIES_AT_ONCE", 20)
    url, index = server.new_url(), Asked()
    async with opened(url, None, 1000, user="alice") as whole, opened(url, index, user="alice") as large:
        await whole.remember(drafts(100))
        assert await found(large, "tea", mode="dense") == await found(whole, "tea", mode="dense")
        assert index.questions == 0
        await catch_up(large)
        assert index.walls() == {token_of(large.scope.wall): 100}
        assert await found(large, "tea", mode="dense") == await found(whole, "tea", mode="dense")
        assert index.questions == 1


async def test_a_purge_empties_the_index_too(url: str) -> None:
    index = Asked()
    async with opened(url, index) as everyone:
        alice = everyone.scoped(user="alice")
        await alice.remember(drafts(60))
        await catch_up(alice)
        index.away = True
        with pytest.raises(StoreUnavailableError, match="purge again"):
            await alice.purge()
        index.away = False
        assert index.walls() == {token_of(alice.scope.wall): 60}
        assert (await alice.purge()).purged == 0
        assert index.walls() == {}
        await alice.remember(drafts(40))
        assert await alice.recall("tea") != []
        await catch_up(alice)
        assert index.walls() == {token_of(alice.scope.wall): 40}


async def test_another_process_purges_or_reindexes(url: str) -> None:
    index = Asked()
    async with opened(url, index, user="alice") as large, opened(url, None, user="alice") as other:
        await other.remember(drafts(60))
        await catch_up(large)
        await other.purge()
        await other.remember([replace(draft, id=f"new {draft.id}") for draft in drafts(30)])
        hits = await large.recall("tea honey", limit=100)
        assert hits
        assert all(hit.record.id.startswith("new ") for hit in hits)
        assert await store_of(large).check() == []
        assert index.walls() == {token_of(large.scope.wall): 30}


async def test_check_tells_of_an_index_that_differs_and_empties_it(url: str) -> None:
    index = Asked()
    async with opened(url, index) as everyone:
        alice = everyone.scoped(user="alice")
        await alice.remember(drafts(60))
        await catch_up(alice)
        assert await everyone.admin.check() == []
        position = index.position(token_of(alice.scope.wall))
        assert position is not None
        index.update(token_of(alice.scope.wall), [], list(range(100)), position)  # it lost some
        index.update("a user that was purged", [Point(1, "x", np.full(64, 0.125, np.float32))], [], position)
        told = await everyone.admin.check()
        assert len(told) == 2
        assert all("own index held" in each for each in told)
        assert index.walls() == {}
        assert await everyone.admin.check() == []
        await catch_up(alice)
        assert index.walls() == {token_of(alice.scope.wall): 60}
