"""Finds what is told beside a recalled record: what replaced it, the question it answers, or the fact it superseded."""

from dataclasses import replace
from datetime import timedelta

from memorist.context.dates import dated
from memorist.context.lines import Line, line_of
from memorist.context.reading import Reader
from memorist.context.sentences import QuestionTerms, shortened
from memorist.languages.writing import day_of
from memorist.records.record import Hit, Kind, Record, Replaced

_SHORT_ANSWER = 8
"""The most words of a message that may mean little without the one before it."""
_QUESTION = 40
"""Words of a question that are shown."""
_LOOKED_BACK = timedelta(days=1)
_LOOKED_AT = 50
_INSTANT = timedelta(microseconds=1)


async def beside(reader: Reader, hit: Hit, asked: QuestionTerms) -> Line | None:
    """Return the line that explains a hit, None for most hits."""
    record = hit.record
    if hit.replaced is not None and (later := await reader.get(hit.replaced.by)) is not None:
        return line_of(later, dated(shortened(later.content, asked, _QUESTION), later.at), "later", hit.score)
    if record.kind is Kind.FACT and asked.earlier:
        before = await _superseded(reader, record)
        if before is not None:
            line = line_of(before, f"{before.content} (until {day_of(record.at)})", "earlier", hit.score)
            return replace(line, item=replace(line.item, replaced=Replaced(record.id, record.at, 1.0)))
    if record.kind is Kind.MESSAGE and _is_short_answer(record):
        before = await _message_before(reader, record)
        if before is not None and "?" in before.content:
            text = shortened(before.content, asked, _QUESTION)
            return line_of(before, dated(text, before.at), "asked", hit.score)
    return None


def _is_short_answer(record: Record) -> bool:
    text = record.content
    return record.scope.session is not None and "?" not in text and len(text.split()) <= _SHORT_ANSWER


async def _superseded(reader: Reader, fact: Record) -> Record | None:
    before = fact.payload.get("supersedes")
    return await reader.get(before) if isinstance(before, str) else None


async def _message_before(reader: Reader, record: Record) -> Record | None:
    """Return the message of the same conversation that was said before this one."""
    page = await reader.browse(
        kind=Kind.MESSAGE,
        session=record.scope.session,
        since=record.at - _LOOKED_BACK,
        until=record.at + _INSTANT,
        order="newest",
        limit=_LOOKED_AT,
    )
    ids = [each.id for each in page.records]
    position = ids.index(record.id) + 1 if record.id in ids else len(ids)
    return page.records[position] if position < len(ids) else None
