"""Cases: questions with what should be found, and how well a memory does on them, run after run."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memorist.errors import FormatError
from memorist.memory import Memory
from memorist.operations.answers import Trace
from memorist.records.content import folded
from memorist.records.record import Kind, Record
from memorist.records.scope import Scope

PLACES = (1, 5, 10)
MOST_CASES = 500
_KEY = "case:"
DEEPEST = 10
"""The place of the last hit that counts."""
_FIELDS = ("question", "find", "user", "shared")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and what should be found: any of these ids, or of these texts as a part of what is found.

    `shared` asks the tenant's shared records too.
    """

    question: str
    find: tuple[str, ...]
    user: str | None = None
    shared: bool = False

    def line(self) -> str:
        """Return the case as a line that `read_cases` reads."""
        return json.dumps({name: value for name, value in asdict(self).items() if value}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case.

    Attributes:
        question: the case's.
        user: whose memory was asked.
        place: the place of the first hit that is right, from 1; None if none of the first ten is right.
        told: whether the context holds it.
        tokens: how long the context is.
        confidence: the context's.
    """

    question: str
    user: str | None
    place: int | None
    told: bool
    tokens: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of a run, in the order of the cases."""

    outcomes: Sequence[Outcome]

    def hit_rate(self, places: int) -> float:
        """Return the share of cases whose right record is among the first `places` hits."""
        return self._share(each.place is not None and each.place <= places for each in self.outcomes)

    @property
    def told(self) -> float:
        """The share of cases whose context holds what should be found."""
        return self._share(each.told for each in self.outcomes)

    @property
    def tokens(self) -> float:
        """The mean length of a context."""
        return sum(each.tokens for each in self.outcomes) / max(len(self.outcomes), 1)

    def changed(self, before: "Report") -> tuple[list[tuple[Outcome, Outcome]], list[tuple[Outcome, Outcome]]]:
        """Return the cases that do worse than in a run before, and those that do better, as (before, now).

        A case does worse if its place is lower, or the context lost what it held; where the places are equal, the
        context decides.
        """
        old = {(each.question, each.user): each for each in before.outcomes}
        pairs = [(old[key], each) for each in self.outcomes if (key := (each.question, each.user)) in old]
        worse = [(one, two) for one, two in pairs if _rank(two) > _rank(one)]
        return worse, [(one, two) for one, two in pairs if _rank(two) < _rank(one)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; `report_of` reads them."""
        rates = {f"hit@{places}": self.hit_rate(places) for places in PLACES}
        outcomes = [asdict(each) for each in self.outcomes]
        return {"cases": len(outcomes), **rates, "told": self.told, "tokens": self.tokens, "outcomes": outcomes}

    def _share(self, held: Iterable[bool]) -> float:
        return sum(held) / max(len(self.outcomes), 1)


def _rank(outcome: Outcome) -> tuple[int, bool]:
    return outcome.place or DEEPEST + 1, not outcome.told


def read_cases(data: bytes) -> list[Case]:
    """Return the cases of JSON lines in UTF-8: `question`, `find` (a text or several), maybe `user` and `shared`.

    Raises:
        FormatError: a line is not a case, and the error names the line; or there is no case at all.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError("the cases are not UTF-8") from error
    cases = [_case(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not cases:
        raise FormatError('there are no cases; each line is {"question": "…", "find": ["an id or a text"]}')
    return cases


def _case(number: int, line: str) -> Case:
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"line {number} is not JSON") from error
    if not isinstance(plain, dict) or (unknown := set(plain) - set(_FIELDS)):
        wrong = f"has an unknown field {min(unknown)!r}" if isinstance(plain, dict) else "is not a JSON object"
        raise FormatError(f"line {number} {wrong}; a case has question, find and maybe user or shared")
    question, find, user, shared = (plain.get(name) for name in _FIELDS)
    find = [find] if isinstance(find, str) else find
    if not isinstance(question, str) or not question.strip():
        raise FormatError(f"line {number} has no question")
    if not isinstance(find, list) or not find or not all(isinstance(each, str) and each.strip() for each in find):
        raise FormatError(f"line {number} has nothing to find: add ids or texts")
    if user is not None and not isinstance(user, str):
        raise FormatError(f"line {number}: user must be a string")
    if not isinstance(shared, bool | None):
        raise FormatError(f"line {number}: shared must be true or false")
    return Case(question, tuple(find), user, bool(shared))


class KeptCases:
    """The cases that were made of traces, kept beside them, and kept longer: until they are removed, or the user is
    purged.

    Args:
        memory: any memory of the store that is bound to no tenant or user.
        scope: whose; without a user, those of calls about the shared records.
        everyone: those of all users of the tenant.
    """

    def __init__(self, memory: Memory, scope: Scope, *, everyone: bool = False) -> None:
        self._memory = memory.scoped(tenant=scope.wall.traces.tenant, user=scope.user)
        self._everyone = everyone

    async def add(self, trace: Trace, find: str) -> None:
        """Store what a trace should have found; this replaces an earlier case of the same trace."""
        payload = {"find": [find], "shared": bool(trace.asked.get("shared"))}
        await self._memory.remember(
            trace.question, kind=Kind.TOPIC, key=_KEY + trace.id, payload=payload, if_exists="replace"
        )

    async def list(self) -> "dict[str, Case]":
        """Return the cases by the id of their trace, the newest first."""
        found = await self._memory.browse(key_prefix=_KEY, everyone=self._everyone, limit=MOST_CASES)
        return {
            (each.key or "").removeprefix(_KEY): Case(
                each.content, tuple(each.payload["find"]), each.scope.user, each.payload["shared"]
            )
            for each in found.records
        }

    async def remove(self, trace: str) -> int:
        """Remove the case that was made of a trace; return how many are gone."""
        return await self._memory.forget(key=_KEY + trace)


async def evaluate(memory: Memory, cases: Iterable[Case], *, tokens: int = 600) -> Report:
    """Ask a memory every question and return what came of it; nothing is stored.

    Args:
        memory: what is asked; a case that names a user is asked in that user's scope.
        cases: the questions.
        tokens: the budget of a context.

    Raises:
        ScopeError: a case names another user than the memory's.
    """
    unseen = memory.through(replace(memory.door, traced=False))
    return Report([await _outcome(unseen, case, tokens) for case in cases])


async def _outcome(memory: Memory, case: Case, tokens: int) -> Outcome:
    asked = memory if case.user is None else memory.scoped(user=case.user)
    hits = await asked.recall(case.question, limit=DEEPEST, shared=case.shared)
    places = (place for place, hit in enumerate(hits, 1) if is_right(hit.record, case))
    context = await asked.context(case.question, tokens=tokens, shared=case.shared)
    held = folded(context.text)
    told = any(is_right(item.record, case) for item in context.items) or any(folded(each) in held for each in case.find)
    place = next(places, None)
    return Outcome(case.question, asked.scope.user, place, told, context.tokens, round(context.confidence, 4))


def is_right(record: Record, case: Case) -> bool:
    """Return whether a record is what a case should find."""
    text = folded(record.content)
    return any(record.id == each or folded(each) in text for each in case.find)


def report_of(data: bytes) -> Report:
    """Return the report that was kept as JSON of its `to_dict`.

    Raises: FormatError: it is not a report.
    """
    try:
        return Report([Outcome(**each) for each in json.loads(data)["outcomes"]])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError("this is not a report of an earlier run; delete the file to start over") from error
