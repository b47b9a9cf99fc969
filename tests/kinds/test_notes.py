from collections.abc import Callable
from typing import Any

import pytest

from memorist.errors import ConflictError, InvalidInputError
from memorist.memory import Memory
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio


async def test_a_note_is_found_by_what_it_says(alice: Memory) -> None:
    note = await alice.notes.add(
        "The staging database is wiped every Sunday night", source="ops", metadata={"team": "a"}
    )
    await alice.notes.add("Lunch is at noon", metadata={"team": "b"})
    await alice.conversation("s").append("When is the staging database wiped?")

    hits = await alice.notes.search("when is the staging database wiped?")
    assert hits[0].record == note
    assert {hit.record.kind for hit in hits} == {Kind.NOTE}
    assert await alice.notes.search("staging database", where={"team": "b"}, min_similarity=0.5) == []
    assert await alice.notes.search("staging", limit=0) == await alice.notes.search(" ") == []


async def test_an_id_of_ones_own_is_unique(alice: Memory) -> None:
    await alice.notes.add("first", id="n")
    with pytest.raises(ConflictError):
        await alice.notes.add("second", id="n")
    assert (await alice.notes.add("second", id="n", if_exists="replace")).version == 2
    assert (await alice.notes.add("third", id="n", if_exists="ignore")).content == "second"


async def test_get_and_delete_know_notes_alone(alice: Memory, bob: Memory) -> None:
    note = await alice.notes.add("mine")
    fact = await alice.facts.add("not a note")

    assert await alice.notes.get(note.id) == note
    assert await alice.notes.get(fact.id) is None
    assert await bob.notes.get(note.id) is None
    assert await bob.notes.delete(note.id) == 0
    assert await alice.notes.delete() == await alice.notes.delete(fact.id, "nobody") == 0
    assert await alice.notes.delete(note.id) == 1
    assert await alice.notes.get(note.id) is None


@pytest.mark.parametrize("text", ["", " \n", None, 5, ["a"]])
async def test_a_note_is_a_text_that_says_something(alice: Memory, text: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^text must"):
        await alice.notes.add(text)


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        note = await memory.notes.add("kept")
    async with reopen(user="alice") as memory:
        assert [hit.record for hit in await memory.notes.search("kept")] == [note]
