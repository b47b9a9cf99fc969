"""Reconciling new statements with stored facts: current facts are stored once, and former facts are kept."""

import json
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any

from memorist.errors import InvalidInputError, NotFoundError
from memorist.language.extracting import Statement
from memorist.language.models import NO_USAGE, ChatModel, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import TEXT, WHOLE, Problem, ask, object_of, opened, told, wrong_language
from memorist.memory import Memory
from memorist.operations.arguments import whole
from memorist.records.origins import Author
from memorist.records.record import Draft, Hit, Kind, Record, make_id
from memorist.records.times import iso, parse_time
from memorist.records.zones import read_in

NEAREST = 5
"""The number of stored facts with which a statement is compared."""
NEAR = 0.3
"""Facts of less similarity that share no word with the statement are about something else."""
_NAMESPACE = uuid.UUID("6d656d6f-7269-5374-8000-66616374732e")


class Decision(StrEnum):
    """The decision on a new statement."""

    ADD = "add"
    UPDATE = "update"
    CONTRADICTED = "contradicted"
    CONTAINED = "contained"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """The outcome of one statement.

    Args:
        statement: the statement given.
        decision: ADD: it is a new fact. UPDATE: a fact that includes both has superseded the stored one.
            CONTRADICTED: the new fact has superseded the stored one. CONTAINED: nothing was stored. OUTDATED: it
            was stated before the fact that contradicts it, and is in that fact's history.
        record: the current fact.
        replaced: the fact that was superseded; for OUTDATED, the statement's own.
        problem: why the model did not decide; the statement was then added and is marked.
        usage: the calls, tokens and cost.
    """

    statement: Statement
    decision: Decision
    record: Record
    replaced: Record | None = None
    problem: Problem | None = None
    usage: Usage = NO_USAGE


_FORM = object_of(
    decision={"type": "string", "enum": ["add", "update", "contradicted", "contained"]}, fact=WHOLE, statement=TEXT
)


async def reconcile(
    memory: Memory,
    statements: Iterable[Statement | str] | Statement | str,
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    nearest: int = NEAREST,
    **fields: Any,
) -> list[Reconciled]:
    """Compare each statement with the nearest stored facts, one after the other, and store what is new.

    A statement with the same words as a stored fact is not stored again. It needs no call of the model, and neither
    does a statement without near facts.

    Args:
        memory: the memory with the facts; only facts in its scope are compared, labels included.
        statements: as `extract_facts` returns them, or texts.
        model: without one, every statement that is not stored word for word is added.
        prompts: by default the bundled ones.
        nearest: the number of stored facts with which each is compared.
        **fields: what any record can have, as in `Memory.remember`.

    Returns:
        The outcome of each, in their order. If the model fails, the statement is added and its record's payload has
        `unreconciled` with the reason, for `Digest`.

    Raises:
        InvalidInputError: a statement or a field is invalid.
        EmbedderError: a statement could not be embedded; those before it are stored.
    """
    given = [statements] if isinstance(statements, Statement | str) else statements
    read = [Statement(text=each) if isinstance(each, str) else each for each in given]
    for each in read:
        if not isinstance(each, Statement):
            raise InvalidInputError(f"a statement must be a Statement or a string, not {type(each).__name__}")
    return await Reconciler(memory, prompts, nearest, fields).in_turn(read, model)


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Reconciles statements with the facts of a memory. See `reconcile` for the arguments."""

    memory: Memory
    prompts: Prompts | None
    nearest: int
    fields: Mapping[str, Any]

    async def in_turn(self, statements: Sequence[Statement], model: ChatModelSpec | None) -> list[Reconciled]:
        """Reconcile statements one after the other; after an outage, the model is not asked about the rest."""
        whole("nearest", self.nearest, 1)
        if wanted := {id for each in statements for id in each.sources}:
            there = {each.id for each in await self.memory.find(wanted)}
            statements = [replace(each, sources=tuple(id for id in each.sources if id in there)) for each in statements]
        if model is None:
            return [await self.one(each, None) for each in statements]
        outcomes: list[Reconciled] = []
        async with opened(model) as chat:
            asked: ChatModel | Problem = chat
            for each in statements:
                outcome = await self.one(each, asked)
                if outcome.problem is not None and outcome.problem.temporary:
                    asked = outcome.problem
                outcomes.append(outcome)
        return outcomes

    async def one(
        self, statement: Statement, model: ChatModelSpec | Problem | None, *, taken_up: Record | None = None
    ) -> Reconciled:
        """Reconcile one statement.

        `taken_up` is the record that it comes from. The statement is not compared with it, and if the model fails,
        nothing is stored, since that record is there.
        """
        hits = await self.memory.facts.search(statement.text, limit=self.nearest + 1)
        near = [hit for hit in hits if taken_up is None or hit.record.id != taken_up.id][: self.nearest]
        for hit in near:
            if same_words(hit.record.content, statement.text):
                return Reconciled(statement=statement, decision=Decision.CONTAINED, record=hit.record)
        near = [hit for hit in near if hit.similarity >= NEAR or hit.matched]
        if model is None or statement.raw is not None or not near:
            return await self._add(statement)
        known = [
            {"number": number, **_dated(hit.record.content, hit.record.happened_at, self.memory.zone)}
            for number, hit in enumerate(near, 1)
        ]
        question = {"new": _dated(statement.text, statement.happened_at, self.memory.zone), "stored": known}
        asked = await ask(model, "reconcile", question, _FORM, self.prompts)
        problem = asked.problem or _fault(asked.data, statement, near, self.prompts)
        if problem is not None:
            told("Reconciling a fact", problem)
            if taken_up is not None:
                return Reconciled(
                    statement=statement, decision=Decision.ADD, record=taken_up, problem=problem, usage=asked.usage
                )
            return await self._add(statement, problem=problem, usage=asked.usage)
        try:
            return await self._carry_out(statement, asked.data, near, asked.usage)
        except (InvalidInputError, NotFoundError):
            if all(now is not None and now.current for now in [await self.memory.get(hit.record.id) for hit in near]):
                raise
        # Another caller superseded or forgot a fact while the model was answering.
        return await self.one(statement, model, taken_up=taken_up)

    async def _carry_out(
        self, statement: Statement, answer: Mapping[str, Any], near: Sequence[Hit], usage: Usage
    ) -> Reconciled:
        decision = Decision(answer["decision"])
        if decision is Decision.ADD:
            return await self._add(statement, usage=usage)
        old, replaced = near[answer["fact"] - 1].record, None
        if decision is Decision.CONTAINED:
            record = old
        elif decision is Decision.CONTRADICTED and _told_before(statement, old):
            decision, past = Decision.OUTDATED, fact_draft(statement, self.fields, id=make_id())
            both = [past, again(old, supersedes=past.id)]
            replaced, record = await self.memory.remember(both, if_exists="replace")
        else:
            merged = " ".join(answer["statement"].split()) if decision is Decision.UPDATE else None
            draft = fact_draft(statement, self.fields, text=merged, supersedes=old.id)
            replaced, record = old, await self.memory.remember(draft)
        return Reconciled(statement=statement, decision=decision, record=record, replaced=replaced, usage=usage)

    async def _add(
        self, statement: Statement, *, problem: Problem | None = None, usage: Usage = NO_USAGE
    ) -> Reconciled:
        marks = {} if problem is None else {"unreconciled": problem.reason}
        # The id is derived from the words, so that concurrent calls that add them add one record.
        words = json.dumps([self.memory.scope.agent, self.memory.scope.session, _plain(statement.text)])
        own = fact_draft(statement, self.fields, id=uuid.uuid5(_NAMESPACE, words).hex, marks=marks)
        record = await self.memory.remember(own, if_exists="ignore")
        if not record.current:  # it held once before, and holds again
            record = await self.memory.remember(fact_draft(statement, self.fields, marks=marks))
        return Reconciled(statement=statement, decision=Decision.ADD, record=record, problem=problem, usage=usage)


def _dated(text: str, moment: datetime | None, zone: tzinfo) -> dict[str, Any]:
    return {"statement": text, "since": None if moment is None else f"{read_in(moment, zone):%Y-%m-%d}"}


def _fault(
    answer: Mapping[str, Any], statement: Statement, near: Sequence[Hit], prompts: Prompts | None
) -> Problem | None:
    if answer["decision"] == Decision.ADD:
        return None
    if not 1 <= answer["fact"] <= len(near):
        return Problem(f"the answer names fact {answer['fact']}, which does not exist")
    if answer["decision"] != Decision.UPDATE:
        return None
    if not answer["statement"].strip():  # the old fact's part would be lost
        return Problem("the answer lacks the merged sentence")
    return wrong_language([answer["statement"]], [statement.text], prompts)


def _told_before(statement: Statement, old: Record) -> bool:
    told_at = old.payload.get("told_at")
    return statement.told_at is not None and told_at is not None and statement.told_at < parse_time(told_at)


# --- as records --------------------------------------------------------------------------------------


def fact_draft(
    statement: Statement,
    fields: Mapping[str, Any],
    *,
    text: str | None = None,
    id: str | None = None,
    supersedes: str | None = None,
    marks: Mapping[str, Any] | None = None,
) -> Draft:
    """Return the record for a statement; the payload names its source."""
    sources = [*statement.sources, *([supersedes] if text is not None and supersedes is not None else ())]
    given = {
        "happened_at": statement.happened_at,
        "id": id,
        "author": statement.author & ~Author.OPERATOR or None,
        "derived_from": sources,
        **fields,
    }
    payload: dict[str, Any] = {
        **(given.pop("payload", None) or {}),
        "messages": list(statement.messages) or None,
        "told_at": None if statement.told_at is None else iso(statement.told_at),
        "raw": statement.raw,
        "supersedes": supersedes,
        **(marks or {}),
    }
    return Draft(
        content=text or statement.text,
        kind=Kind.FACT,
        payload={name: value for name, value in payload.items() if value is not None},
        supersedes=supersedes,
        **given,
    )


def again(record: Record, *, supersedes: str | None) -> Draft:
    """Return a stored record as a draft with its own id that supersedes another and is otherwise unchanged."""
    payload = dict(record.payload)
    if supersedes is not None:
        payload.setdefault("supersedes", supersedes)
    return Draft(
        content=record.content, kind=record.kind, id=record.id, cue=record.cue, key=record.key,
        metadata=record.metadata, payload=payload, source=record.source, verified=record.verified,
        rating=record.rating, happened_at=record.happened_at, expires_at=record.expires_at,
        supersedes=supersedes, agent=record.scope.agent, session=record.scope.session,
        author=record.origin.authors & ~Author.OPERATOR or None, derived_from=record.origin.derived_from,
    )  # fmt: skip


def same_words(one: str, other: str) -> bool:
    """Return whether two texts are equal except for case, white space and punctuation at the end."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).casefold()).strip(" .!…。")
