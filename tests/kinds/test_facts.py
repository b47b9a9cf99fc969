import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.errors import InvalidInputError, NotFoundError
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def test_a_superseded_fact_is_found_as_of_its_time(alice: Memory) -> None:
    oslo = await alice.facts.add("Alice lives in Oslo", happened_at="2023-05-01")
    bergen = await alice.facts.supersede(oslo.id, "Alice lives in Bergen", happened_at="2024-02-01")

    assert [hit.record.id for hit in await alice.facts.search("where does Alice live?")] == [bergen.id]
    assert [hit.record.id for hit in await alice.facts.search("Alice", as_of="2023-12-31")] == [oslo.id]
    assert await alice.facts.search("Alice", as_of="2023-01-01") == []
    assert [each.id for each in await alice.facts.all()] == [bergen.id]
    assert [each.id for each in await alice.facts.all(as_of="2023-12-31")] == [oslo.id]


async def test_a_chain_is_followed_from_any_of_its_facts(alice: Memory) -> None:
    first = await alice.facts.add("one")
    second = await alice.facts.add("two", supersedes=first.id)
    third = await alice.facts.supersede(second.id, "three")
    other = await alice.facts.add("other")

    for fact in (first, second, third):
        assert [each.content for each in await alice.facts.history(fact.id)] == ["one", "two", "three"]
        assert await alice.facts.current(fact.id) == third
    assert await alice.facts.history(other.id) == [other]
    assert await alice.facts.current(other.id) == other


async def test_a_deleted_fact_ends_the_chain(alice: Memory) -> None:
    first = await alice.facts.add("one")
    second = await alice.facts.supersede(first.id, "two")
    third = await alice.facts.supersede(second.id, "three")

    assert await alice.facts.delete(second.id) == 1
    assert [each.id for each in await alice.facts.history(first.id)] == [first.id]
    assert await alice.facts.current(first.id) is None
    assert await alice.facts.history(third.id) == [third]


async def test_only_a_fact_of_this_scope_is_superseded(alice: Memory, bob: Memory) -> None:
    fact = await alice.facts.add("mine")
    note = await alice.notes.add("a note")

    for memory, wrong in ((alice, "nobody"), (alice, note.id), (bob, fact.id)):
        with pytest.raises(NotFoundError, match="no fact"):
            await memory.facts.supersede(wrong, "new")
        assert await memory.facts.current(wrong) is None and await memory.facts.history(wrong) == []
    await alice.facts.supersede(fact.id, "new")
    with pytest.raises(InvalidInputError):
        await alice.facts.supersede(fact.id, "newer")
    assert [each.content for each in await alice.facts.all()] == ["new"]
    assert await bob.facts.all() == [] and await bob.facts.delete(fact.id) == 0


@pytest.mark.parametrize("statement", ["", "\t", None, 5])
async def test_a_statement_says_something(alice: Memory, statement: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^statement must"):
        await alice.facts.add(statement)


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        old = await memory.facts.add("one")
        new = await memory.facts.supersede(old.id, "two")
    async with reopen(user="alice") as memory:
        assert [each.id for each in await memory.facts.history(new.id)] == [old.id, new.id]
        assert await memory.facts.all() == [new]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 5), max_size=10))
def test_every_chain_has_one_current_fact(steps: list[int]) -> None:
    """Each step supersedes the current fact of a chain, or begins a new one."""

    async def check() -> None:
        chains: list[list[str]] = []
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            for number, chosen in enumerate(steps):
                if chosen < len(chains):
                    record = await memory.facts.supersede(chains[chosen][-1], f"fact {number}")
                    chains[chosen].append(record.id)
                else:
                    chains.append([(await memory.facts.add(f"fact {number}")).id])
            assert {each.id for each in await memory.facts.all()} == {chain[-1] for chain in chains}
            for chain in chains:
                for fact in chain:
                    assert [each.id for each in await memory.facts.history(fact)] == chain
                    current = await memory.facts.current(fact)
                    assert current is not None and current.id == chain[-1]

    asyncio.run(check())
