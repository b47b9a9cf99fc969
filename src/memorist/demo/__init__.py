"""A conversation of two people with an assistant, remembered, and questions that show what recall does."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from memorist.errors import MemoristError

if TYPE_CHECKING:
    from memorist.config import Settings
    from memorist.records.record import Hit

__all__ = ["QUESTIONS", "DemoAnswer", "DemoQuestion", "Outcome", "run"]

_DEPTH = 3


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question to a user's memory; `expected` is the end of the right message's id, `why` what the question shows."""

    text: str
    user: str
    expected: str
    why: str


_STAY = "Do I prefer a hotel or a homestay?"
QUESTIONS = (
    DemoQuestion(_STAY, "maya", "m03-07", "her answer"),
    DemoQuestion(_STAY, "tom", "t03-07", "the same question, his answer"),
    DemoQuestion("Which city do I live in now?", "maya", "m05-03", "in March it was Lisbon"),
    DemoQuestion("When do I see the dentist?", "maya", "m05-11", "a date"),
    DemoQuestion("Which food is dangerous for my daughter?", "tom", "t05-09", "found by meaning alone"),
    DemoQuestion("Which programming language does my team use?", "tom", "t03-11", "of his other talk"),
    DemoQuestion("Warum brauche ich einen Tierarzt?", "maya", "m05-13", "asked in German"),
)


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """What a question found: the hits, best first, and how long that took."""

    question: DemoQuestion
    hits: list[Hit]
    seconds: float

    @property
    def rank(self) -> int | None:
        """At which place, from 1, the right message is; None if it was not found."""
        ids = enumerate((hit.record.id for hit in self.hits), start=1)
        return next((rank for rank, id in ids if id.endswith(self.question.expected)), None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo did, in numbers and answers."""

    messages: int
    users: int
    storing: float
    opening: float
    answers: list[DemoAnswer]


async def run(settings: Settings, tenant: str) -> Outcome:
    """Remember the conversation, close the memory, open it again, and ask.

    Raises:
        MemoristError: the store lost something, which would be a bug.
    """
    from memorist.imports import load
    from memorist.memory import Memory
    from memorist.records.origins import CLI

    begun = time.perf_counter()
    async with Memory.open(tenant=tenant, settings=settings).through(CLI) as memory:
        with as_file(files(__name__) / "conversation.jsonl") as file:
            report = await load(memory, file, format="memorist", trusted=True)
    storing = time.perf_counter() - begun
    expected = report.added + report.existing
    begun = time.perf_counter()
    async with Memory.open(tenant=tenant, settings=replace(settings)).through(CLI) as memory:
        users = sorted({question.user for question in QUESTIONS})
        found = sum([await memory.scoped(user=user).count() for user in users])
        if report.bad or found < expected:
            raise MemoristError(f"{expected} messages were stored and {found} are there: please report this")
        for user in users:  # a model and the vectors are loaded at the first question
            await memory.scoped(user=user).recall("hello")
        await memory.scoped(user=users[0]).recall("Wie geht es dir?")
        opening = time.perf_counter() - begun
        answers = list[DemoAnswer]()
        for question in QUESTIONS:
            begun = time.perf_counter()
            hits = await memory.scoped(user=question.user).recall(question.text, limit=_DEPTH)
            answers.append(DemoAnswer(question, hits, time.perf_counter() - begun))
    return Outcome(found, len(users), storing, opening, answers)
