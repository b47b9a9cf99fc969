"""What a text shows beside its words."""

from datetime import UTC, datetime

import pytest

from memorist import Draft, Kind, Scope
from memorist.recall import STANDING, marks_of, terms_of
from memorist.recall.text_features import days_in
from memorist.records.origins import PYTHON

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def marks(text: str, speaker: str | None = None, kind: Kind = Kind.MESSAGE) -> frozenset[str]:
    payload = {} if speaker is None else {"speaker": speaker}
    return marks_of(
        Draft(content=text, kind=kind, payload=payload, happened_at=MAY_8).to_record(Scope(), MAY_8, PYTHON)
    )


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What do you do when you walk them?", True),
        ("Really? How come?", True),
        ("So cool! What kind of transformations have you done so far?", True),
        ("I lost my keys again. Have you seen them?", False),
        ("It is late.", False),
        ("I'm planning a trip to Oslo, can you help me with the budget?", False),
        ("My app is slow and I want it fast, so what should I do?", False),
        ("Thanks! Which of my plants should I water first?", True),
        ("-", False),
    ],
)
def test_a_message_that_only_asks(text: str, asks: bool) -> None:
    assert ("asks" in marks(text)) is asks


def test_a_message_that_tells_of_its_speaker() -> None:
    assert "tells" in marks("We moved to Oslo")
    assert "tells" in marks("my keys are gone")
    assert "tells" not in marks("That looks delicious!")


def test_a_text_that_tells_a_change_of_its_speakers_life() -> None:
    for kind in (Kind.MESSAGE, Kind.NOTE):
        assert "a_move" in marks("We moved to Oslo", kind=kind)
        assert "a_new_job" in marks("The user quit the job and started at Bosch", kind=kind)
    assert "a_move" not in marks("We moved to Oslo", "assistant") | marks("We moved the sofa")


def test_days_are_those_seen_from_when_it_was_said() -> None:
    assert days_in(marks("I went to the support group yesterday")) == [-1]
    assert sorted(days_in(marks("I will be there on March 15th"))) == [-54, 312]  # the last or the next
    assert days_in(marks("I was there on 1 May 2021")) == [-737]
    assert sorted(days_in(marks("Dentist on Friday at ten", kind=Kind.NOTE))) == [-3, 4]
    assert days_in(marks("We had lunch on Friday")) == [-3]  # a sentence in the past
    assert sorted(days_in(marks("We had lunch. The plumber comes on Friday!"))) == [-3, 4]
    assert days_in(marks("El viernes entregué el informe")) == [-3]
    assert days_in(marks("On Friday I finished the report")) == [-3]
    assert days_in(marks("We had tickets for next Friday")) == [4]
    assert sorted(days_in(marks("Your flight leaves on Friday"))) == [-3, 4]
    assert days_in(marks("It was a good year")) == []
    assert days_in(marks("I moved there last year")) == []  # too long a stretch for a day
    assert "timed" in marks("I moved there last year")


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Always answer in French.", True),
        ("Please never mention my ex.", True),
        ("I prefer tea to coffee", True),
        ("I\u2019d rather fly at night", True),
        ("From now on, keep it short", True),
        ("Whenever I ask about code, show the imports", True),
        ("I have always lived here", False),
        ("She never came back", False),
        ("It was great", False),
    ],
)
def test_what_is_meant_to_hold_from_now_on(text: str, standing: bool) -> None:
    assert (STANDING in marks(text, "user")) is standing
    assert (STANDING in marks(text, kind=Kind.NOTE)) is standing
    assert STANDING not in marks(text, "assistant")


def test_a_message_has_marks_beside_its_terms_and_a_note_only_its_days() -> None:
    text = "I swam yesterday"
    message = Draft(content=text, kind=Kind.MESSAGE, happened_at=MAY_8).to_record(Scope(), MAY_8, PYTHON)
    note = Draft(content=text).to_record(Scope(), MAY_8, PYTHON)
    assert terms_of(message) == terms_of(note) == "swam yesterday"
    assert marks_of(message) == {"tells", "timed", "day:-1"}
    assert marks_of(note) == {"day:-1"}
