"""What depends on something that changed says so where it is told."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memorist import Draft, Kind, Memory
from memorist.context import life_changes
from memorist.context.life_changes import changes_since
from memorist.records.record import Hit

pytestmark = pytest.mark.anyio

COMMUTE = "My commute takes twenty minutes on the bike from my front door"
MOVED = "We moved to a bigger flat in Horsforth, boxes everywhere"
MARK = f"{COMMUTE} (before a move: see 10 Aug 2025)"
QUESTION = "How long does my commute take?"


def said(text: str, at: str, *, speaker: str = "Gemma", session: str | None = None) -> Draft:
    """Return a message; each day is a conversation unless a session is given."""
    return Draft(
        content=text, kind=Kind.MESSAGE, session=session or at[:10], payload={"speaker": speaker}, happened_at=at
    )


async def told(memory: Memory, *drafts: Draft, question: str = QUESTION, **narrowing: Any) -> str:
    await memory.remember(list(drafts))
    return (await memory.context(question, min_confidence=0, **narrowing)).text


async def test_what_a_later_move_touches_says_so_and_the_move_is_told(alice: Memory) -> None:
    text = await told(alice, said(COMMUTE, "2025-01-12T10:00"), said(MOVED, "2025-08-10T10:00"))
    assert MARK in text and MOVED in text


async def test_a_move_that_does_not_answer_itself_is_told_beside_what_it_touches() -> None:
    async with Memory.open(":memory:", user="alice") as memory:
        await memory.remember([said(COMMUTE, "2025-01-12T10:00"), said(MOVED, "2025-08-10T10:00")])
        context = await memory.context(QUESTION)
        assert MARK in context.text
        assert [(item.why, item.record.content) for item in context.items] == [("recalled", COMMUTE), ("later", MOVED)]


async def test_no_move_is_told_beside_a_text_whose_sentence_that_depends_on_it_is_not_shown() -> None:
    rye = "The rye starter wants flour at eight in the morning and at eight in the evening. "
    long = f"{rye} {'We talked of this and that. ' * 25} {COMMUTE}. {'It rained a little again. ' * 60}"
    async with Memory.open(":memory:", user="alice") as memory:
        await memory.remember([said(long, "2025-01-12T10:00"), said(MOVED, "2025-08-10T10:00")])
        context = await memory.context("When does the rye starter want flour?", tokens=150, min_confidence=0)
        assert "rye starter" in context.text and "commute" not in context.text
        assert [item.record.content for item in context.items] == [long]


@pytest.mark.parametrize(
    "other",
    [
        said(MOVED, "2024-08-10T10:00"),
        said(MOVED, "2025-08-10T10:00", speaker="Tom"),
        said(MOVED, "2025-08-10T10:00", speaker="assistant"),
        said(MOVED, "2025-01-12T10:05", session="2025-01-12"),
        said("My sister moved to a bigger flat in Horsforth", "2025-08-10T10:00"),
        said("I might look for a bigger flat some day", "2025-08-10T10:00"),
        said("I moved the wardrobe into the other room", "2025-08-10T10:00"),
        said("We adopted a rabbit from the shelter", "2025-08-10T10:00"),
    ],
    ids=["earlier", "another person", "the assistant", "in the same talk", "a sister", "a plan", "a wardrobe", "other"],
)
async def test_what_no_change_of_the_same_person_followed_carries_no_mark(alice: Memory, other: Draft) -> None:
    text = await told(alice, said(COMMUTE, "2025-01-12T10:00"), other)
    assert COMMUTE in text and "(before" not in text


async def test_what_does_not_depend_on_it_carries_no_mark(alice: Memory) -> None:
    text = await told(
        alice,
        said("I am allergic to walnuts, my throat swells", "2025-01-12T10:00"),
        said("My commute takes twenty minutes", "2025-08-11T10:00"),
        said(MOVED, "2025-08-10T10:00"),
        question="What am I allergic to, and how long is my commute?",
    )
    assert "walnuts" in text and "twenty minutes" in text and "(before" not in text


async def test_only_the_sentence_that_depends_on_it_is_marked(alice: Memory) -> None:
    asked = "Is a commute of an hour usual? My sister has one. I play the cello in an orchestra"
    assert "(before" not in await told(alice, said(asked, "2025-01-12T10:00"), said(MOVED, "2025-08-10T10:00"))
    long = " ".join(f"My {n} cellos are tuned by hand every week by an old man." for n in range(40)) + COMMUTE
    await alice.remember(said(long, "2025-02-12T10:00"))
    text = (await alice.context("Who tunes my cellos by hand?", min_confidence=0, tokens=120)).text
    assert "cellos" in text and "commute" not in text and "(before" not in text


async def test_a_change_of_which_one_speaks_for_weeks_is_dated_by_its_first_mention(alice: Memory) -> None:
    text = await told(
        alice,
        said(COMMUTE, "2025-01-12T10:00"),
        said(MOVED, "2025-08-10T10:00"),
        said("My commute is forty minutes now", "2025-09-01T10:00"),
        said("We moved into our new flat and the boiler broke", "2025-09-02T10:00"),
    )
    assert f"{COMMUTE} (" in text and "10 Aug 2025)" in text and "(before a move: see 2 Sep 2025)" not in text
    assert "forty minutes now (before" not in text


async def test_of_two_changes_the_latest_counts(alice: Memory) -> None:
    text = await told(
        alice,
        said(COMMUTE, "2025-01-12T10:00"),
        said(MOVED, "2025-03-10T10:00"),
        said("We've moved again, to a house in Otley", "2025-08-10T10:00"),
    )
    assert MARK in text


async def test_asked_as_of_an_earlier_day_there_was_no_change(alice: Memory) -> None:
    drafts = said(COMMUTE, "2025-01-12T10:00"), said(MOVED, "2025-08-10T10:00")
    assert "(before" not in await told(alice, *drafts, as_of="2025-06-01")
    assert MARK in await told(alice, as_of="2025-09-01")


async def test_the_move_of_another_user_or_of_all_marks_nothing(everyone: Memory, alice: Memory, bob: Memory) -> None:
    for memory in (everyone, bob):
        await memory.remember(said(MOVED, "2025-08-10T10:00"))
    text = await told(alice, said(COMMUTE, "2025-01-12T10:00"), question=f"{QUESTION} {MOVED}", shared=True)
    assert COMMUTE in text and MOVED in text and "(before" not in text


async def test_what_is_less_trusted_marks_nothing_and_hides_no_change_that_is_told_after_it(alice: Memory) -> None:
    await alice.remember([MOVED], author="web", happened_at="2025-08-01T10:00")
    assert "(before" not in await told(alice, said(COMMUTE, "2025-01-12T10:00", speaker=""))
    assert MARK in await told(alice, said(f"{MOVED} and noise", "2025-08-10T10:00", speaker=""))


async def test_notes_of_an_agent_about_its_user_are_read_as_the_user_says_them(alice: Memory) -> None:
    await alice.remember("The user's commute takes 20 minutes on foot", happened_at="2025-01-12T10:00")
    await alice.remember("The user has moved to Leeds", happened_at="2025-08-10T10:00")
    text = (await alice.context("How long is the user's commute?", min_confidence=0)).text
    assert "on foot (before a move: see 10 Aug 2025)" in text


async def test_a_forgotten_move_leaves_no_mark(alice: Memory) -> None:
    await told(alice, said(COMMUTE, "2025-01-12T10:00"))
    moved = await alice.remember(said(MOVED, "2025-08-10T10:00"))
    assert MARK in await told(alice)
    await alice.forget(moved.id)
    assert "(before" not in await told(alice)


async def test_nothing_is_searched_for_where_no_record_depends_on_a_change(alice: Memory) -> None:
    await alice.remember(["I am allergic to walnuts", "The commute of Ann takes an hour"])
    records = (await alice.browse()).records

    async def recall(*_: object, **__: object) -> list[Hit]:
        raise AssertionError("searched")

    assert len(records) == 2 and await changes_since(recall, records, {}, lambda _: "high") == {}


@pytest.mark.parametrize("size", [3, 400])
async def test_a_change_is_found_among_many_records(alice: Memory, size: int) -> None:
    start = datetime(2025, 1, 13, 9)
    rest = [said(f"I watered plant {n} and read", f"{start + timedelta(hours=n):%Y-%m-%dT%H:%M}") for n in range(size)]
    assert MARK in await told(alice, said(COMMUTE, "2025-01-12T10:00"), *rest, said(MOVED, "2025-08-10T10:00"))


@pytest.mark.parametrize(
    ("question", "before", "change", "name"),
    [
        (
            "Wie lange brauche ich zur Arbeit?",
            "Zur Arbeit brauche ich zwanzig Minuten mit dem Rad",
            "Wir sind nach Leipzig umgezogen",
            "a move",
        ),
        (
            "À quelle heure dois-je être au travail ?",
            "Ma cheffe veut que je sois là à huit heures",
            "J'ai démissionné la semaine dernière",
            "a new job",
        ),
    ],
    ids=["German", "French"],
)
async def test_other_languages_have_the_mark(alice: Memory, question: str, before: str, change: str, name: str) -> None:
    drafts = said(before, "2025-01-12T10:00"), said(change, "2025-08-10T10:00")
    assert f"{before} (before {name}: see 10 Aug 2025)" in await told(alice, *drafts, question=question)


async def test_what_a_text_tells_is_read_once_for_many_questions(
    alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    tell = life_changes.events_in  # type: ignore[attr-defined]  # what it uses

    def reading(text: str) -> set[str]:
        read.append(text)
        return tell(text)

    monkeypatch.setattr(life_changes, "events_in", reading)
    moved = "We moved to a narrow house in Otley, which has a slate roof"
    text = await told(alice, said(COMMUTE, "2025-01-12T10:00"), said(moved, "2025-08-10T10:00"))
    assert MARK in text
    assert read.count(moved) == 1
    assert MARK in await told(alice, question="How many minutes does my commute take?")
    assert read.count(moved) == 1
