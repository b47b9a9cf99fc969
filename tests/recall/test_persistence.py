"""Indexes that are kept in the file: what a new process reads of them ranks as what it would have built."""

import asyncio
import itertools
import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from children import finish, keep_for_ever, open_memory, start
from inside import core_of, kept
from memorist.memory import Memory
from memorist.recall import vectors
from memorist.recall.index import WallIndex
from memorist.records.record import Draft
from memorist.stores.base import Entries, Store
from memorist.stores.sqlite.segments import SQLiteSegments
from opening import KEY_FROM, connect_to

pytestmark = pytest.mark.anyio

START = datetime(2023, 5, 1, tzinfo=UTC)
WORDS = "coffee train garden sister budget deploy violin harbour recipe meeting winter lantern yesterday always".split()
QUESTIONS = ("coffee in the garden", "What did Ann say about the train last May?", "the deploy of user seven", "tuna")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file whose indexes are kept early, in small segments."""
    monkeypatch.setattr("memorist.recall.persistence.KEPT_FROM", 10)
    monkeypatch.setattr("memorist.recall.persistence.SEGMENT_ROWS", 16)
    return tmp_path / "memory.db"


def rows_of(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    connection = connect_to(path)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def drafts(chance: random.Random, count: int) -> list[Draft]:
    return [
        Draft(
            content=" ".join(chance.choices(WORDS, k=chance.choice([2, 5, 30]))),
            kind="message" if chance.random() < 0.7 else "note",
            session=f"session {chance.randrange(4)}",
            agent=chance.choice([None, "a", "b"]),
            payload={"speaker": chance.choice(["Ann", "Bo", "assistant"])},
            happened_at=START + timedelta(minutes=chance.randrange(1_000_000)),
            expires_at=datetime(2100, 1, 1, tzinfo=UTC) if chance.random() < 0.1 else None,
        )
        for _ in range(count)
    ]


class Numbers(dict[str, float]):
    """Numbers by name, which are equal to five digits: another order of rows adds them up to others in the last."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Numbers)
        return dict(self) == pytest.approx(dict(other), abs=1e-5)


async def answers(memory: Memory) -> list[Any]:
    """Return what the questions are answered in every mode."""
    found = []
    for question in QUESTIONS:
        for mode in ("hybrid", "dense", "lexical"):
            hits = await memory.recall(question, limit=20, mode=mode, explain=True)
            found.append(
                [
                    (hit.record.id, hit.matched, Numbers(hit.signals, score=hit.score, similarity=hit.similarity))
                    for hit in hits
                ]
            )
    return found


async def built(path: Path) -> list[Any]:
    """Return the answers of a copy of the file in which no index is kept."""
    copy = path.with_name("built.db")
    rows_of(path, "VACUUM INTO ?", str(copy))
    rows_of(copy, "DELETE FROM segments")
    rows_of(copy, "DELETE FROM kept_indexes")
    async with open_memory(copy) as memory:
        found = await answers(memory)
    copy.unlink()
    return found


async def check_reopened(path: Path) -> None:
    """Check that a memory opened anew answers from what is kept as from an index that is built."""
    async with open_memory(path) as memory:
        assert await answers(memory) == await built(path)


def check_apart(path: Path) -> None:
    """Check that no two segments hold the same records."""
    spans = rows_of(path, "SELECT first, last FROM segments ORDER BY first")
    assert all(before[1] < after[0] for before, after in pairwise(spans))


class Reads:
    """Counts the entries that are read from records."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        store = core_of(memory).store
        original = store.entries

        async def entries(*given: Any) -> Entries:
            found = await original(*given)
            self.count += len(found.entries)
            return found

        monkeypatch.setattr(store, "entries", entries)


@pytest.mark.parametrize("seed", range(4))
async def test_a_kept_index_answers_as_a_built_one(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(6):
        async with open_memory(path) as memory:
            await answers(memory)
            for record in await memory.remember(drafts(chance, chance.randrange(1, 40))):
                if chance.random() < 0.2:
                    await memory.rate(record.id, chance.random())
            page = (await memory.browse(limit=1000)).records
            for record in chance.sample(page, min(len(page), 3)):
                await memory.revise(record.id, content=chance.choice(WORDS))
            for record in chance.sample(page, min(len(page), chance.randrange(3))):
                if await memory.get(record.id):
                    await memory.forget(record.id)
            await answers(memory)
            await asyncio.sleep(0)
        async with open_memory(path) as memory:
            assert await answers(memory) == await built(path)
    assert rows_of(path, "SELECT count(*) > 3 FROM segments WHERE data IS NOT NULL") == [(1,)]


async def test_a_new_process_reads_only_what_came_since(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_memory(path) as memory:
        await memory.remember(drafts(random.Random(1), 40))
        await memory.recall("coffee")
        await memory.remember(["coffee beans", "a garden"])
    before = rows_of(path, "SELECT id, checksum FROM segments")
    async with open_memory(path) as memory:
        reads = Reads(memory, monkeypatch)
        assert (await memory.recall("beans", limit=1))[0].record.content == "coffee beans"
        assert reads.count == 2
    assert len(before) == 3
    assert rows_of(path, "SELECT id, checksum FROM segments") == before, "two are too few to be kept"


async def test_only_the_segments_with_a_change_are_written_anew(path: Path) -> None:
    async with open_memory(path) as memory:
        records = await memory.remember(drafts(random.Random(1), 40))
        await memory.recall("coffee")
    before = rows_of(path, "SELECT id FROM segments ORDER BY first")
    async with open_memory(path) as memory:
        for _ in range(12):
            await memory.revise(records[20].id, content=f"{records[20].content} again")
        await memory.rate(records[20].id, 1)
        await memory.remember(drafts(random.Random(2), 20))
        await memory.recall("coffee")
    after = rows_of(path, "SELECT id FROM segments ORDER BY first")
    assert after[0] == before[0] and not {*after[1:]} & {*before}
    assert len(after) == 4


async def test_a_forgotten_record_takes_its_segment_along(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_memory(path) as memory:
        records = await memory.remember([f"note {n} qmarkz{n}q" for n in range(40)])
        await memory.recall("note")
    assert b"qmarkz5q" in rows_of(path, "SELECT data FROM segments ORDER BY first")[0][0]
    async with open_memory(path) as memory:
        await memory.forget(records[5].id)
        assert rows_of(path, "SELECT data IS NULL FROM segments ORDER BY first") == [(1,), (0,), (0,)]
    async with open_memory(path) as memory:
        reads = Reads(memory, monkeypatch)
        hits = await memory.recall("note", limit=100)
        assert {hit.record.id for hit in hits} == {record.id for record in records} - {records[5].id}
        assert reads.count == 0, "the other segments are whole"
        assert await answers(memory) == await built(path)


async def test_an_expired_record_takes_its_segment_along(path: Path) -> None:
    soon, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 9))
    async with open_memory(path) as memory:
        await memory.remember([Draft(content=f"note {n}", expires_at=soon if n == 3 else later) for n in range(40)])
        await memory.recall("note")
    async with open_memory(path) as memory:
        assert await core_of(memory).store.sweep(soon) == 1
    assert rows_of(path, "SELECT data IS NULL FROM segments ORDER BY first") == [(1,), (0,), (0,)]


async def test_a_record_forgotten_while_it_is_written_is_not_written(path: Path) -> None:
    async with open_memory(path) as memory:
        [record, *_] = await memory.remember(["qmarkz", *(f"note {n}" for n in range(39))])
        core = core_of(memory)
        await memory.recall("note")  # begins to keep; the store is asked to forget before it writes
        await memory.forget(record.id)
        await core.recaller.indexes.close()
    assert all(b"qmarkz" not in (data or b"") for (data,) in rows_of(path, "SELECT data FROM segments"))
    await check_reopened(path)


def hold(monkeypatch: pytest.MonkeyPatch, name: str, turn: int) -> tuple[asyncio.Event, asyncio.Event]:
    """Let one call of a method of the segments wait, the first being turn 1; return an event that says that it has
    come, and one that lets it go on."""
    came, go, count, original = asyncio.Event(), asyncio.Event(), itertools.count(1), getattr(SQLiteSegments, name)

    async def held(*given: Any, **named: Any) -> Any:
        if next(count) == turn:
            came.set()
            await go.wait()
        return await original(*given, **named)

    monkeypatch.setattr(SQLiteSegments, name, held)
    return came, go


async def test_what_changes_while_an_index_is_kept_is_kept_the_next_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, go = hold(monkeypatch, "put", 1)
    async with open_memory(path) as memory:
        records = await memory.remember(drafts(random.Random(1), 40))
        await memory.recall("coffee")
        await came.wait()
        await memory.remember([Draft(content="tuna", supersedes=record.id) for record in records[:12]])
        await memory.recall("coffee")  # much has come, but the first write is still under way
        go.set()
        await kept(memory)
        await memory.remember(drafts(random.Random(2), 12))
        await memory.recall("coffee")
    await check_reopened(path)


async def test_a_memory_that_has_read_half_of_what_another_keeps_does_not_go_on_writing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halfway, go = hold(monkeypatch, "put", 5)
    begins, late = hold(monkeypatch, "begin", 3)
    async with open_memory(path) as one, open_memory(path) as other:
        for seed in (1, 2):  # three segments each time
            await one.remember(drafts(random.Random(seed), 40))
            await one.recall("coffee")
            await (kept(one) if seed == 1 else halfway.wait())
        await other.recall("coffee")
        await begins.wait()
        go.set()
        await kept(one)
        late.set()
    await check_reopened(path)
    check_apart(path)


async def test_a_record_whose_new_kind_is_found_is_kept_though_it_lay_between_the_segments(path: Path) -> None:
    async with open_memory(path) as memory:
        for id in ("first", "second"):
            await memory.remember(Draft(content="tuna", id=id, kind="topic"))
            await memory.remember(drafts(random.Random(1), 16))
        await memory.recall("coffee")
        await memory.remember([Draft(content="tuna", id=id) for id in ("first", "second")], if_exists="replace")
        await memory.remember(drafts(random.Random(2), 10))
        await memory.recall("coffee")
    async with open_memory(path) as memory:
        assert {hit.record.id for hit in await memory.recall("tuna", limit=2)} == {"first", "second"}
        assert await answers(memory) == await built(path)


async def test_records_whose_new_kind_is_not_found_leave_the_last_segment(path: Path) -> None:
    async with open_memory(path) as memory:
        records = await memory.remember(["coffee"] * 30)
        await memory.recall("coffee")
        topics = [Draft(content="coffee", id=record.id, kind="topic") for record in records[16:]]
        await memory.remember(topics, if_exists="replace")
        await memory.recall("coffee")
    async with open_memory(path) as memory:
        assert {hit.record.kind for hit in await memory.recall("coffee", limit=30)} == {"note"}
        assert await answers(memory) == await built(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE segments SET data = zeroblob(length(data)) WHERE id % 2",
        "UPDATE segments SET checksum = checksum + 1",
        "UPDATE segments SET data = substr(data, 1, 100)",
        "UPDATE kept_indexes SET form = 'of another version'",
        "UPDATE kept_indexes SET generation = '7.7'",
        "UPDATE kept_indexes SET epoch = 0",
        "DELETE FROM kept_indexes",
    ],
)
async def test_what_cannot_be_used_is_read_from_the_records_and_kept_again(path: Path, damage: str) -> None:
    async with open_memory(path) as memory:
        await memory.remember(drafts(random.Random(1), 40))
        await memory.recall("coffee")
    whole = rows_of(path, "SELECT first, last, length(data) FROM segments ORDER BY first")
    rows_of(path, damage)
    async with open_memory(path) as memory:
        assert await answers(memory) == await built(path)
        await memory.remember(drafts(random.Random(2), 12))
        await memory.recall("coffee")
    again = rows_of(path, "SELECT first, last, length(data) FROM segments ORDER BY first")
    assert [span[:2] for span in again[:2]] == [span[:2] for span in whole[:2]]
    assert sum(size for *_, size in again) > sum(size for *_, size in whole)
    await check_reopened(path)


async def test_codes_are_kept_as_codes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("index", "vectors", "persistence"):
        monkeypatch.setattr(f"memorist.recall.{module}.BLOCK_ROWS", 64)
    chance = random.Random(5)
    sizes = []
    for _ in range(4):  # whole at first, codes from the third time on
        async with open_memory(path) as memory:
            await memory.remember(drafts(chance, 30))
            await memory.recall("coffee")
        async with open_memory(path) as memory:
            assert await answers(memory) == await built(path)
        sizes.append(rows_of(path, "SELECT max(length(data)) FROM segments WHERE last - first >= 15")[0][0])
    async with open_memory(path) as memory:
        for record in (await memory.browse(limit=70)).records:
            await memory.forget(record.id)
        await memory.recall("coffee")
    async with open_memory(path) as memory:
        assert await answers(memory) == await built(path), "few enough to be held whole again"


async def test_two_memories_that_keep_the_same_wall(path: Path) -> None:
    async with open_memory(path) as one, open_memory(path) as other:
        for turn in range(5):
            await one.remember(drafts(random.Random(turn), 15))
            await other.remember(drafts(random.Random(-turn), 15))
            await asyncio.gather(one.recall("coffee"), other.recall("coffee"), one.recall("garden"))
        assert await answers(one) == await answers(other)
    await check_reopened(path)
    check_apart(path)


async def test_a_file_that_cannot_be_written_is_searched_all_the_same(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember(drafts(random.Random(1), 40))
    async with Memory.open(path, embedder="hash", settings=_impatient(path)) as memory:
        lock = connect_to(path)
        lock.execute("BEGIN IMMEDIATE")
        assert await memory.recall("coffee")
        await core_of(memory).recaller.indexes.close()
        lock.execute("ROLLBACK")
        lock.close()
    assert rows_of(path, "SELECT count(*) FROM segments") == [(0,)]


def _impatient(path: Path) -> Any:
    from memorist.config import Settings

    return Settings(url=str(path), busy_timeout=0.05, key_from=KEY_FROM)


async def test_codes_may_lie_in_plain_beside_a_plain_file_only(path: Path) -> None:
    async with open_memory(path) as memory:
        segments = core_of(memory).store.segments
        assert segments is not None
        assert segments.folder == (path.parent if KEY_FROM is None else None)


async def test_a_memory_in_this_process_keeps_nothing() -> None:
    async with open_memory(":memory:") as memory:
        store: Store = core_of(memory).store
        assert store.segments is None


async def test_a_reindex_deletes_the_old_vectors(path: Path) -> None:
    async with open_memory(path) as memory:
        await memory.remember(drafts(random.Random(1), 40))
        await memory.recall("coffee")
    finish(start(_reindex(), path, 64))
    assert rows_of(path, "SELECT count(*) FROM segments") == [(0,)]


def _reindex() -> Any:
    from children import reindex

    return reindex


@pytest.mark.slow
async def test_a_kill_while_segments_are_written(path: Path) -> None:
    chance = random.Random(3)
    for _ in range(4):
        process = start(keep_for_ever, path)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        await asyncio.sleep(chance.uniform(0.0, 1.0))
        process.kill()
        process.communicate()
        async with open_memory(path) as memory:
            assert await answers(memory) == await built(path)
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]


def test_rows_put_back_are_found_by_number() -> None:
    index = WallIndex(4)
    assert index.rows_of([1, 2]).tolist() == []
    assert vectors.VectorTable(4).held(np.array([], np.intp))[0].shape == (0, 4)
