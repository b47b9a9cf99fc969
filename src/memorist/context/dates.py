"""Dates in words: what "yesterday" meant on the day it was said, and how a day is written."""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta

from memorist.regex import regex

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
} | {"a": 1, "an": 1, "couple": 2, "few": 3}
_COUNT = r"(\d{1,2}|an?(?: couple(?: of)?| few)?|few|couple(?: of)?|" + "|".join(list(_NUMBERS)[:12]) + ")"
_DAY_NAMES = "|".join(_WEEKDAYS)


def day_of(day: date) -> str:
    """Return a day in words, as 7 May 2023."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def since(then: datetime, now: datetime) -> str:
    """Return how long ago a time was, in the largest unit that says enough: "3 weeks ago"; "" for the future."""
    days = (now.date() - then.date()).days
    if days < 0:
        return ""
    if days < 2:
        return ("today", "yesterday")[days]
    for unit, length, least in (("year", 365.25, 700), ("month", 30.44, 60), ("week", 7, 14)):
        if days >= least:
            return f"{round(days / length)} {unit}s ago"
    return f"{days} days ago"


def dated(text: str, said: datetime) -> str:
    """Return `text` with the date after each expression that is relative to the time it was said.

    ``yesterday`` becomes ``yesterday (7 May 2023)``, ``last year`` becomes ``last year (2022)``. An expression
    that already has something in brackets behind it is left alone, and no date is put in twice.
    """
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    today = said.date()
    told: set[str] = set()

    def put(match: re.Match[str]) -> str:
        for name, meant in _MEANT.items():
            if match[name] is not None:
                try:
                    shown = meant(match[name].lower(), today)
                except (ValueError, OverflowError):  # before the calendar begins, or after it ends
                    break
                if shown in told:
                    break
                told.add(shown)
                return f"{match[0]} ({shown})"
        return match[0]

    return _RELATIVE.sub(put, text)


# --- what the expressions mean -------------------------------------------------------------------------


def _number(text: str) -> int:
    word = text.removeprefix("a ").removesuffix(" of")
    return int(word) if word.isdigit() else _NUMBERS[word]


def _moved(today: date, count: int, unit: str) -> str:
    """Return the time so many units from today, as exactly as the unit says it."""
    if unit == "day":
        return day_of(today + timedelta(days=count))
    if unit == "week":
        return f"around {day_of(today + timedelta(weeks=count))}"
    months = today.year * 12 + today.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    date(year, month + 1, monthrange(year, month + 1)[1])
    return str(year) if unit == "year" else f"{_MONTHS[month]} {year}"


def _counted(text: str, today: date) -> str:
    """Return the time of "in 2 weeks" or "2 weeks ago"."""
    match = re.match(rf"(in )?{_COUNT} (day|week|month|year)", text)
    assert match is not None
    count = _number(match[2])
    return _moved(today, count if match[1] else -count, match[3])


def _named_day(text: str, today: date) -> str:
    word = text.split()[-1]
    if word == "yesterday":
        return day_of(today - timedelta(days=2 if text.startswith("day before") else 1))
    return day_of(today + timedelta(days=2 if text.startswith("day after") else 1))


def _weekday(text: str, today: date) -> str:
    which, name = text.split()[-2:]
    wanted = _WEEKDAYS.index(name)
    if which in ("last", "past"):
        return day_of(today - timedelta(days=(today.weekday() - wanted) % 7 or 7))
    return day_of(today + timedelta(days=(wanted - today.weekday()) % 7 or 7))


def _stretch(text: str, today: date) -> str:
    which, unit = text.split()[-2:]
    step = {"last": -1, "past": -1, "this": 0, "next": 1}[which]
    if unit == "night":
        return day_of(today - timedelta(days=1))
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        if unit == "week":
            return f"week of {day_of(monday)}"
        if which in ("last", "past") and today.weekday() < 5:
            monday = today - timedelta(days=today.weekday() + 7)
        return f"weekend of {day_of(monday + timedelta(days=5))}"
    if unit in ("month", "year"):
        return _moved(today, step, unit)
    return f"{unit} {today.year + step}"


_MEANT: dict[str, Callable[[str, date], str]] = {
    "ago": _counted,
    "ahead": _counted,
    "named": _named_day,
    "weekday": _weekday,
    "stretch": _stretch,
}
_RELATIVE = regex(
    rf"(?<![\w-])(?:(?P<ago>{_COUNT} (?:day|week|month|year)s? ago)"
    rf"|(?P<ahead>in {_COUNT} (?:day|week|month|year)s?(?= ?(?:[.,;!?]|$)))"
    r"|(?P<named>(?:day before )?yesterday|(?:day after )?tomorrow)"
    rf"|(?P<weekday>(?:last|this past|past|this coming|next) (?:{_DAY_NAMES}))"
    r"|(?P<stretch>(?:last|this past|past|next) (?:week|month|year|night|summer|winter|spring|fall|autumn)"
    r"|(?:last|this past|past|this|next) weekend|this month))\b(?! ?\(| of\b)(?!['’]s (?:eve|day))",
    re.IGNORECASE,
)
_HINTS = ("day", "week", "month", "year", "tomorrow", "night", "summer", "winter", "spring", "fall", "autumn")
"""What each of these expressions has some of; looking for them is quicker."""
