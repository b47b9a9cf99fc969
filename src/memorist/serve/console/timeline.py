"""Time: facts with what they superseded on a time line, what changed, and everything as it was known on a day."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidInputError, shown
from memorist.memory import Memory
from memorist.operations.answers import Replacement
from memorist.records.kind import MEMORIES
from memorist.records.record import Kind, Record
from memorist.records.times import iso
from memorist.records.zones import local
from memorist.serve.console.charts import Mark, spans_between
from memorist.serve.console.home import rows_of
from memorist.serve.console.visits import Visit

PARAMETERS = ("day", "as_of", "cursor", "start", "fragment")
_MOST_FACTS = 2000
_LANES = 20
_KNOWN = 20
_CHANGES = 100
"""The newest changes up to the day, by which what was known is marked."""
_MOST_MARKS = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """A fact on the line: from when it held until its place was taken; `x` and `width` in percent."""

    record: Record
    x: float
    width: float
    until: datetime | None
    held: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """A fact and all that it superseded, oldest first."""

    name: str
    bars: list[Bar]


async def timeline(visit: Visit) -> Response:
    """Show the facts on a line, and what was known on the day of the slider."""
    memory, zone = visit.memory, visit.session.zone
    oldest = (await memory.browse(superseded=True, order="oldest", limit=1)).records
    newest = (await memory.browse(superseded=True, order="newest", limit=1)).records
    if not oldest:
        return visit.page("time.html", title="Time", lanes=[], empty=True)
    first, last = local(oldest[0].at, zone), max(local(newest[0].at, zone), local(memory.clock(), zone))
    day = min(max(_day(visit) or last.date(), first.date()), last.date())
    moment = datetime.combine(day, time.max, zone)
    facts = (await memory.browse(kind=Kind.FACT, superseded=True, limit=_MOST_FACTS)).records
    chains = _chains(facts)
    start = visit.number("start")
    lanes = lanes_of(chains[start : start + _LANES], first, last, moment)
    cursor = visit.value("cursor")
    known = await memory.browse(as_of=moment, limit=_KNOWN, cursor=cursor)
    changes = await _changes(memory, moment)
    counts = {str(kind): await memory.count(as_of=moment, kind=kind) for kind in MEMORIES}
    chosen = {"as_of": day.isoformat()}
    values: dict[str, Any] = {
        "lanes": lanes,
        "empty": False,
        "day": day,
        "first": first.date(),
        "last": last.date(),
        "line": _percent(moment, first, last),
        "marks": _marks(first, last),
        "known": known.records,
        "changes": changes[:_KNOWN],
        "changed": {each.former.id: each for each in changes},
        "kinds": rows_of(counts, dict.fromkeys(counts, visit.link("/ask", as_of=iso(moment))), kinds=True),
        "count": sum(counts.values()),
        "more": None if known.next is None else visit.link("/time", **chosen, cursor=known.next),
        "further": visit.link("/time", **chosen, start=start + _LANES) if len(chains) > start + _LANES else None,
        "cut": len(facts) >= _MOST_FACTS,
    }
    if visit.value("fragment") is not None:
        return visit.part("line.html", **values)
    return visit.page("time.html", title="Time", scripts=("time.js",), **values)


async def _changes(memory: Memory, moment: datetime) -> Sequence[Replacement]:
    """Return the newest changes up to a moment; none where the scope has more records than are held in memory."""
    try:
        return (await memory.changes(until=moment, limit=_CHANGES)).changes
    except InvalidInputError:
        return ()


def _chains(facts: Iterable[Record]) -> list[list[Record]]:
    """Return facts with what they superseded, each oldest first; changed facts come before unchanged ones."""
    followed: dict[str, list[Record]] = {}
    own = {each.id: each for each in facts}
    for record in own.values():
        last, seen = record, {record.id}
        while last.superseded_by in own and last.superseded_by not in seen:
            last = own[last.superseded_by]
            seen.add(last.id)
        followed.setdefault(last.id, []).append(record)
    chains = [sorted(chain, key=lambda each: each.at) for chain in followed.values()]
    return sorted(chains, key=lambda chain: len(chain) == 1)


def lanes_of(chains: Iterable[list[Record]], first: datetime, last: datetime, moment: datetime) -> list[Lane]:
    """Return the chains as lanes. A bar ends where the next fact begins, or where its place was taken, whichever is
    earlier.

    `held` is whether a fact was known, and not yet superseded, at `moment`: what `as_of` tells.
    """
    lanes = []
    for chain in chains:
        bars = []
        for record, after in zip(chain, [*chain[1:], None], strict=True):
            ends = [each for each in (record.superseded_at, after.at if after else None) if each is not None]
            until = min(ends, default=None)
            x, end = _percent(record.at, first, last), _percent(until or last, first, last)
            held = record.at <= moment and (record.superseded_at is None or record.superseded_at > moment)
            bars.append(Bar(record, x, max(round(end - x, 2), 0.6), until, held))
        lanes.append(Lane(chain[-1].key or chain[-1].content[:60], bars))
    return lanes


def _percent(moment: datetime, first: datetime, last: datetime) -> float:
    span = max((last - first).total_seconds(), 1.0)
    return round(min(max(100 * (moment - first).total_seconds() / span, 0.0), 100.0), 2)


def _marks(first: datetime, last: datetime) -> list[Mark]:
    _, spans = spans_between(first, last)
    step = -(-len(spans) // _MOST_MARKS)
    marks = [Mark(each.label, _percent(each.since, first, last), n % 2 == 1) for n, each in enumerate(spans[::step])]
    return [mark for mark in marks if mark.x < 92]


def _day(visit: Visit) -> date | None:
    """Return the day that the slider or the date of the form names."""
    number, text = visit.number("day"), visit.value("as_of")
    try:
        if text is not None:
            return date.fromisoformat(text)
        return None if visit.value("day") is None else date.fromordinal(number)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"as_of is a day such as 2024-05-01, not {shown(text or number)}") from error
