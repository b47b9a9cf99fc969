"""A wall too large to be read whole gives the same hits: its store finds the candidates, and they are ranked alike."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inside import core_of, walls_held
from memorist import Draft, Hit, Kind, Memory
from memorist.config import Settings
from memorist.errors import EmbedderMismatchError, InvalidInputError
from memorist.recall import rank
from memorist.recall.sought import Sought
from memorist.stores.base import Entries
from memorist.stores.postgres import queries
from memorist.testing import HashEmbedder

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from own_index import OwnIndex

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

WORDS = "tea milk honey lemon sugar train garden sister budget violin harbour recipe winter lantern".split()
QUESTIONS = [
    "Tea with honey.", "The violin in the garden in May 2024.", "Winter.", "what did Ann say of the train?",
    "My sister's budget.", "The recipe of last week.", "Nothing of that kind.", "Tea milk honey lemon.", "Bo and Ann.",
]  # fmt: skip
"""None asks for a state, which is told by what is usual in the wall, here among the candidates."""
ASKED: list[dict[str, Any]] = [
    {"where": {"n": {"$lt": 3}}}, {"kind": "fact"}, {"kind": ["message", "note"]}, {"session": "s1"},
    {"agent": "planner"}, {"mode": "dense"}, {"mode": "lexical"}, {"mode": "lexical", "session": "s2"},
    {"since": "2024-05-01", "until": "2024-09-01"}, {"as_of": "2024-06-15"}, {"payload": {"speaker": "Ann"}},
    {"min_score": 0.4}, {"min_similarity": 0.3}, {"limit": 3}, {"limit": 1000},
    {"where": {"n": 99}}, {"verified": True},
]  # fmt: skip


@pytest.fixture(params=["postgres", "sqlite"])
def large_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store whose large walls need not be read: PostgreSQL with HNSW, or a file with an index beside it."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    server: Server = request.getfixturevalue("server")
    return server.new_url(hnsw="on")


@asynccontextmanager
async def opened(url: str, largest: int, **scope: Any) -> AsyncIterator[Memory]:
    """Open a memory that holds no wall of more records than `largest` whole."""
    settings = replace(Settings(), largest_index=largest, index=OwnIndex() if url.endswith("memory.db") else None)
    async with Memory.open(url, embedder=HashEmbedder(), settings=settings, **scope) as memory:
        yield memory


def never_whole(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where the memory reads a wall whole."""

    async def entries(*_: object) -> Entries:
        raise AssertionError("the wall was read")

    monkeypatch.setattr(core_of(memory).store, "entries", entries)


def drafts(count: int, seed: int = 11) -> list[Draft]:
    """Return notes, facts, episodes, and talk of two or three, with all that a filter may ask about."""
    chance, made = random.Random(seed), []
    for n in range(count):
        kind = chance.choice(["note", "fact", "episode", "message", "message", "message"])
        spoken = {"speaker": chance.choice(["Ann", "Bo", "user"])} if kind == "message" else None
        made.append(
            Draft(
                content=" ".join(chance.choices(WORDS, k=chance.randint(2, 9))), id=f"{n}", kind=kind,
                metadata={"n": n % 7}, happened_at=datetime(2023, 11, 1, tzinfo=UTC) + timedelta(days=n % 400, hours=n),
                session=f"s{n % 9}" if kind == "message" or n % 2 else None, payload=spoken,
                key=f"k{n}" if n % 5 == 0 else None, agent="planner" if n % 3 == 0 else None, verified=n % 4 == 0,
            )
        )  # fmt: skip
    # One voice alone is no conversation.
    made += [
        Draft(content=f"{chance.choice(WORDS)} {n}", id=f"alone {n}", kind="message", session="alone",
              payload={"speaker": "Cy"}, happened_at=datetime(2024, 6, 1, 0, n, tzinfo=UTC))
        for n in range(9)
    ]  # fmt: skip
    return made


async def stored(memory: Memory) -> None:
    """Store them, and have some forgotten, revised, rated, superseded and expired."""
    await memory.remember(drafts(250))
    await memory.forget(where={"n": 3})
    await memory.revise("4", content="The winter violin", metadata={"n": 2})
    await memory.rate("8", 1.0)
    await memory.rate("9", -1.0)
    for fact in (await memory.browse(kind="fact", limit=4)).records:
        await memory.facts.supersede(fact.id, "tea in the harbour", happened_at="2024-06-01")
    await memory.remember([Draft(content="tea and honey that is over", expires_at=datetime(2024, 1, 1, tzinfo=UTC))])


def seen(hits: list[Hit]) -> list[tuple[str, float, float, dict[str, float]]]:
    return [
        (hit.record.content, hit.similarity, hit.score, dict(hit.signals))  # ids are made up, contents are not
        for hit in hits
    ]


@pytest.mark.parametrize("large_url", ["postgres", "postgres by index", "sqlite"], indirect=True)
async def test_the_same_hits_as_from_memory(
    large_url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Apart from what replaces what, which depends on the mean of all texts; that is tried below."""
    monkeypatch.setattr(rank, "sought_by", lambda *_: Sought())
    url = large_url
    if "by index" in request.node.name:
        monkeypatch.setattr(queries, "MOST_EXACT", 5)
    async with opened(url, 1000, user="alice") as whole, opened(url, 5, user="alice") as large:
        await stored(whole)
        never_whole(large, monkeypatch)
        for number, question in enumerate(QUESTIONS):
            for given in ({}, *ASKED[number::3]):
                given = {"limit": 20, "now": "2025-01-01", "explain": True, **given}
                ours, theirs = [seen(await each.recall(question, **given)) for each in (large, whole)]
                assert [hit[0] for hit in ours] == [hit[0] for hit in theirs], (question, given)
                for (_, one, score, signals), (_, other, likely, expected) in zip(ours, theirs, strict=True):
                    assert one == pytest.approx(other, abs=1e-5), (question, given)
                    # Its share is the one among the candidates, who have nearly all of it.
                    assert score == pytest.approx(likely, rel=0.05, abs=1e-5), (question, given)
                    shares = [each.pop("share", 0.0) for each in (signals, expected)]
                    assert shares[0] == pytest.approx(shares[1], rel=0.05, abs=1e-5), (question, given)
                    blind = [each.pop("blind", 0.0) for each in (signals, expected)]  # of fewer records, likewise
                    assert blind[0] == pytest.approx(blind[1], rel=0.1), (question, given)
                    assert signals == pytest.approx(expected, abs=1e-4), (question, given)


async def test_what_holds_stands_first_behind_a_large_wall(large_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(large_url, 5, user="alice") as large:
        await large.remember(drafts(80))
        said = [("the door code is 4471", "2025-01-01"), ("the door code is 8802", "2025-03-01")]
        await large.remember([Draft(content=text, happened_at=day) for text, day in said])
        never_whole(large, monkeypatch)
        for question in ("door code", "what is the door code?", "what is the door code now?"):
            assert (await large.recall(question, limit=1))[0].record.content == said[1][0], question


async def test_a_large_wall_beside_a_small_one(large_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url, found = large_url, []
    async with opened(url, 1000) as everyone:
        await everyone.scoped(user="alice").remember(drafts(80))
        await everyone.scoped(user="bob").remember("Bob's tea")
        await everyone.remember(["Tea for everyone", "Milk for everyone"])
    for largest in (1000, 20):
        async with opened(url, largest, user="alice") as alice:
            found.append([seen(await alice.recall(question, limit=15, shared=True)) for question in QUESTIONS])
    for one, other in zip(*found, strict=True):
        assert [hit[0] for hit in one] == [hit[0] for hit in other]
        assert "Bob's tea" not in {hit[0] for hit in one}


async def test_what_was_written_before_the_call_is_found(large_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = large_url
    async with opened(url, 5, user="alice") as writer, opened(url, 5, user="alice") as reader:
        await writer.remember(drafts(30))
        never_whole(reader, monkeypatch)
        for n in range(10):
            record = await writer.remember(f"The heron number{n} nests in May")
            [first, *_] = await reader.recall(f"heron number{n}")
            assert first.record.id == record.id
            await writer.revise(record.id, content=f"The stork number{n} sleeps")
            [first, *_] = await reader.recall(f"stork number{n}")
            assert first.record.content == f"The stork number{n} sleeps"
            await writer.forget(record.id)
            assert record.id not in {hit.record.id for hit in await reader.recall(f"stork number{n}", limit=100)}
        monkeypatch.undo()
        await writer.purge()  # then there is nothing large to ask about
        assert await reader.recall("tea") == []


async def test_a_wall_that_grows_is_let_go_of_and_one_that_shrinks_is_read(large_url: str) -> None:
    async with opened(large_url, 20, user="alice") as alice:
        await alice.remember([f"Tea {n}" for n in range(20)])
        assert len(await alice.recall("tea", limit=100)) == 20
        assert walls_held(alice) == 1
        await alice.remember("Tea again", id="again")
        assert len(await alice.recall("tea", limit=100)) == 21
        assert walls_held(alice) == 0
        await alice.forget("again")
        assert len(await alice.recall("tea", limit=100)) == 20
        assert walls_held(alice) == 1


async def test_only_a_store_that_finds_candidates_spares_the_reading(server: "Server") -> None:
    for url in (server.new_url(), ":memory:"):
        async with opened(url, 3, user="alice") as alice:
            await alice.remember([f"Tea {n}" for n in range(9)])
            assert len(await alice.recall("tea", limit=100)) == 9
            assert walls_held(alice) == 1


async def test_many_ask_and_write_at_once(server: "Server", monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(server.new_url(hnsw="on", pool_size=3), 10, user="alice") as alice:
        await alice.remember(drafts(60))
        never_whole(alice, monkeypatch)

        async def lane(lane: int) -> None:
            for turn in range(5):
                record = await alice.remember(f"word{lane}x{turn}")
                hits = await alice.recall(f"word{lane}x{turn}", limit=3)
                assert hits[0].record.id == record.id
                await alice.forget(record.id)

        await asyncio.gather(*(lane(n) for n in range(8)))
        assert {hit.record.content for hit in await alice.recall("tea", limit=100)} <= {
            draft.content for draft in drafts(60)
        }


async def test_the_server_does_not_answer_for_another_embedder(large_url: str) -> None:
    url = large_url
    async with opened(url, 3, user="alice") as alice:
        await alice.remember([f"Tea {n}" for n in range(9)])
        assert len(await alice.recall("tea")) == 5
        settings = replace(Settings(), largest_index=3, reindexing=True)
        async with Memory.open(url, embedder=HashEmbedder(32), settings=settings) as other:
            assert await other.admin.reindex() == 9
            assert len(await other.scoped(user="alice").recall("tea")) == 5
        with pytest.raises(EmbedderMismatchError, match="memorist reindex"):
            await alice.recall("tea")


async def test_only_so_many_hits_of_a_large_wall(large_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from memorist.recall import large

    monkeypatch.setattr(large, "CANDIDATES", 6)
    monkeypatch.setattr(large, "MOST", 8)
    async with opened(large_url, 10, user="alice") as alice:
        await alice.remember([f"Tea {n}" for n in range(60)])
        assert len(await alice.recall("tea", limit=5)) == 5
        assert 8 <= len(await alice.recall("tea", limit=100)) <= 16  # by vector, and by words


async def test_the_outline_is_what_is_there(large_url: str) -> None:
    """Counted as it is written, and read off the indexes; a speaker's name may be any text."""
    async with opened(large_url, 0, user="alice") as alice:
        store = core_of(alice).store
        wall = alice.scope.wall
        assert await store.outline(wall, 0) is None
        await stored(alice)
        topic = await alice.topics.set("tea", "not found by meaning")
        await alice.remember(
            [
                Draft(content="tea", kind=Kind.MESSAGE, session="x", payload={"speaker": name}, happened_at=at)
                for name, at in (("", "0999-01-01"), ("Zoë \0", "1969-12-31"), ("long " * 900, "9999-12-31"))
            ]
        )
        outline = await store.outline(wall, 100)
        entries = (await store.entries(wall, None, 0)).entries
        assert outline is not None
        assert outline.rows == len(entries)
        assert outline.length == pytest.approx(sum(len(each.terms.split()) for each in entries) / len(entries))
        assert {name[:200] for name in outline.speakers} == {
            each.speaker[:200] for each in entries if each.speaker is not None
        }
        assert list(outline.years) == [999, 1969, 2023, 2024, topic.at.year, 9999]
        assert await store.outline(wall, outline.rows) is None


async def test_changes_of_a_wall_that_is_not_held_whole_are_refused(large_url: str) -> None:
    async with opened(large_url, 3, user="alice") as memory:
        await memory.remember([f"I pay {number} for tea now" for number in range(5)])
        with pytest.raises(InvalidInputError, match="MEMORIST_LARGEST_INDEX"):
            await memory.changes()
