"""A slip of the pen still finds what was meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist import Memory
from memorist.recall.postings import Postings
from memorist.recall.spelling import respelled

pytestmark = pytest.mark.anyio

KNOWN = {"vacation": 3, "location": 1, "homestay": 2, "peanut": 1, "peanuts": 4, "tea": 9}


def postings() -> Postings:
    """Return the postings of so many rows with each known word."""
    held = Postings()
    held.extend([term for term, count in KNOWN.items() for _ in range(count)])
    return held


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("vaction", "vacation"),  # a letter left out
        ("vaccation", "vacation"),  # put in
        ("vacatiom", "vacation"),  # changed
        ("vactaion", "vacation"),  # swapped
        ("vacationn", "vacation"),  # put in at the end
        ("peanutt", "peanuts"),  # the more common of two
    ],
)
def test_a_word_a_slip_away_is_taken(slip: str, meant: str) -> None:
    assert respelled([slip], postings()) == {slip: meant}


@pytest.mark.parametrize(
    "word", ["vacation", "bacation", "vacatoin2", "teq", "vcton", "отпуск", "假期", "", "completely", "homestayingly"]
)
def test_other_words_are_left_as_they_are(word: str) -> None:
    assert respelled([word], postings()) == {}


def test_no_other_word_is_looked_for_in_place_of_an_overlong_one() -> None:
    held = Postings()
    held.extend(["x" * 9001])
    assert respelled(["x" * 9000], held) == {}


@settings(max_examples=40)
@given(st.text(max_size=30))
def test_any_word_is_left_or_becomes_one_that_is_held(word: str) -> None:
    held = postings()
    assert all(map(held.holders, respelled([word], held).values()))


async def test_recall_forgives_a_slip(alice: Memory) -> None:
    await alice.remember(["Prefers homestays in the mountains", "Bought a lawnmower", "Plays the accordion"])
    for mode in ("hybrid", "lexical"):
        [first, *_] = await alice.recall("homestyas", mode=mode)
        assert first.record.content == "Prefers homestays in the mountains"
    assert await alice.recall("homestyyas", mode="lexical") == []
