"""What is planned: what a question finds for a day to come, and what for a day that is over."""

from collections.abc import Iterator

import pytest

from memorist import Draft, Kind
from memorist.embedders import OnnxEmbedder
from memorist.sync import Memory

PLANS = [
    ("2025-06-20", "Lena's birthday party is on July 5th"),
    ("2025-06-25", "The plumber comes on 4 July between 8 and 10"),
    ("2025-06-27", "Concert tickets came: the band plays on 12 July"),
    ("2025-06-28", "We had dinner at Marco's on Thursday"),
    ("2025-06-29", "The passport expires in December"),
    ("2025-06-30", "Dentist on Friday at ten"),
    ("2025-06-30", "On Friday I finished the quarterly report"),
    ("2025-06-30", "Lunch with Priya on Wednesday at the noodle place"),
    ("2025-07-01", "Call the bank tomorrow"),
]  # fmt: skip
PARTY, PLUMBER, CONCERT, DINNER, PASSPORT, DENTIST, REPORT, LUNCH, BANK = (text for _, text in PLANS)


@pytest.fixture(scope="module", params=[Kind.NOTE, Kind.MESSAGE])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as opened:
        for number, (day, text) in enumerate(PLANS):
            session = str(number) if request.param is Kind.MESSAGE else None
            opened.remember(Draft(content=text, kind=request.param, happened_at=f"{day}T12:00", session=session))
        yield opened


@pytest.mark.parametrize(
    ("asked_at", "question", "planned"),
    [
        ("2025-07-01", "What do I have on Friday?", {DENTIST, PLUMBER}),
        ("2025-07-04", "What is on today?", {DENTIST, PLUMBER}),
        ("2025-07-02", "What do I have to do today?", {LUNCH, BANK}),
        ("2025-07-01", "Who do I meet on Wednesday?", {LUNCH}),
        ("2025-07-01", "What is on July 5th?", {PARTY}),
        ("2025-07-01", "Do I have anything on July 12?", {CONCERT}),
        ("2025-07-02", "plumber or dentist for Friday", {DENTIST, PLUMBER}),
        ("2025-07-01", "appointments on Wednesday", {LUNCH}),
    ],
)
def test_what_is_planned_is_found_by_its_day(memory: Memory, asked_at: str, question: str, planned: set[str]) -> None:
    found = [hit.record.content for hit in memory.recall(question, now=f"{asked_at}T08:00", limit=5, explain=True)]
    assert found[0] in planned and planned <= set(found)


@pytest.mark.parametrize(
    ("question", "told"), [("What did I do on Friday?", REPORT), ("Where did we eat on Thursday?", DINNER)]
)
def test_who_asks_for_what_was_gets_what_was_told_of_a_day_that_is_over(
    memory: Memory, question: str, told: str
) -> None:
    [hit] = memory.recall(question, now="2025-06-30T20:00", limit=1, explain=True)
    assert hit.record.content == told and "planned" not in hit.signals


def test_a_question_without_a_day_or_for_a_whole_year_asks_for_no_plan(memory: Memory) -> None:
    for question in ("What do I eat?", "What is planned for this year?", "What was on yesterday?"):
        for hit in memory.recall(question, now="2025-07-01T08:00", explain=True):
            assert "planned" not in hit.signals


WEEKLY = [
    ("2025-06-03", "Choir practice every Tuesday at seven"),
    ("2025-06-04", "Yoga on Mondays and Thursdays, bring a mat"),
    ("2025-06-05", "The bins go out every second Friday"),
    ("2025-06-06", "Lena has piano on Wednesday afternoons"),
    ("2025-06-10", "We sang terribly at choir on Tuesday"),
    ("2025-06-11", "Lunch with Ola next Tuesday"),
    ("2025-06-12", "Bought a new kettle"),
    ("2025-06-12", "The neighbour is back from Crete"),
]
CHOIR, YOGA, BINS, PIANO, SANG, OLA, *_ = (text for _, text in WEEKLY)


@pytest.fixture(scope="module")
def week() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as opened:
        for day, text in WEEKLY:
            opened.remember(Draft(content=text, happened_at=f"{day}T12:00"))
        yield opened


@pytest.mark.parametrize(
    ("asked_at", "question", "planned"),
    [
        ("2025-06-17", "What is on today?", {CHOIR, OLA}),
        ("2025-06-17", "What do I have tomorrow?", {PIANO}),
        ("2025-06-18", "Do I have anything on Thursday?", {YOGA}),
        ("2025-06-18", "What is on on Mondays?", {YOGA}),
        ("2025-06-18", "appointments on Friday", {BINS}),
    ],
)
def test_what_recurs_is_found_on_its_day(week: Memory, asked_at: str, question: str, planned: set[str]) -> None:
    hits = week.recall(question, now=f"{asked_at}T08:00", limit=len(planned) + 1, explain=True)
    assert planned <= {hit.record.content for hit in hits}


def test_what_recurs_is_no_answer_to_what_was(week: Memory) -> None:
    [first, *rest] = week.recall("What did we do on Tuesday?", now="2025-06-11T08:00", explain=True)
    assert first.record.content == SANG and "planned" not in first.signals
    assert all(hit.signals["told_time"] < 1 for hit in rest if hit.record.content == CHOIR)
