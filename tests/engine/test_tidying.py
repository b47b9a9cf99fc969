"""tidy and archive: what is proposed, and that nothing goes without a yes nor for good."""

import numpy as np
import pytest

from clocks import MovedClock
from memorist import Memory
from memorist.config import Settings
from memorist.errors import InvalidInputError, NotFoundError
from memorist.recall.alike import _candidates, alike
from memorist.recall.index import WallIndex
from memorist.records.record import Kind
from memorist.stores.base import Entries, Entry
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


def opened(**given: object) -> Memory:
    return Memory.open(":memory:", embedder=HashEmbedder(), user="alice", **given)  # type: ignore[arg-type]


async def test_notes_that_say_the_same_are_proposed_once_and_merged_on_request() -> None:
    async with opened() as memory:
        first = await memory.remember("Prefers homestays when she travels to Lisbon", author="user")
        second = await memory.remember("Prefers homestays when she travels to Lisbon!", author="import")
        third = await memory.remember("prefers homestays, when she travels to Lisbon", author="tool", verified=True)
        for other in ("Rents 12 rooms in Lisbon", "Rents 13 rooms in Lisbon", "Likes tea"):
            await memory.remember(other)
        await memory.remember("Prefers homestays when she travels to Lisbon", agent="other")
        await memory.remember("Prefers homestays when she travels to Lisbon", kind="message", session="s")
        [found] = (await memory.admin.tidy(what="duplicate")).suggestions
        assert found.keep is not None and found.keep.id == third.id
        assert {each.id for each in found.records} == {first.id, second.id}
        assert await memory.count() == 8

        assert await memory.admin.archive(*found.records, by=third.id, source="me") == 2
        assert await memory.admin.archive(*found.records, by=third.id) == 0
        kept = await memory.get(third.id)
        assert kept is not None and {*kept.origin.authors.names} == {"user", "import", "tool"}
        assert [each.id for each in await memory.find([first.id]) if each.superseded_by == third.id] == [first.id]
        assert (await memory.admin.tidy(what="duplicate")).suggestions == ()
        texts = [hit.record.id for hit in await memory.recall("homestays in Lisbon", limit=9)]
        assert first.id not in texts and third.id in texts
        assert (await memory.history(first.id))[-1].source == "me"

        assert await memory.admin.archive(first, second, undo=True) == 2
        assert len((await memory.admin.tidy(what="duplicate")).suggestions) == 1


async def test_what_a_later_note_contradicts_is_proposed() -> None:
    async with Memory.open(":memory:", user="alice") as memory:
        await memory.remember(["Likes green tea", "Owns a red bicycle", "Plays chess on Sundays", "Has two sisters"])
        old = await memory.remember("The office of the company is in Porto", happened_at="2024-01-01")
        new = await memory.remember(
            "The office of the company is no longer in Porto, it moved to Lisbon", happened_at="2024-06-01"
        )
        report = await memory.admin.tidy(what="contradiction")
        pairs = [([each.id for each in found.records], found.keep and found.keep.id) for found in report.suggestions]
        assert ([old.id], new.id) in pairs


async def test_junk_of_imports_is_proposed_and_what_a_person_wrote_is_not() -> None:
    async with opened() as memory:
        notes = ["<Media omitted>", "👍", "This message was deleted", "null"]
        await memory.remember([{"content": each, "source": "import:whatsapp"} for each in notes])
        await memory.remember([{"content": "Sent from my phone, sorry", "source": "import:mail"} for _ in range(10)])
        await memory.remember("null")
        await memory.remember("Null results are results", source="import:whatsapp")
        found = (await memory.admin.tidy(what="junk")).suggestions
        assert sorted(each.records[0].content for each in found if each.keep is None) == sorted(notes)
        [same] = [each for each in found if each.keep is not None]
        assert len(same.records) == 9
        report = await memory.admin.tidy(what="junk", limit=2)
        assert len(report.suggestions) == 2 and report.more == ("junk",)


async def test_what_no_call_recalled_is_proposed_once_traces_go_back_far_enough(clock: MovedClock) -> None:
    settings = Settings(keep_traces="365d", clock=clock)
    async with opened(settings=settings) as memory:
        used, unused = await memory.remember(["Likes tea", "Owns a red bicycle"])
        verified = await memory.remember("Owns a boat", verified=True)
        await memory.recall("tea", limit=1)
        report = await memory.admin.tidy(what="unused")
        assert report.suggestions == () and "MEMORIST_KEEP_TRACES" in report.untried["unused"]
        clock.advance(31 * 86400)
        await memory.recall("tea", limit=1)
        await memory.remember("Came later")
        found = (await memory.admin.tidy(what="unused")).suggestions
        assert [each.id for found in found for each in found.records] == [unused.id]
        assert used.id and verified.id


async def test_nobody_elses_records_are_compared_or_archived() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        mine, his = await alice.remember("Likes green tea"), await bob.remember("Likes green tea")
        assert (await alice.admin.tidy(what="duplicate")).suggestions == ()
        assert await alice.admin.archive(his.id) == 0
        with pytest.raises(NotFoundError):
            await alice.admin.archive(mine.id, by=his.id)
        assert (await alice.get(mine.id)) == mine and await bob.count() == 1


async def test_wrong_calls_change_nothing() -> None:
    async with opened() as memory:
        one, other = await memory.remember(["One", "Other"], kind="topic", metadata={})
        await memory.topics.set("tea", "green")
        topic = await memory.lookup("tea")
        assert topic is not None
        await memory.admin.archive(topic.id)
        await memory.topics.set("tea", "black")
        with pytest.raises(Exception, match="key"):
            await memory.admin.archive(topic.id, undo=True)
        await memory.admin.archive(one.id)
        with pytest.raises(InvalidInputError, match="superseded itself"):
            await memory.admin.archive(other.id, by=one.id)
        for given in ((), (other.id,)):
            with pytest.raises(InvalidInputError):
                await memory.admin.archive(*given, by=one.id, undo=True)
        assert await memory.admin.archive("unknown") == 0
        assert (await memory.get(other.id)) == other


@pytest.mark.parametrize("count", [500, 5000])
def test_comparing_costs_so_much_for_each_record_however_many_there_are(count: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((count, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[count - 1] = vectors[0]
    index = WallIndex(32)
    entries = [
        Entry(n + 1, str(n), Kind.NOTE, None, None, None, n, None, None, None, f"word{n % (count - 1)} tea", vector)
        for n, vector in enumerate(vectors)
    ]
    index.update(Entries("g", count, entries, []))
    rows = np.arange(count)
    assert sum(len(one) for one, _ in _candidates(index, rows)) <= 48 * count
    assert [pair[:2] for pair in alike(index, rows)] == [(0, count - 1)]
