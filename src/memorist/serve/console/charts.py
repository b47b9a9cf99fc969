"""Charts as plain numbers for a template: the number of records in each span of time, and the axes."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import islice, pairwise
from typing import TypeAlias

from memorist.records.zones import local

Begin: TypeAlias = Callable[[datetime], datetime]
HEIGHT = 132
_MOST_COLUMNS = 42
_MOST_MARKS = 6
_GAP = 0.18
"""The share of a column that stays empty between it and the next."""
_HEADROOM = 16
"""The space above the highest tick, for its label."""


@dataclass(frozen=True, slots=True)
class Span:
    """A day, a week, a month or more: from `since` until just before `until`."""

    since: datetime
    until: datetime
    label: str


@dataclass(frozen=True, slots=True)
class Column:
    """The records of one span. Widths and `x` are in percent of the chart, heights in pixels."""

    label: str
    count: int
    link: str
    x: float
    width: float
    bar_x: float
    bar_width: float
    height: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on the vertical axis."""

    value: int
    y: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A date on the horizontal axis; a `fine` one is left out where there is little room."""

    text: str
    x: float
    fine: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A column chart of records over time; `unit` is what one column stands for."""

    unit: str
    columns: list[Column]
    ticks: list[Tick]
    marks: list[Mark]
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class Share:
    """A piece of a bar: its value, its share of the whole in percent, and where it begins, likewise."""

    name: str
    value: float
    share: float
    start: float
    colour: int


def shares_of(
    values: Mapping[str, float], titles: Mapping[str, str], weights: Mapping[str, float] | None = None
) -> list[Share]:
    """Return the pieces of a bar, in the order of `titles`; what is below half a percent is left out.

    Args:
        values: by name.
        titles: the names of the pieces for people.
        weights: the numbers whose shares are shown; by default the values.
    """
    weighed = values if weights is None else weights
    whole, shares, start = sum(weighed.values()) or 1.0, list[Share](), 0.0
    for number, (name, title) in enumerate(titles.items(), 1):
        if (share := 100 * weighed.get(name, 0.0) / whole) >= 0.5:
            shares.append(Share(title, values[name], share, start, number))
            start += share
    return shares


async def drawn(
    first: datetime,
    last: datetime,
    zone: tzinfo,
    count: Callable[[Span], Awaitable[int]],
    link: Callable[[Span], str],
) -> Chart:
    """Return the chart of the counts that `count` returns for each span from `first` to `last`.

    Args:
        first: the time of the oldest record.
        last: the time of the newest.
        zone: the time zone in which days begin.
        count: returns how many records are in a span.
        link: returns where a column leads to.
    """
    unit, spans = spans_between(local(first, zone), local(last, zone))
    counts = [await count(span) for span in spans]
    ticks = nice_ticks(max(counts))
    room = (HEIGHT - _HEADROOM) / ticks[-1]
    width = 100 / len(spans)
    columns = [
        Column(
            span.label,
            each,
            link(span),
            round(number * width, 3),
            round(width, 3),
            round((number + _GAP / 2) * width, 3),
            round((1 - _GAP) * width, 3),
            round(max(each * room, 2.0) if each else 0.0, 1),
        )
        for number, (span, each) in enumerate(zip(spans, counts, strict=True))
    ]
    step = -(-len(spans) // _MOST_MARKS)
    marks = [
        Mark(spans[number].label, round(number * width, 3), place % 2 == 1)
        for place, number in enumerate(range(0, len(spans) - step // 2, step))
    ]
    return Chart(unit, columns, [Tick(value, round(HEIGHT - value * room, 1)) for value in ticks if value], marks)


def nice_ticks(highest: int) -> list[int]:
    """Return round numbers from 0 to the first that is not below `highest`: three to five of them."""
    step = 1
    while step * 4 < highest:
        step = step * 2 if str(step)[0] in "15" else step * 5 // 2
    return list(range(0, max(highest, 1) + step, step))[: -(-max(highest, 1) // step) + 1]


def spans_between(first: datetime, last: datetime) -> tuple[str, list[Span]]:
    """Return days, weeks, months, years or more that hold both times, whichever are few enough, and their name."""
    unit, starts = "", list[datetime]()
    for unit, (begin, days) in _UNITS.items():  # noqa: B007
        starts = list(islice(_starts(begin, days, first, last), _MOST_COLUMNS + 2))
        if len(starts) <= _MOST_COLUMNS + 1:
            break
    form = {"day": "{0.day} {0:%b} {0.year}", "week": "{0.day} {0:%b} {0.year}", "month": "{0:%b} {0.year}"}
    return unit, [Span(since, until, form.get(unit, "{0.year}").format(since)) for since, until in pairwise(starts)]


def _starts(begin: Begin, days: int, first: datetime, last: datetime) -> Iterator[datetime]:
    """Yield where each span begins, and where the last one ends."""
    at = begin(first)
    while at <= last:
        yield at
        try:
            at = begin(at + timedelta(days=days))
        except OverflowError:  # the calendar ends with the year 9999
            at = datetime.max.replace(tzinfo=last.tzinfo)
            break
    yield at


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _week(moment: datetime) -> datetime:
    day = _day(moment)
    return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))


def _years(number: int) -> Begin:
    """Return a function that tells where each span of so many years begins."""
    return lambda moment: _day(moment).replace(year=max(moment.year // number * number, 1), month=1, day=1)


_UNITS: dict[str, tuple[Begin, int]] = {
    "day": (_day, 1),
    "week": (_week, 7),
    "month": (lambda moment: _day(moment).replace(day=1), 32),
    "year": (_years(1), 367),
    "decade": (_years(10), 3654),
    "century": (_years(100), 36526),
    "millennium": (_years(1000), 365250),
}
"""Where a span begins, and the days after which one is surely in the next span, and not in the one after it."""
