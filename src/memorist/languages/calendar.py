"""The calendar: which stretch of time "last weekend" is, counted from a day."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias

Grain: TypeAlias = Literal["hour", "day", "week", "weekend", "month", "season", "year"]

DAY = 86_400.0
WEEK = 7 * DAY
"""Seconds."""
_SHIFT = 0.1
"""By how much of a day one may be longer, where the clocks are changed."""
_NOWRUZ = 226_530
"""The day before the first of year 0 of the Solar Hijri calendar, as an ordinal; right from 1960 to 2040."""
_UNITS: dict[Grain, tuple[float, float]] = {
    "hour": (1 / 24, 1 / 12),
    "day": (1, 0.5),
    "week": (7, 4),
    "month": (30.44, 16),
    "year": (365.25, 183),
}
"""The days in each unit, and the uncertainty in days of a time that many units ago."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in epoch seconds, `start` included, `end` excluded.

    Attributes:
        start: its first second.
        end: the first second after it.
        grain: the unit that it was told in.
        vague: whether its ends are a guess, as those of "two weeks ago" are.
        zone: whose days it was counted in.
    """

    start: float
    end: float
    grain: Grain = "day"
    vague: bool = False
    zone: tzinfo = UTC

    @property
    def first(self) -> datetime:
        """The point in time at which it begins."""
        return datetime.fromtimestamp(self.start, self.zone)

    @property
    def ahead_of_utc(self) -> float:
        """How many seconds its zone is ahead of UTC when it begins."""
        return (self.first.utcoffset() or timedelta()).total_seconds()

    @property
    def middle(self) -> datetime:
        """The point in time in its middle."""
        return datetime.fromtimestamp((self.start + self.end) / 2, self.zone)


def bits_of(weekdays: Iterable[int]) -> int:
    """Return days of the week, 0 for Monday, as the bits of a number: Monday is 1, Tuesday 2, Wednesday 4."""
    return sum(1 << each for each in set(weekdays))


def weekdays_of(spans: Iterable[Span]) -> int:
    """Return the days of the week on which stretches of time have their days, as `bits_of` does."""
    found = set[int]()
    for span in spans:
        count = math.ceil((span.end - span.start) / DAY - _SHIFT)
        found.update((span.first.weekday() + day) % 7 for day in range(min(count, 7)))
    return bits_of(found)


def counted(now: datetime, count: int, unit: Grain) -> Span:
    """Return the time that lies so many units after `now`, or before it where the count is negative."""
    slack = timedelta(days=_UNITS[unit][1])
    if unit == "hour":
        middle = now + timedelta(hours=count)
    elif unit == "day":  # a whole day; a large count of days is less exact
        middle = _midnight(now) + timedelta(days=count) + slack
        slack += timedelta(days=0.1 * abs(count))
    elif unit == "week":
        middle = now + timedelta(weeks=count)
    else:
        middle = _months_on(now, count * (12 if unit == "year" else 1))
    return replace(_span(middle - slack, middle + slack, unit), vague=unit != "day")


def until_now(now: datetime, count: int, unit: Grain) -> Span:
    """Return the last so many units: "in the past month"."""
    return _span(now - timedelta(days=count * _UNITS[unit][0]), now + timedelta(days=1), unit)


def period(now: datetime, step: int, unit: str) -> Span:
    """Return a unit of the calendar: the one that holds `now`, the one before (-1), the one after (1).

    Args:
        now: what is counted from.
        step: how many units on.
        unit: a grain; "weekday 0" to "weekday 6" for the Mondays to Sundays before today, in this week and after today;
            "season 6" for the three months from June on: the last that are over, those of this year, the next to begin.
    """
    today = _midnight(now)
    monday = today - timedelta(days=today.weekday())
    name, _, which = unit.partition(" ")
    if name == "weekday":
        return _weekday(today, step, int(which))
    if name == "season":
        return _season(now, step, int(which))
    if name == "week":
        return days(monday + timedelta(weeks=step), 7, "week")
    if name == "weekend":
        return days(monday + timedelta(weeks=step, days=5), 2, "weekend")
    if name == "month":
        return months(_months_on(today.replace(day=1), step), 1, "month")
    if name == "year":
        return months(_months_on(today.replace(day=1, month=1), 12 * step), 12, "year")
    return days(today + timedelta(days=step))


def day_of_week(now: datetime, step: int, wanted: int) -> Span:
    """Return a day of the week, 0 for Monday, in this week, in the one before (-1) or after (1)."""
    return days(_midnight(now) + timedelta(days=wanted - now.weekday(), weeks=step))


def solar(year: int, month: int, day: int) -> datetime:
    """Return the midnight, in UTC, of a day of the Solar Hijri calendar.

    Raises:
        ValueError: it has no such day.
    """
    first, after = (_NOWRUZ + 365 * each + (8 * each + 21) // 33 for each in (year, year + 1))  # 8 leap years in 33
    start = first + 31 * (month - 1) - max(month - 7, 0)  # six months of 31 days, five of 30, and what is left
    if not (1 <= month <= 12 and 1 <= day <= (31 if month < 7 else min(30, after - start))):
        raise ValueError(f"no day {day} of month {month}")
    return datetime.fromordinal(start + day - 1).replace(tzinfo=UTC)


def days(start: datetime, count: int = 1, grain: Grain = "day") -> Span:
    """Return so many days from a midnight on."""
    return _span(start, start + timedelta(days=count), grain)


def months(start: datetime, count: int, grain: Grain) -> Span:
    """Return so many months from the first of a month on."""
    return _span(start, _months_on(start, count), grain)


def _weekday(today: datetime, step: int, wanted: int) -> Span:
    away = wanted - today.weekday()
    if step < 0:
        return days(today + timedelta(days=away % 7 - 7, weeks=step + 1))
    return days(today + timedelta(days=away if step == 0 else away % 7 or 7, weeks=max(step - 1, 0)))


def _season(now: datetime, step: int, first: int) -> Span:
    start = _midnight(now).replace(day=1, month=first)
    if step == 0 and now.month < first - 9:  # a winter that began last year
        start = _months_on(start, -12)
    while step < 0 and _months_on(start, 3) > now:
        start = _months_on(start, -12)
    while step > 0 and start <= now:
        start = _months_on(start, 12)
    return months(_months_on(start, 12 * (step + 1 if step < 0 else max(step - 1, 0))), 3, "season")


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _months_on(moment: datetime, count: int) -> datetime:
    """Return the same day so many months later, or the last of that month where it is shorter."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + count, 12)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1)


def _span(start: datetime, end: datetime, grain: Grain) -> Span:
    return Span(start.timestamp(), end.timestamp(), grain, zone=start.tzinfo or UTC)
