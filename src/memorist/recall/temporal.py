"""Time expressions in a question, and how well a record's time fits them.

Only expressions that point at a span of the calendar are read ("two weeks ago", "last Saturday",
"in May 2023", "on 14 August", "in the past month"). Durations ("for two weeks") and questions for a
time ("how many days ago did ...") point nowhere and give no span. A span is a soft preference.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import numpy as np
from dateutil.relativedelta import relativedelta
from numpy.typing import NDArray

from memorist.regex import regex

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in epoch seconds, `start` included, `end` excluded."""

    start: float
    end: float


_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
         "august aug", "september sept sep", "october oct", "november nov", "december dec"), start=1)
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = {d: i for i, d in enumerate(["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])}
_NUMBERS = {
    w: i
    for i, w in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
} | {"a": 1, "an": 1, "couple": 2, "couple of": 2, "few": 3, "several": 4}
_HOLIDAYS = {
    r"new year'?s eve": (12, 31),
    r"new year'?s(?: day)?": (1, 1),
    r"valentine'?s(?: day)?": (2, 14),
    r"halloween": (10, 31),
    r"christmas eve": (12, 24),
    r"christmas(?: day)?": (12, 25),
    r"independence day|(?:the )?(?:4th|fourth) of july": (7, 4),
    r"st\.? patrick'?s day": (3, 17),
}
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}

_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_NUM = (
    r"(\d{1,3}|(?:a )?couple(?: of)?|(?:a )?few|several|an?|"
    + "|".join(w for w in _NUMBERS if w not in {"a", "an", "couple", "couple of", "few", "several"})
    + ")"
)
_YEAR = r"((?:19|20)\d\d)"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"


def _number(text: str) -> int:
    text = text.strip().removeprefix("a ") if text.strip() not in {"a", "an"} else text.strip()
    return int(text) if text.isdigit() else _NUMBERS.get(text, 1)


def _day_start(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _span(start: datetime, end: datetime) -> Span:
    return Span(start.timestamp(), end.timestamp())


_UNITS = {
    "hour": (relativedelta(hours=1), timedelta(hours=2)),
    "day": (relativedelta(days=1), timedelta(days=0.5)),
    "week": (relativedelta(weeks=1), timedelta(days=4)),
    "month": (relativedelta(months=1), timedelta(days=16)),
    "year": (relativedelta(years=1), timedelta(days=183)),
}
"""How long each unit is, and how far from its end something may lie that was as many of them ago."""


def _ago(match: re.Match[str], now: datetime) -> Span:
    count, unit = _number(match[1]), match[2]
    step, slack = _UNITS[unit]
    middle = now - count * step
    if unit == "day":  # a whole day; who counts many of them is off by more
        middle, slack = _day_start(middle) + slack, slack + timedelta(days=0.1 * count)
    return _span(middle - slack, middle + slack)


def _past(match: re.Match[str], now: datetime) -> Span:
    step, _ = _UNITS[match[2]]
    return _span(now - _number(match[1] or "1") * step, now + timedelta(days=1))


def _last(match: re.Match[str], now: datetime) -> Span:
    unit, today = match[1], _day_start(now)
    if unit == "week":
        return _span(today - timedelta(days=today.weekday() + 8), today - timedelta(days=today.weekday() - 1))
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7 or 7)
        return _span(saturday, saturday + timedelta(days=2))
    if unit == "month":
        first = today.replace(day=1)
        return _span(first - relativedelta(months=1), first)
    if unit == "year":
        first = today.replace(day=1, month=1)
        return _span(first - relativedelta(years=1), first)
    if unit == "night":
        return _span(today - timedelta(days=1), today)
    if unit in _SEASONS:
        start = datetime(now.year, _SEASONS[unit], 1, tzinfo=UTC)
        while start + relativedelta(months=3) > now:
            start -= relativedelta(years=1)
        return _span(start, start + relativedelta(months=3))
    back = (today.weekday() - _WEEKDAYS[unit]) % 7 or 7
    return _span(today - timedelta(days=back), today - timedelta(days=back - 1))


def _this(match: re.Match[str], now: datetime) -> Span:
    unit, today = match[1], _day_start(now)
    start = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(day=1, month=1),
    }.get(unit, today)
    return _span(start, today + timedelta(days=1))


def _yesterday(match: re.Match[str], now: datetime) -> Span:
    back = 2 if match[1] else 1
    today = _day_start(now)
    return _span(today - timedelta(days=back), today - timedelta(days=back - 1))


_RELATIVE: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], datetime], Span]], ...] = (
    ("ago earlier back", regex(rf"\b{_NUM} (day|week|month|year|hour)s? (?:ago|earlier|back)\b"), _ago),
    ("past last previous", regex(rf"\b(?:past|last|previous) (?:{_NUM} )?(day|week|month|year|hour)s\b"), _past),
    ("past", regex(r"\bpast ()(week|month|year)\b"), _past),
    (
        "last",
        regex(
            r"\blast (week|weekend|month|year|night|spring|summer|fall|autumn|winter|" + "|".join(_WEEKDAYS) + r")\b"
        ),
        _last,
    ),
    ("day", regex(r"\b(?:this past |on )(" + "|".join(_WEEKDAYS) + r")\b"), _last),
    ("this", regex(r"\bthis (week|month|year|morning)\b"), _this),
    ("today", regex(r"\b(today)\b"), _this),
    ("yesterday", regex(r"\b(day before )?yesterday\b"), _yesterday),
)
"""Expressions with the words of which each text that holds one has at least one, as a part of a word."""

_ISO = regex(rf"\b{_YEAR}[-/](\d{{1,2}})[-/](\d{{1,2}})\b")
_DOTTED = regex(rf"(?<![\d.]){_DAY}\. ?(\d{{1,2}})\. ?{_YEAR}\b|\bon {_DAY}\.(\d{{1,2}})\.(?!\d)")
_DAY_MONTH = regex(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?")
_MONTH_DAY = regex(rf"\b{_MONTH} (?:the )?{_DAY}\b(?!\d)(?:,? {_YEAR})?")
_MONTH_YEAR = regex(rf"\b{_MONTH},?(?: of)? {_YEAR}")
_MONTH_ONLY = regex(
    r"\b(?:in|during|since|of|by|until|last|this|early|late|mid|mid-|and|between|through|to) "
    rf"{_MONTH}(?! (?:i|you|we|he|she|they|be|have)\b)"  # "may" is mostly no month
)
_YEAR_ONLY = regex(rf"\b(?:in|during|since|of|by|before|after) {_YEAR}\b")


def spans(text: str, now: datetime, years: Sequence[int] = ()) -> list[Span]:
    """Return the calendar spans that `text` points at.

    `now` anchors relative expressions. A date without a year is the latest one that is not in the future,
    or, where `years` are given, that date in each of them.
    """
    lower = text.lower().replace("’", "'")
    hints = {each for each in _HINTS if each in lower}
    if _ANY_DIGIT.search(lower):
        hints.add(_DIGIT)
    return _Reader(now, years).read(lower, hints)


class _Reader:
    """Reads one text, each expression once: what a pattern took is gone for the next."""

    def __init__(self, now: datetime, years: Sequence[int]) -> None:
        self._now = now
        self._years = years

    def read(self, text: str, hints: Set[str]) -> list[Span]:
        found: list[Span] = []
        for needed, pattern, resolve in _READERS:
            if needed.isdisjoint(hints):
                continue

            def take(match: re.Match[str], resolve: _Resolve = resolve) -> str:
                # A date that no calendar has, or before its beginning, points nowhere.
                with suppress(ValueError, OverflowError):
                    found.extend(resolve(self, match))
                return " ; "

            text = pattern.sub(take, text)
        return found

    def days(self, year: str | None, month: int, day: int) -> list[Span]:
        starts = (datetime(each, month, day, tzinfo=UTC) for each in self._possible(year, month, day))
        return [_span(start, start + timedelta(days=1)) for start in starts]

    def months(self, year: str | None, month: int) -> list[Span]:
        starts = (datetime(each, month, 1, tzinfo=UTC) for each in self._possible(year, month, 1))
        return [_span(start, start + relativedelta(months=1)) for start in starts]

    def year(self, year: str) -> list[Span]:
        return [_span(datetime(int(year), 1, 1, tzinfo=UTC), datetime(int(year) + 1, 1, 1, tzinfo=UTC))]

    def relative(self, resolve: Callable[[re.Match[str], datetime], Span], match: re.Match[str]) -> list[Span]:
        return [resolve(match, self._now)]

    def _possible(self, year: str | None, month: int, day: int) -> list[int]:
        """Return the years a date may be of: its own, those given, or the latest that is not in the future."""
        if year:
            return [int(year)]
        if self._years:
            return [each for each in self._years if (month, day) != (2, 29) or isleap(each)]
        return [self._now.year if (month, day) <= (self._now.month, self._now.day) else self._now.year - 1]


_Resolve: TypeAlias = Callable[[_Reader, re.Match[str]], list[Span]]


def _holiday(month: int, day: int) -> _Resolve:
    return lambda reader, match: reader.days(None, month, day)


def _relative(resolve: Callable[[re.Match[str], datetime], Span]) -> _Resolve:
    return lambda reader, match: reader.relative(resolve, match)


_DIGIT = "0"
"""The hint that stands for any digit."""
_ANY_DIGIT = regex(r"\d")
_NUMBERED = frozenset((_DIGIT,))
_MONTHLY = frozenset(name[:3] for name in _MONTHS)
_FESTIVE = frozenset(("new year", "valentine", "halloween", "christmas", "independence", "of july", "patrick"))
_READERS: tuple[tuple[frozenset[str], re.Pattern[str], _Resolve], ...] = (
    (_NUMBERED, _ISO, lambda reader, m: reader.days(m[1], int(m[2]), int(m[3]))),
    (_NUMBERED, _DOTTED, lambda reader, m: reader.days(m[3], int(m[2] or m[5]), int(m[1] or m[4]))),
    (_MONTHLY, _DAY_MONTH, lambda reader, m: reader.days(m[3], _MONTHS[m[2]], int(m[1]))),
    (_MONTHLY, _MONTH_DAY, lambda reader, m: reader.days(m[3], _MONTHS[m[1]], int(m[2]))),
    (_MONTHLY, _MONTH_YEAR, lambda reader, m: reader.months(m[2], _MONTHS[m[1]])),
    *((_FESTIVE, regex(rf"\b(?:{name})\b"), _holiday(month, day)) for name, (month, day) in _HOLIDAYS.items()),
    (_MONTHLY, _MONTH_ONLY, lambda reader, m: reader.months(None, _MONTHS[m[1]])),
    (_NUMBERED, _YEAR_ONLY, lambda reader, m: reader.year(m[1])),
    *((frozenset(words.split()), pattern, _relative(resolve)) for words, pattern, resolve in _RELATIVE),
)
"""In this order: the longer expression before the shorter that is a part of it. A pattern is searched for only where
the text holds one of its hints: most texts name no time, and to look for a few letters is a hundredth of the work."""
_HINTS = frozenset[str]().union(*(needed for needed, _, _ in _READERS)) - _NUMBERED


def time_fit(happened_at: NDArray[np.float64], asked: Sequence[Span]) -> NDArray[np.float32]:
    """How well each record's time fits, 0 to 1: 1 inside a span, fading outside.

    People tell of things after they happened, so the fade after a span is slower (its own length,
    at least a week) than before it (half of that). Records without a time (NaN) get 0.
    """
    fit = np.zeros(len(happened_at), np.float32)
    for span in asked:
        scale = max(span.end - span.start, 7 * DAY)
        late = np.clip(happened_at - span.end, 0.0, None) / scale
        early = np.clip(span.start - happened_at, 0.0, None) / (0.5 * scale)
        fit = np.maximum(fit, np.nan_to_num(np.exp(-(late + early))).astype(np.float32))
    return fit
