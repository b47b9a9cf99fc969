"""Reads dates written in numbers alone, in which the day or the month may come first."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import pairwise
from typing import TypeAlias

from memorist.errors import needs

Numbers: TypeAlias = tuple[int, int, int]

_PERSIAN, _ISLAMIC = range(1370, 1425), range(1425, 1501)
"""The years in which chats can have been written, which the two calendars do not share."""
_PERSIAN_BEGINS = date(1991, 3, 21)
"""The first day of the first of these years."""
_PERSIAN_LEAP = (1, 5, 9, 13, 17, 22, 26, 30)
_DATE = re.compile(r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?!\d)")


def order_of(dates: Iterable[Numbers], *, american: bool = False, dotted: bool = False) -> str:
    """Return which number is which in the dates of a file, as "dmy", "mdy" or "ymd".

    A number over 31 is a year, one over 12 a day. If no date has such a number, the order is chosen in which fewer
    dates are earlier than the date above them.

    Args:
        dates: the dates in the order of the file, each once.
        american: what decides when nothing else does: whether the month stands first.
        dotted: whether the numbers have dots between them; then the day stands first, unless it cannot.
    """
    seen = list(dict.fromkeys(dates))
    if any(one > 31 for one, _, _ in seen):
        return "ymd"
    day_first, month_first = (sum(each[place] > 12 for each in seen) for place in (0, 1))
    if dotted:
        return "mdy" if month_first > day_first == 0 else "dmy"
    if day_first != month_first:
        return "dmy" if day_first > month_first else "mdy"
    back = dict[str, int]()  # how often a date lies before the one above it
    for order in ("dmy", "mdy"):
        days = [tuple(numbers[order.index(unit)] for unit in "ymd") for numbers in seen]
        back[order] = sum(after < before for before, after in pairwise(days))
    if back["dmy"] != back["mdy"]:
        return min(back, key=lambda order: back[order])
    return "mdy" if american else "dmy"


def numbers_of(text: str) -> Numbers | None:
    """Return the numbers of the date that a text begins with, None where it begins with none."""
    found = _DATE.match(text)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def day_of(year: int, month: int, day: int) -> date:
    """Return the day of a date by its year: of this calendar, the Buddhist, the Persian or the Islamic one.

    Raises:
        ValueError: there is no such day.
        MissingExtraError: it is of the Islamic calendar, whose months are in the tables of a library.
    """
    if year < 100:
        return date(2000 + year, month, day)
    if year in _PERSIAN:
        return _persian(year, month, day)
    if year in _ISLAMIC:
        with needs("hijridate", "imports"):
            from hijridate import Hijri
        return date(*Hijri(year, month, day).to_gregorian().datetuple())
    return date(year - 543 if year > 2400 else year, month, day)


def _persian(year: int, month: int, day: int) -> date:
    """Return the day of a date of the Persian calendar, by its cycle of 33 years, which is exact for these years."""
    long = month <= 6
    is_leap = year % 33 in _PERSIAN_LEAP
    longest = 31 if long else 29 if month == 12 and not is_leap else 30
    if not 1 <= month <= 12 or not 1 <= day <= longest:
        raise ValueError("there is no such day in the Persian calendar")
    leaps = sum(each % 33 in _PERSIAN_LEAP for each in range(_PERSIAN.start, year))
    before = 31 * (month - 1) if long else 186 + 30 * (month - 7)
    return _PERSIAN_BEGINS + timedelta(365 * (year - _PERSIAN.start) + leaps + before + day - 1)


def is_dotted(text: str) -> bool:
    """Return whether a text begins with a date that has dots between its numbers."""
    found = _DATE.match(text)
    return found is not None and "." in found[0]


def with_year_first(text: str, order: str) -> str:
    """Return a text that begins with a date of this order with the date as ISO 8601 has it."""
    found = _DATE.match(text)
    if found is None:
        return text
    year, month, day = (int(found[1 + order.index(unit)]) for unit in "ymd")
    return f"{year + 2000 if year < 100 else year:04}-{month:02}-{day:02}{text[found.end() :]}"
