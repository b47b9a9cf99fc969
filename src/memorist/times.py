"""Points in time: taken in any common form, kept as UTC to the microsecond."""

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from memorist.errors import InvalidInputError

__all__ = ["TimeLike", "from_micros", "iso", "now", "parse_expiry", "parse_time", "to_micros"]

TimeLike: TypeAlias = datetime | str | int | float
"""A datetime (naive means UTC), an ISO string or another common form, or seconds since 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would be the year 5138."""
_NUMBER = re.compile(r"[+-]?\d{9,13}(\.\d+)?")


def now() -> datetime:
    """Return the present, in UTC."""
    return datetime.now(UTC)


def parse_time(value: TimeLike) -> datetime:
    """Return the point in time that `value` names, in UTC.

    ISO 8601, "1:56 pm on 8 May, 2023", "2023/04/10 (Mon) 23:07", and seconds or milliseconds since 1970
    (numbers, or digits in a string) are all understood. A form without a zone is taken as UTC, one without
    a time of day as midnight; one without a year, month or day is refused rather than guessed.

    Raises:
        InvalidInputError: the value names no point in time.
    """
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, bool):
            raise ValueError("a truth value")
        elif isinstance(value, int | float):
            moment = _from_number(float(value))
        elif isinstance(value, str):
            moment = _from_text(value.strip())
        else:
            raise ValueError(f"a {type(value).__name__}")
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{value!r} is not a point in time; give a datetime, an ISO 8601 string or seconds since 1970"
        ) from error


def parse_expiry(value: TimeLike, start: datetime) -> datetime:
    """Return when something expires: numbers are seconds from `start`, all else is a point in time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return start + timedelta(seconds=value)
        except (OverflowError, ValueError) as error:
            raise InvalidInputError(f"{value!r} seconds from now is beyond the calendar") from error
    return parse_time(value)


def to_micros(moment: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the point in time that `to_micros` made `micros` of."""
    return _EPOCH + timedelta(microseconds=micros)


def iso(moment: datetime) -> str:
    """Return ISO 8601 in UTC with six decimals, so that texts sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _from_number(number: float) -> datetime:
    if abs(number) >= _MILLISECONDS_FROM:
        number /= 1000
    return _EPOCH + timedelta(seconds=number)


def _from_text(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    if _NUMBER.fullmatch(text):
        return _from_number(float(text))
    from dateutil import parser  # costs 20 ms to import, and most texts are ISO

    readings = [
        parser.parse(text, fuzzy=True, default=default) for default in (datetime(2000, 1, 1), datetime(2001, 2, 2))
    ]
    if readings[0] != readings[1]:  # a part of the date came from the default
        raise ValueError("the date is not complete")
    return readings[0]
