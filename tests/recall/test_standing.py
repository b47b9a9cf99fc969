"""Standing instructions: in force from, withdrawn by, replaced by."""

import pytest

from memorist import Draft, Kind
from memorist.sync import Memory


def told(*said: tuple[str, str], question: str, name: str | None = None) -> str:
    """Return the standing lines of a context after what a user said on some days."""
    payload = {"role": "user"} if name is None else {"role": "user", "speaker": name}
    with Memory.open(":memory:") as memory:
        memory.remember([
            Draft(content=text, kind=Kind.MESSAGE, session=day, payload=payload, happened_at=day)
            for day, text in said
        ])  # fmt: skip
        return "\n".join(item.text for item in memory.context(question).items if item.why == "standing")


WEEK = (("2026-02-03", "We had soup at Mum's on Sunday"), ("2026-03-09", "The car is at the garage again"))


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("Always answer in French, please.", "Please stop answering in French."),
        ("Give me all prices in dollars from now on.", "From now on give me all prices in euros."),
        ("Keep your answers short, two sentences.", "Don't keep your answers short any more, explain things properly."),
        ("Antworte mir bitte immer auf Englisch.", "Bitte antworte mir nicht mehr auf Englisch."),
    ],
)
def test_a_later_instruction_about_the_same_is_told_alone(first: str, later: str) -> None:
    held = told(("2026-01-05", first), *WEEK, ("2026-04-01", later), question="What is the weather like in Rome?")
    assert later in held and first not in held


def test_an_instruction_about_something_else_stays_in_force() -> None:
    held = told(
        ("2026-01-05", "Never use emojis in your answers."),
        *WEEK,
        ("2026-04-01", "From now on use metric units for distances."),
        question="How far is it to Rome?",
    )
    assert "emojis" in held and "metric" in held


def test_who_has_a_name_is_the_user_all_the_same() -> None:
    assert "emojis" in told(("2026-01-05", "Never use emojis."), *WEEK, question="How far is Rome?", name="Imogen")


def test_another_person_instructs_nobody() -> None:
    with Memory.open(":memory:") as memory:
        said = [("Ann", "Never use emojis."), ("Bo", "Sure, never again.")]
        memory.remember([
            Draft(content=text, kind=Kind.MESSAGE, session="one", payload={"speaker": name}) for name, text in said
        ])  # fmt: skip
        assert not [item for item in memory.context("How far is Rome?").items if item.why == "standing"]
