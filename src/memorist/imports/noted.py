"""When a note was written, by its name or its first line."""

import re
from datetime import date, datetime

from memorist.errors import InvalidInputError
from memorist.records.times import read_time

_NAMED = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<mark>[-_.]?)(?P<month>\d\d)(?P=mark)(?P<day>\d\d)"
    r"(?:[ T_-]+(?:at )?(?P<hour>[01]\d|2[0-3])[-:._h]?(?P<minute>[0-5]\d)(?:[-:._m]?(?P<second>[0-5]\d))?)?(?!\d)"
)
_DOTTED = re.compile(r"(?<!\d)(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>(?:19|20)\d\d)(?!\d)")
_ABOVE = re.compile(r"^(?:[#>*\s]*)(?:(?:date|created|written|datum|fecha|data|le)\s*:\s*)?", re.IGNORECASE)
_LONGEST = 60
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def time_of(name: str, first_line: str = "") -> datetime | None:
    """Return when a note was written: the date in its name, or one that its first line is or begins with.

    A time that names no zone is naive, as is a day, at its midnight.
    """
    return _in_name(name) or _in_line(first_line)


def _in_name(name: str) -> datetime | None:
    for pattern in (_NAMED, _DOTTED):
        for found in pattern.finditer(name):
            try:
                day = date(int(found["year"]), int(found["month"]), int(found["day"]))
            except ValueError:
                continue
            parts = found.groupdict()
            if parts.get("hour") is None:
                return datetime(day.year, day.month, day.day)
            second = int(parts["second"] or 0)
            return datetime(day.year, day.month, day.day, int(parts["hour"]), int(parts["minute"]), second)
    return None


def _in_line(line: str) -> datetime | None:
    text = _ABOVE.sub("", line, count=1).strip(" *_\t:")
    if not _YEAR.search(text):
        return None
    for pattern in (_NAMED, _DOTTED):
        if (found := pattern.match(text)) is not None:
            return _in_name(found[0])
    if len(text) > _LONGEST:
        return None
    try:
        return read_time(text)
    except InvalidInputError:
        return None
