"""Facts from messages: statements that name their subject, with relative dates resolved."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any

from memorist.errors import InvalidInputError
from memorist.kinds import Message
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import (
    NO_MODEL,
    TEXT,
    WHOLE,
    Given,
    Problem,
    ask,
    list_of,
    messages_of,
    object_of,
    opened,
    shown,
    told,
    worst,
    wrong_language,
)
from memorist.records.origins import NOBODY, Author, author_of_role, joined, parse_authors
from memorist.records.times import TimeLike, now, parse_time
from memorist.records.zones import read_in

BATCH = 20
"""The most messages in one call."""
_BATCH_CHARACTERS = 12_000
"""The most characters in one call, unless a single message is longer."""

_FORM = object_of(facts=list_of(statement=TEXT, date=TEXT, message=WHOLE))
_SILENT = ("assistant", "system", "tool", "function", "developer")
"""Messages with these roles are not facts by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A fact that is not stored yet.

    Args:
        text: the sentence.
        happened_at: since when it holds, or when it was said.
        told_at: when it was said.
        messages: the ids of the messages that state it, if they have ids.
        raw: why it is a message's own text and not a fact; None for a fact.
        author: who wrote the messages that state it.
        sources: the ids of the records of these messages, if they are stored.
    """

    text: str
    happened_at: datetime | None = None
    told_at: datetime | None = None
    messages: tuple[str, ...] = ()
    raw: str | None = None
    author: Author = NOBODY
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The facts found in messages.

    Args:
        statements: the facts; for messages that the model could not process, their own texts, with `raw` set.
        problem: why some are raw; None if all are facts.
        usage: the calls, tokens and cost.
    """

    statements: tuple[Statement, ...] = ()
    problem: Problem | None = None
    usage: Usage = NO_USAGE


async def extract_facts(
    messages: Iterable[Given] | Given,
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    now: TimeLike | None = None,
    zone: tzinfo = UTC,
) -> Extraction:
    """Extract the facts that are worth keeping from messages.

    Recalled memories in a message are removed first. Long conversations are processed in batches, as many at once as
    the model allows.

    Args:
        messages: the messages in order, with their dates, so that "yesterday" can be resolved.
        model: without one, the users' messages are returned as they are.
        prompts: by default the bundled ones.
        now: the date of messages without one; by default the present.
        zone: whose days the messages mean.

    Returns:
        The facts, and after a problem the raw texts of the messages concerned. A failing model raises nothing.

    Raises:
        InvalidInputError: a message is invalid, or the prompts cannot be read.
    """
    given = dated(messages_of(messages), now)
    if model is None:
        raw = raw_statements(given, NO_MODEL.reason)
        return Extraction(statements=tuple(raw), problem=NO_MODEL if raw else None)
    async with opened(model) as chat:
        parts = await asyncio.gather(*(extract_batch(batch, chat, prompts, now, zone) for batch in batches_of(given)))
    return Extraction(
        statements=tuple(statement for part in parts for statement in part.statements),
        problem=worst(part.problem for part in parts),
        usage=sum((part.usage for part in parts), Usage()),
    )


def dated(messages: Sequence[Message], moment: TimeLike | None) -> list[Message]:
    """Return the messages, with this date for those without one."""
    if moment is None:
        return list(messages)
    then = parse_time(moment)
    return [each if each.happened_at is not None else replace(each, happened_at=then) for each in messages]


def batches_of(messages: Sequence[Message], count: int = BATCH) -> Iterator[list[Message]]:
    """Yield messages in batches of at most `count`, in order."""
    batch: list[Message] = []
    length = 0
    for message in messages:
        if batch and (len(batch) == count or length + len(message.content) > _BATCH_CHARACTERS):
            yield batch
            batch, length = [], 0
        batch.append(message)
        length += len(message.content)
    if batch:
        yield batch


def raw_statements(messages: Sequence[Message], reason: str) -> list[Statement]:
    """Return the users' messages as they are; if there are none, everyone's."""
    heard = [message for message in messages if message.role.lower() not in _SILENT] or messages
    return [
        Statement(
            text=f"{message.name}: {message.content}" if message.name else message.content,
            raw=reason,
            **_origin_of([message]),
        )
        for message in heard
    ]


def _origin_of(messages: Sequence[Message]) -> dict[str, Any]:
    """Return what a statement in these messages has of them: when it was said, their ids, authors and records."""
    moment = max((each.happened_at for each in messages if each.happened_at is not None), default=None)
    return {
        "happened_at": moment,
        "told_at": moment,
        "messages": tuple(each.id for each in messages if each.id is not None),
        "author": joined(parse_authors(each.author or author_of_role(each.role)) for each in messages),
        "sources": tuple(each.record.id for each in messages if each.record is not None),
    }


async def extract_batch(
    batch: Sequence[Message],
    model: ChatModelSpec,
    prompts: Prompts | None = None,
    today: TimeLike | None = None,
    zone: tzinfo = UTC,
) -> Extraction:
    """Extract the facts from the messages of one call; the model is told the days of a zone."""
    moment = read_in(now() if today is None else parse_time(today), zone)
    data = {"today": f"{moment:%Y-%m-%d (%A)}", "messages": shown(batch, zone)}
    asked = await ask(model, "facts", data, _FORM, prompts)
    problem = asked.problem
    statements: list[Statement] = []
    if problem is None:
        statements = [found for each in asked.data["facts"] if (found := _statement(each, batch, zone)) is not None]
        if asked.data["facts"] and not statements:
            problem = Problem("every fact in the answer is blank")
        else:
            problem = wrong_language((each.text for each in statements), (each.content for each in batch), prompts)
    if problem is None:
        return Extraction(statements=tuple(statements), usage=asked.usage)
    told("Extracting facts", problem)
    raw = tuple(raw_statements(batch, problem.reason))
    return Extraction(statements=raw, problem=problem, usage=asked.usage)


def _statement(found: dict[str, Any], batch: Sequence[Message], zone: tzinfo) -> Statement | None:
    text = " ".join(found["statement"].split())
    if not text:
        return None
    number = found["message"]
    statement = Statement(text=text, **_origin_of([batch[number - 1]] if 1 <= number <= len(batch) else batch))
    try:
        return replace(statement, happened_at=parse_time(found["date"], zone)) if found["date"].strip() else statement
    except InvalidInputError:  # "May 2023": the sentence says it
        return statement
