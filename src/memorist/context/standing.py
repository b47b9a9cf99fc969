"""What always holds: topics asked for, pinned records, standing instructions and preferences."""

from collections.abc import Collection
from typing import Any

from memorist.context.lines import Line, line_of
from memorist.context.reading import Reader
from memorist.context.sentences import QuestionTerms
from memorist.errors import InvalidInputError
from memorist.languages import said
from memorist.operations.answers import Why
from memorist.records.record import Kind, Record

_LONGEST = 400
_LOOKED_AT = 16
"""The number of records read, of which most are left out."""
_MOST = 3
_FREE = 100
"""Characters up to which a preference is told whatever is asked."""
_RELATED = 2
"""How many of the question's terms a longer one must share: most are wishes of one conversation ("I'd prefer a morning
slot"), said amid other things."""


async def asked_for(reader: Reader, topics: Collection[str], pinned: Collection[str], **narrowing: Any) -> list[Line]:
    """Return the topics and records named, in this order; unknown names are ignored.

    A topic's name that ends in ``*`` stands for all that begin so.
    """
    for what, names in (("topics", topics), ("pinned", pinned)):
        if not all(name.strip() for name in names):
            raise InvalidInputError(f"{what} must be names that are not blank")
    found: list[Line] = []
    for name in topics:
        if name.endswith("*"):
            page = await reader.browse(kind=Kind.TOPIC, key_prefix=name[:-1] or None, order="key", **narrowing)
            found += [_line(record, "topic") for record in page.records]
        elif (record := await reader.lookup(name, **narrowing)) is not None:
            found.append(_line(record, "topic"))
    for id in pinned:
        if (record := await reader.get(id)) is not None:
            found.append(_line(record, "pinned"))
    return list({line.record.id: line for line in found}.values())


async def standing_among(reader: Reader, asked: QuestionTerms, *, conditional: bool, shared: bool) -> list[Line]:
    """Return standing instructions and preferences: first those that share words with the question, then the newest.

    Of preferences in long texts only those that share words with the question. Without `conditional`, only what holds
    for every question: "Always answer in French", but neither "Always name your sources when I ask about history" nor
    "I prefer window seats".
    """
    read = await reader.standing(asked.terms, _LOOKED_AT, shared=shared)
    held = [each for each in read if _instructs(each)]
    always = [each for each in held if not (said("conditional", each.content) or said("preference", each.content))]
    always.sort(key=lambda record: (asked.shares(record.content), record.at), reverse=True)
    always = always[:_MOST]
    if not conditional:
        return [_line(record, "standing") for record in always]
    about = [each for each in held if each not in always and _concerns(asked, each.content)]
    about.sort(key=lambda record: (asked.shares(record.content), record.at), reverse=True)
    return [_line(record, "standing") for record in [*always, *about][:_MOST]]


def _instructs(record: Record) -> bool:
    """Return whether a record may instruct: the user's words, not too long.

    A fact describes somebody: "always there to help" binds no agent.
    """
    if record.kind is Kind.FACT or len(record.content) > _LONGEST:
        return False
    by_user = record.payload.get("role") == "user" or record.payload.get("speaker") in (None, "user")
    return record.kind is not Kind.MESSAGE or by_user


def _concerns(asked: QuestionTerms, text: str) -> bool:
    """Return whether a standing instruction or preference may matter for a question."""
    short = len(text) <= _FREE or not said("preference", text)
    return short or asked.shares(text) >= min(_RELATED, len(asked.terms))


def _line(record: Record, why: Why) -> Line:
    return line_of(record, record.content, why, 1.0)
