"""Finds what is told beside a recalled record: what replaced or touches it, the question it answers, or the fact it
superseded."""

from datetime import timedelta

from memorist.context.dates import dated
from memorist.context.life_changes import Changed
from memorist.context.lines import Line, line_of
from memorist.context.reading import Reader
from memorist.context.sentences import QuestionTerms, shortened
from memorist.languages.writing import day_of
from memorist.records.record import Hit, Kind, Replaced

_SHORT_ANSWER = 8
"""The most words of a message that may mean little without the one before it."""
_QUESTION = 40
"""Words of a question that are shown."""
_LOOKED_BACK = timedelta(days=1)
_LOOKED_AT = 50
_INSTANT = timedelta(microseconds=1)


async def beside(reader: Reader, hit: Hit, since: Changed | None, asked: QuestionTerms) -> Line | None:
    """Return the line that explains a hit, None for most hits; `since` is what changed after it and touches it."""
    record = hit.record
    later = since.record if since is not None else await reader.get(hit.replaced.by) if hit.replaced else None
    if later is not None:
        return line_of(later, dated(shortened(later.content, asked, _QUESTION), later.at), "later", hit.score)
    if record.kind is Kind.FACT and asked.earlier and isinstance(superseded := record.payload.get("supersedes"), str):
        before = await reader.get(superseded)
        if before is not None:
            until = f"{before.content} (until {day_of(record.at)})"
            return line_of(before, until, "earlier", hit.score, replaced=Replaced(record.id, record.at, 1.0))
    text, session = record.content, record.scope.session
    if record.kind is Kind.MESSAGE and session and "?" not in text and len(text.split()) <= _SHORT_ANSWER:
        start, end = record.at - _LOOKED_BACK, record.at + _INSTANT
        page = await reader.browse(
            kind=Kind.MESSAGE, session=session, since=start, until=end, order="newest", limit=_LOOKED_AT
        )
        ids = [each.id for each in page.records]
        position = ids.index(record.id) + 1 if record.id in ids else len(ids)
        before = page.records[position] if position < len(ids) else None
        if before is not None and "?" in before.content:
            return line_of(before, dated(shortened(before.content, asked, _QUESTION), before.at), "asked", hit.score)
    return None
