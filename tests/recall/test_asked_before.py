"""What was asked before hides no answer, and what was answered is found."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest

from memorist import Draft, Kind
from memorist.sync import Memory

FACTS = (
    "The staging database is on pg-blue-3, port 6543",
    "My sister Greta keeps bees behind the old mill",
    "The landlord wants the rent on the third of each month",
    "I take 40 mg of the thyroid tablets every morning",
    "We settled on grey for the kitchen, the yellow is gone",
)
UNKNOWN = "I'm not sure, you haven't told me."


@contextmanager
def told(turns: Sequence[tuple[str, str]], facts: Sequence[str] = FACTS) -> Iterator[Memory]:
    """Yield a memory in which facts were said, and then questions with their answers, each on a day of its own."""
    day = datetime.fromisoformat("2026-01-05T09:00:00+00:00")
    said = [("user", each) for each in facts]
    drafts = [draft(role, text, "facts", day + timedelta(minutes=n)) for n, (role, text) in enumerate(said)]
    for number, (question, answer) in enumerate(turns, 1):
        at = day + timedelta(days=number)
        drafts.append(draft("user", question, f"s{number}", at))
        drafts.append(draft("assistant", answer, f"s{number}", at + timedelta(minutes=1)))
    with Memory.open(":memory:") as memory:
        memory.remember(drafts)
        yield memory


def draft(role: str, text: str, session: str, at: datetime) -> Draft:
    return Draft(content=text, kind=Kind.MESSAGE, session=session, payload={"role": role}, happened_at=at)


@pytest.mark.parametrize(
    ("before", "question", "answer"),
    [
        ("Where is the staging database?", "Where is the staging database?", FACTS[0]),
        ("staging db host", "Where is the staging database?", FACTS[0]),
        ("Where is the staging database?", "staging database", FACTS[0]),
        ("what does my sister keep again", "What does Greta keep behind the mill?", FACTS[1]),
        ("When is the rent due?", "On which day does the landlord want the rent?", FACTS[2]),
        ("How many mg of thyroid tablets do I take?", "thyroid tablets mg", FACTS[3]),
        ("Welche Farbe bekommt die Küche?", "Which colour did we choose for the kitchen?", FACTS[4]),
    ],
)
@pytest.mark.parametrize("times", [1, 5])
def test_a_question_that_was_asked_and_not_answered_hides_no_answer(
    before: str, question: str, answer: str, times: int
) -> None:
    with told([(before, UNKNOWN)] * times) as memory:
        found = [hit.record.content for hit in memory.recall(question, limit=2)]
        context = memory.context(question, tokens=300)
        assert answer in found
        assert answer in context.text and before not in context.text and UNKNOWN not in context.text


def test_a_question_of_every_day_hides_no_answer() -> None:
    with told([("Where is the staging database?", UNKNOWN)] * 60) as memory:
        assert memory.recall("Where is the staging database?", limit=1)[0].record.content == FACTS[0]


def test_a_question_that_nothing_answers_is_not_sure_of_itself() -> None:
    question = "Which brand is my rowing machine?"
    with told([(question, UNKNOWN)] * 3) as memory:
        assert all(hit.score < 0.5 for hit in memory.recall(question))
        assert memory.context(question).confidence < 0.5


def test_what_was_answered_is_found_by_its_question() -> None:
    with told([("What is the code of the bike shed?", "4471")]) as memory:
        first = memory.recall("bike shed code", limit=1, explain=True)[0]
        assert first.record.content == "4471" and first.signals["reply"] > 0
        text = memory.context("What's the code of the bike shed?").text
        assert "4471" in text


def test_who_asks_what_was_asked_is_told_it() -> None:
    with told([("Should I repaint the boat before the regatta?", "Yes, if it is dry.")]) as memory:
        hits = memory.recall("What did I ask you about the boat?", limit=2)
        assert "Should I repaint the boat before the regatta?" in [hit.record.content for hit in hits]


def test_a_statement_whose_words_are_all_in_the_question_answers_it() -> None:
    with told([], facts=[*FACTS, "I have a dog", "The cat next door is grey"]) as memory:
        assert memory.recall("Do I have a dog?", limit=1)[0].record.content == "I have a dog"


@pytest.mark.parametrize(
    ("fact", "repeated", "question"),
    [
        (FACTS[0], "Noted: the staging database is on pg-blue-3, port 6543.", "Where is the staging database?"),
        (FACTS[2], "Got it, the landlord wants the rent on the third of each month.", "When is the rent due?"),
        (FACTS[4], "Noted: grey for the kitchen, the yellow is gone.", "Which colour does the kitchen get?"),
    ],
)
def test_the_users_own_words_stand_before_the_assistants_that_repeat_them(
    fact: str, repeated: str, question: str
) -> None:
    with told([(fact, repeated)], facts=[each for each in FACTS if each != fact]) as memory:
        assert memory.recall(question, limit=1)[0].record.content == fact


def test_what_is_asked_in_notes_is_left_to_their_words() -> None:
    with Memory.open(":memory:") as memory:
        memory.remember(["How many singers are there? SELECT count(*) FROM singer", "The hall seats 900"])
        assert memory.recall("How many singers are there?", limit=1)[0].record.content.startswith("How many singers")
