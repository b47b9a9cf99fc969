"""What a message shows beside its words."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Draft, Kind, Scope
from memorist.recall import terms_of
from memorist.recall.analysis import terms
from memorist.recall.marks import NO_MARKS, Marks, marks_of, read_marks

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What do you do when you walk them?", True),
        ("Really? How come?", True),
        ("So cool! What kind of transformations have you done so far?", True),
        ("I lost my keys again. Have you seen them?", False),
        ("It is late.", False),
        ("", False),
    ],
)
def test_a_message_that_only_asks(text: str, asks: bool) -> None:
    assert marks_of(text, MAY_8).asks is asks


def test_a_message_that_tells_of_its_speaker() -> None:
    assert marks_of("We moved to Oslo", MAY_8).tells
    assert marks_of("my keys are gone", MAY_8).tells
    assert not marks_of("That looks delicious!", MAY_8).tells


def test_days_are_those_seen_from_when_it_was_said() -> None:
    assert marks_of("I went to the support group yesterday", MAY_8).days == (-1,)
    assert marks_of("I was there on March 15th", MAY_8).days == (-54,)
    assert marks_of("I was there on 1 May 2021", MAY_8).days == (-737,)
    assert marks_of("It was a good year", MAY_8).days == ()
    assert marks_of("I moved there last year", MAY_8).days == ()  # too long a stretch for a day
    assert marks_of("I moved there last year", MAY_8).timed


def test_a_message_has_its_marks_behind_its_terms_and_a_note_has_none() -> None:
    text = "I swam yesterday"
    message = Draft(content=text, kind=Kind.MESSAGE, happened_at=MAY_8).to_record(Scope(), MAY_8)
    note = Draft(content=text).to_record(Scope(), MAY_8)
    assert terms_of(message) == "swam yesterday ! ~ @-1"
    assert terms_of(note) == "swam yesterday"


@given(
    st.text(max_size=40),
    st.builds(
        Marks, st.booleans(), st.booleans(), st.booleans(), st.lists(st.integers(-9999, 99999), max_size=3).map(tuple)
    ),
)
def test_marks_are_read_back_and_no_term_is_one(text: str, marks: Marks) -> None:
    held = " ".join(terms(text))
    assert read_marks(held) == NO_MARKS
    assert read_marks(f"{held} {marks}".strip()) == marks
