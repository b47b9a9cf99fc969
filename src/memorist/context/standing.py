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
    found = [
        record
        for record in read
        if record.kind is not Kind.FACT  # describes somebody: "always there to help" binds no agent
        and (record.kind is not Kind.MESSAGE or (record.payload.get("speaker") or record.payload.get("role")) == "user")
        and len(record.content) <= _LONGEST
        and said("standing", record.content)
        and (
            _concerns(asked, record.content)
            if conditional
            else not (said("conditional", record.content) or said("preference", record.content))
        )
    ]
    found.sort(key=lambda record: (asked.shares(record.content), record.at), reverse=True)
    return [_line(record, "standing") for record in found[:_MOST]]


def _concerns(asked: QuestionTerms, text: str) -> bool:
    """Return whether a standing instruction or preference may matter for a question."""
    short = len(text) <= _FREE or not said("preference", text)
    return short or asked.shares(text) >= min(_RELATED, len(asked.terms))


def _line(record: Record, why: Why) -> Line:
    return line_of(record, record.content, why, 1.0)
