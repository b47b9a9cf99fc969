from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memorist.errors import InvalidInputError, NotFoundError
from memorist.kinds import Episode
from memorist.memory import Memory

pytestmark = pytest.mark.anyio


async def test_a_question_and_its_answer(alice: Memory) -> None:
    record = await alice.episodes.add(
        question="What is the capital of Australia?", answer="Canberra, not Sydney.", metadata={"session_id": "s"}
    )

    assert record.content == "Q: What is the capital of Australia?\nA: Canberra, not Sydney."
    assert Episode.of(record) == Episode(question="What is the capital of Australia?", answer="Canberra, not Sydney.")
    assert record.metadata == {"session_id": "s"}
    [hit] = await alice.episodes.search("What about Sydney, Australia?")
    assert hit.record == record


async def test_a_task_and_how_it_went(alice: Memory) -> None:
    record = await alice.episodes.add(task="Book a flight", rollout="zebra, then", result="", error="Timeout: 30 s")

    assert record.content == "Task: Book a flight\nError: Timeout: 30 s"
    assert Episode.of(record) == Episode(task="Book a flight", rollout="zebra, then", result="", error="Timeout: 30 s")
    assert await alice.episodes.search("zebra", mode="lexical") == []


async def test_a_cue_is_matched_in_place_of_the_text(alice: Memory) -> None:
    record = await alice.episodes.add(task="Book a flight", result="Done", cue="travel to Norway")

    assert [hit.record for hit in await alice.episodes.search("norway", mode="lexical")] == [record]
    assert await alice.episodes.search("flight", mode="lexical") == []


@pytest.mark.parametrize(
    "parts",
    [
        {}, {"question": "a"}, {"answer": "a"}, {"question": "a", "answer": " "}, {"result": "a"},
        {"question": "a", "answer": "b", "task": "c"}, {"task": ""}, {"task": 5}, {"task": "a", "rollout": ["b"]},
    ],
)  # fmt: skip
async def test_what_is_no_episode_is_refused(alice: Memory, parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        await alice.episodes.add(**parts)
    assert await alice.episodes.recent() == []


async def test_the_newest_come_first(alice: Memory) -> None:
    for day in (2, 3, 1):
        await alice.episodes.add(task=f"day {day}", happened_at=datetime(2024, 5, day, tzinfo=UTC))
    await alice.notes.add("no episode")

    assert [each.payload["task"] for each in await alice.episodes.recent()] == ["day 3", "day 2", "day 1"]
    assert [each.payload["task"] for each in await alice.episodes.recent(1, until="2024-05-03")] == ["day 2"]


async def test_an_update_changes_what_is_given(alice: Memory) -> None:
    old = await alice.episodes.add(task="Book a flight", rollout="…", metadata={"a": 1})
    new = await alice.episodes.update(old.id, result="Booked SK 802", source="agent")

    assert (new.id, new.version, new.metadata) == (old.id, 2, {"a": 1})
    assert Episode.of(new) == Episode(task="Book a flight", rollout="…", result="Booked SK 802")
    assert [hit.record.id for hit in await alice.episodes.search("SK 802", mode="lexical")] == [old.id]
    assert (await alice.episodes.update(old.id, metadata={"b": 2})).content == new.content

    with pytest.raises(InvalidInputError):
        await alice.episodes.update(old.id, question="two kinds at once?")
    with pytest.raises(InvalidInputError):
        await alice.episodes.update(old.id)
    with pytest.raises(NotFoundError):
        await alice.episodes.update("nobody", result="x")
    assert await alice.episodes.get(old.id) == await alice.get(old.id)


async def test_get_and_delete_know_episodes_alone(alice: Memory, bob: Memory) -> None:
    record = await alice.episodes.add(task="mine")
    note = await alice.notes.add("a note")

    assert await bob.episodes.get(record.id) is None and await bob.episodes.search("mine") == []
    assert await alice.episodes.get(note.id) is None
    with pytest.raises(NotFoundError):
        await alice.episodes.update(note.id, result="x")
    with pytest.raises(NotFoundError):
        await bob.episodes.update(record.id, result="x")
    assert await bob.episodes.delete(record.id) == await alice.episodes.delete(note.id) == 0
    assert await alice.episodes.delete(record.id) == 1


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        record = await memory.episodes.add(question="Capital?", answer="Canberra")
    async with reopen(user="alice") as memory:
        assert await memory.episodes.recent() == [record]
        assert [hit.record for hit in await memory.episodes.search("Canberra")] == [record]
