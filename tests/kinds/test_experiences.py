from collections.abc import Callable
from typing import Any

import pytest

from memorist.errors import InvalidInputError
from memorist.memory import Memory

pytestmark = pytest.mark.anyio

WHEN = "A SQL query fails with an ambiguous column"
THEN = "Qualify every name with its table"


async def test_an_experience_is_found_by_when_to_use_it(alice: Memory) -> None:
    record = await alice.experiences.add(WHEN, THEN, score=0.9)

    assert (record.cue, record.content, record.payload) == (WHEN, THEN, {"score": 0.9})
    assert [hit.record for hit in await alice.experiences.search("ambiguous column in SQL")] == [record]
    assert await alice.experiences.search("qualify table", mode="lexical") == []


async def test_a_search_may_ask_for_a_score(alice: Memory) -> None:
    for score in (0.2, 0.5, 1):
        await alice.experiences.add(WHEN, f"{THEN}: {score}", score=score)

    found = await alice.experiences.search(WHEN, at_least=0.5)
    assert sorted(hit.record.payload["score"] for hit in found) == [0.5, 1]
    assert len(await alice.experiences.search(WHEN, limit=1)) == 1


@pytest.mark.parametrize("score", [None, True, "1", float("nan"), float("inf")])
async def test_a_score_is_a_number(alice: Memory, score: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^score must"):
        await alice.experiences.add(WHEN, THEN, score=score)


@pytest.mark.parametrize("wrong", ["", " ", None, 5])
async def test_both_texts_say_something(alice: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^when_to_use must"):
        await alice.experiences.add(wrong, THEN)
    with pytest.raises(InvalidInputError, match=r"^experience must"):
        await alice.experiences.add(WHEN, wrong)


async def test_get_and_delete_know_experiences_alone(alice: Memory, bob: Memory) -> None:
    record = await alice.experiences.add(WHEN, THEN)
    note = await alice.notes.add("a note")

    assert await alice.experiences.get(record.id) == record
    assert await alice.experiences.get(note.id) is None
    assert await bob.experiences.get(record.id) is None and await bob.experiences.search(WHEN) == []
    assert await bob.experiences.delete(record.id) == await alice.experiences.delete(note.id) == 0
    assert await alice.experiences.delete(record.id) == 1


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        record = await memory.experiences.add(WHEN, THEN)
    async with reopen(user="alice") as memory:
        assert [hit.record for hit in await memory.experiences.search(WHEN)] == [record]
