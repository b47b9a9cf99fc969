"""Points in time: read from strict, unambiguous forms, and kept to the microsecond, with the offset they bring."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.records.zones import offset_of, with_offset
from memorist.system.regex import regex

TimeLike: TypeAlias = datetime | str | int | float
"""A datetime, a text such as ISO 8601, or seconds since 1970. One that names no zone is a time of the memory's zone."""

Clock: TypeAlias = Callable[[], datetime]
"""Returns the present, in UTC."""

MAX_TEXT = 100
"""Longest text that is read as a time, in characters."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANY_DAY = datetime(2025, 1, 1, tzinfo=UTC)
"""A time relative to it tells whether the calendar can hold a time relative to the present."""
_MICROSECOND = timedelta(microseconds=1)
_MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would be the year 5138."""
_ADVICE = "give a datetime, ISO 8601 such as 2023-05-08T13:56Z, or seconds since 1970"

_FLAGS = re.ASCII | re.IGNORECASE
_NUMBER = regex(r"[+-]?\d{9,13}(\.\d+)?", re.ASCII)
_ISO = regex(r"\d{4}(-\d\d-\d\d|\d{4}|-?W\d\d-?\d)([T ].*)?", _FLAGS)
_DURATION = regex(
    r"(?P<ahead>in )?(?P<count>\d{1,9}) ?(?P<unit>s|m|h|d|w|(?:sec|min|second|minute|hour|day|week)s?)(?P<back> ago)?",
    _FLAGS,
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_CLOCK = regex(
    r"(?:(?<=\dT)|(?<![\w:.+-]))(?P<hour>\d\d?)(?=:| ?[ap]\.?m\b)"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<rest>\d{1,9}))?)?)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?)?"
    r"(?: ?(?P<zone>Z|(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?(?: \([^()]*\))?"
    r"|UTC|GMT|UT))?"
    r"(?![\d:+-])",
    _FLAGS,
)
_EITHER = regex(r"(?P<one>\d\d?)(?P<mark>[-/])(?P<two>\d\d?)(?P=mark)(?P<year>\d{4})", _FLAGS)
"""A date whose day or month may stand first."""
_BESIDE_CLOCK = regex(r"^[ ,]*(?:(?:on|at) )?|[ ,]+(?:at)?[ ,]*$|(?<=\d)T$", _FLAGS)
_ZONE_NAME = regex(r"[ ]?\(?([A-Z]{1,5}|[A-Za-z]+/[A-Za-z_/]+)\b", re.ASCII)


def now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)


def parse_time(value: TimeLike, zone: tzinfo = UTC) -> datetime:
    """Return the point in time that `value` names, in the offset from UTC that it brings.

    Reads ISO 8601, RFC 2822, dates with the month's name, in any language that has a table, or with numbers
    ("1:56 pm on 8 May, 2023", "2023/04/10 (Mon) 23:07"), and seconds or milliseconds since 1970 (numbers, or digits in
    a text). Without a time of day it is midnight. A dotted date has the day first.

    Args:
        value: the time.
        zone: that of a time which names none.

    Raises:
        InvalidInputError: the value names no point in time, or more than one: "10/11/2012" (write the month's
            name, or the year first), a zone such as EST (write its offset), a date without its year.
    """
    moment = read_time(value)
    return moment if moment.tzinfo is not None else _placed(value, moment.replace(tzinfo=zone))


def read_time(value: TimeLike) -> datetime:
    """Return the time that `value` names, as `parse_time` does; one that names no zone stays without."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = _from_number(float(value))
        elif isinstance(value, str):
            moment = _from_text(value)
        else:
            raise ValueError(f"a {type(value).__name__} is not a time")
    except _AmbiguousError as error:
        raise InvalidInputError(f"{shown(value)} is ambiguous: {error}") from error
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{shown(value)} is not a point in time; {_ADVICE}") from error
    return moment if moment.tzinfo is None else _placed(value, moment)


def _placed(value: TimeLike, moment: datetime) -> datetime:
    """Return a time at a fixed offset: times of one zone would be compared by the clock on the wall."""
    if moment.tzinfo is UTC:
        return moment
    try:
        return with_offset(moment.astimezone(UTC), offset_of(moment))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{shown(value)} is not a point in time; {_ADVICE}") from error


def parse_bound(value: TimeLike, start: datetime | None = None, zone: tzinfo = UTC) -> datetime:
    """Return the point in time that bounds a read: what `parse_time` reads, or a time relative to `start`.

    "7 days ago" and the duration "7d" lie before `start`, "in 2 hours" after it. Units are s, m, h, d and w,
    or their names from second to week.

    Args:
        value: the time.
        start: what relative times count from; None refuses them.
        zone: that of a time which names none.

    Raises:
        InvalidInputError: as for `parse_time`.
    """
    return _relative(value, start, -1) or parse_time(value, zone)


def parse_expiry(value: TimeLike, start: datetime, zone: tzinfo = UTC) -> datetime:
    """Return when something expires: what `parse_bound` reads, but numbers and durations count on from `start`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _moved(start, value)
    return _relative(value, start, 1) or parse_time(value, zone)


def parse_duration(value: str | float) -> float | None:
    """Return the seconds of a duration: of a number as it is, of a text such as "7d"; None for any other text."""
    end = _relative(value, _ANY_DAY, 1) if isinstance(value, str) else _moved(_ANY_DAY, value)
    return None if end is None or end < _ANY_DAY else (end - _ANY_DAY).total_seconds()


def in_words(seconds: float) -> str:
    """Return a duration in the largest unit of which it is a whole number: "30 days", "1 hour", "1.5 seconds"."""
    for name, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            number = int(seconds // size)
            return f"{number:,} {name}{'s' if number != 1 else ''}"
    return f"{seconds:g} second{'s' if seconds != 1 else ''}"


def checked_bound(value: TimeLike) -> TimeLike:
    """Return a relative time as it is, to be read later by `parse_bound`; of any other, what `read_time` does."""
    return value if _relative(value, _ANY_DAY, -1) is not None else read_time(value)


def checked_expiry(value: TimeLike) -> TimeLike:
    """Return a relative time as it is, to be read later by `parse_expiry`; of any other, what `read_time` does."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        _moved(_ANY_DAY, value)
        return value
    return value if _relative(value, _ANY_DAY, 1) is not None else read_time(value)


def to_micros(moment: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the point in time that `to_micros` made `micros` of."""
    return _EPOCH + _MICROSECOND * micros


def iso(moment: datetime) -> str:
    """Return ISO 8601 in UTC with six decimals, so that texts sort as the times do; a naive time is UTC already."""
    if moment.tzinfo is not UTC:
        moment = parse_time(moment).astimezone(UTC)
    return f"{moment.isoformat(timespec='microseconds')[:-6]}Z"


def told(moment: datetime) -> str:
    """Return ISO 8601 as `iso` does, in the offset that the time brings; without any for a time that names no zone."""
    return iso(moment) if moment.tzinfo is UTC else moment.isoformat(timespec="microseconds")


class _AmbiguousError(ValueError):
    """A text can be read as more than one time; the message says how to write it."""


def _relative(value: TimeLike, start: datetime | None, direction: int) -> datetime | None:
    """Return the time that a duration names, or None for what is not a duration."""
    if start is None or not isinstance(value, str) or len(value) > MAX_TEXT:
        return None
    found = _DURATION.fullmatch(value.strip())
    if found is None or (found["ahead"] and found["back"]):
        return None
    direction = 1 if found["ahead"] else -1 if found["back"] else direction
    seconds = int(found["count"]) * _UNITS[found["unit"][0].lower()]
    return _moved(start, direction * seconds)


def _moved(start: datetime, seconds: float) -> datetime:
    try:
        return start + timedelta(seconds=seconds)
    except (OverflowError, ValueError) as error:
        raise InvalidInputError(f"{shown(seconds)} seconds from now is beyond the calendar") from error


def _from_number(number: float) -> datetime:
    if abs(number) >= _MILLISECONDS_FROM:
        number /= 1000
    return _EPOCH + timedelta(seconds=number)


def _from_text(given: str) -> datetime:
    if len(given) > MAX_TEXT:
        raise ValueError("too long")
    text = " ".join(given.split())
    if _NUMBER.fullmatch(text):
        return _from_number(float(text))
    if _ISO.fullmatch(text):
        try:
            return datetime.fromisoformat(text.upper())
        except ValueError:  # "2023-05-08 13:56 UTC"
            pass
    return _from_words(text)


def _from_words(text: str) -> datetime:
    """Return the time of a text that holds one date, and perhaps a time of day and the day of the week."""
    clock, after = _CLOCK.search(text), ""
    if clock is not None:
        after = text[clock.end() :]
        text = f"{_BESIDE_CLOCK.sub('', text[: clock.start()])} {_BESIDE_CLOCK.sub('', after)}"
    from memorist.languages.phrases import date_in, weekday_in  # most times are ISO 8601, and need no words

    weekday, rest = weekday_in(text)
    midnight = _either(rest) or date_in(rest)
    if midnight is None:
        if (zone := _ZONE_NAME.match(after)) is not None:
            raise _AmbiguousError(f"the zone {zone[1]} has no fixed offset; write the offset, such as -05:00, or UTC")
        raise ValueError("no date")
    if weekday is not None and midnight.weekday() != weekday:
        raise _AmbiguousError(f"{midnight:%Y-%m-%d} is a {midnight:%A}")
    return midnight if clock is None else _at(midnight, clock)


def _either(text: str) -> datetime | None:
    """Return the midnight of a date in numbers whose day or month may stand first; None for any other text."""
    found = _EITHER.fullmatch(text)
    if found is None:
        return None
    one, two, year = int(found["one"]), int(found["two"]), int(found["year"])
    if one != two and max(one, two) <= 12:
        days = date(year, two, one), date(year, one, two)
        raise _AmbiguousError(f"the day or the month could come first; write {days[0]} or {days[1]}")
    return datetime(year, two, one) if one > 12 else datetime(year, one, two)


def _at(midnight: datetime, clock: re.Match[str]) -> datetime:
    """Return the time of day that `clock` says, on the day of `midnight`."""
    hour, half = int(clock["hour"]), clock["half"]
    if half is not None:
        if not 1 <= hour <= 12:
            raise ValueError("not an hour of a 12-hour clock")
        hour = hour % 12 + (12 if half in "pP" else 0)
    zone = None
    if clock["zone"] is not None:
        hours, minutes = int(clock["hours"] or 0), int(clock["minutes"] or 0)
        if minutes > 59:
            raise ValueError("no offset")
        offset = timedelta(hours=hours, minutes=minutes)
        zone = timezone(-offset if clock["sign"] == "-" else offset)
    micros = int((clock["rest"] or "").ljust(6, "0")[:6])
    minute, second = int(clock["minute"] or 0), int(clock["second"] or 0)
    return midnight.replace(hour=hour, minute=minute, second=second, microsecond=micros, tzinfo=zone)
