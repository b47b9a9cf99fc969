"""Names that a memory never heard of."""

import pytest

from memorist import Draft, Kind, Memory
from memorist.context.naming import unknown_share

pytestmark = pytest.mark.anyio


async def share(memory: Memory, question: str) -> float:
    return await unknown_share(memory.recall, question, await memory.recall(question), {})


@pytest.fixture
async def bo(alice: Memory) -> Memory:
    said = Draft(content="Rosa lent me her cello.", kind=Kind.MESSAGE, session="one", payload={"speaker": "Melanie"})
    await alice.remember([said, *(f"Note {number} is about sailing." for number in range(20))])
    return alice


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Rosa lend?", 0),
        ("What did Mel borrow, and from Rosa's shop?", 0),
        ("Was Rossa generous?", 0),
        ("What did Pedro lend?", 1),
        ("What did Pedro lend to Melanie?", 0.5),
        ("Pedro lent what?", 0),
        ("What was lent? Pedro knows. Sure.", 0),
        ("What did we borrow on Monday, 3 May or in Aug?", 0),
        ("what did pedro lend?", 0),
        ("I think I know, do I?", 0),
        ("", 0),
    ],
)
async def test_the_share_of_names_that_nothing_holds(bo: Memory, question: str, expected: float) -> None:
    assert await share(bo, question) == expected


async def test_a_name_beyond_the_hits_is_looked_up(bo: Memory) -> None:
    await bo.remember("Nobody but Igor was there.")
    hits = await bo.recall("sailing", limit=3)
    assert await unknown_share(bo.recall, "Did they sail with Igor?", hits, {}) == 0
    assert await unknown_share(bo.recall, "Did they sail with Igor?", hits, {"kind": Kind.FACT}) == 1


async def test_an_unknown_name_makes_the_memory_less_sure(bo: Memory) -> None:
    known, unknown = [await bo.context(f"Did {name} lend the cello?") for name in ("Rosa", "Pedro")]
    assert unknown.confidence < known.confidence
