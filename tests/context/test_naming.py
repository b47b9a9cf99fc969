"""Names that a memory never heard of."""

import pytest

from memorist import Draft, Kind, Memory
from memorist.context.naming import Named, named_among

pytestmark = pytest.mark.anyio


async def named(memory: Memory, question: str) -> Named:
    return await named_among(memory.recall, question, await memory.recall(question), {})


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
    assert (await named(bo, question)).unknown == expected


async def test_the_users_own_name_is_known(bo: Memory) -> None:
    for user, unknown in (("pedro", 0), ("pedro.sanz@example.com", 0), ("rosa", 1)):
        asked = "What was lent, and does Pedro know?"
        assert (await named_among(bo.recall, asked, [], {}, user)).unknown == unknown


async def test_a_name_beyond_the_hits_is_looked_up(bo: Memory) -> None:
    await bo.remember("Nobody but Igor was there.")
    hits = await bo.recall("sailing", limit=3)
    assert await named_among(bo.recall, "Did they sail with Igor?", hits, {}) == Named()
    assert await named_among(bo.recall, "Did they sail with Igor?", hits, {"kind": Kind.FACT}) == Named(unknown=1)


async def test_somebody_who_speaks_here_is_known_by_a_short_name_too(bo: Memory) -> None:
    assert (await named(bo, "What did Mel borrow?")).speaker
    assert not (await named(bo, "What did Rosa lend?")).speaker


async def test_an_unknown_name_makes_the_memory_less_sure(bo: Memory) -> None:
    known, unknown = [await bo.context(f"Did {name} lend the cello?") for name in ("Rosa", "Pedro")]
    assert unknown.confidence < known.confidence
