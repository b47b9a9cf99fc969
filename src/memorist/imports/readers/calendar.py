"""Calendars (``.ics``): each event, task and entry of a journal becomes a note."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from memorist.errors import FormatError, needs
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import attempt
from memorist.imports.sources import Part
from memorist.records.record import Kind

_LARGEST = 50_000_000
"""In bytes."""
_READ = ("VEVENT", "VTODO", "VJOURNAL")
_FIELDS = (("LOCATION", "At"), ("ORGANIZER", "By"), ("RRULE", "Repeats"), ("CATEGORIES", "Categories"))


def recognise(part: Part) -> bool:
    """Whether a file begins as a calendar."""
    return part.beginning.lstrip()[:20].upper().startswith("BEGIN:VCALENDAR")


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what is in a calendar; nothing cancelled, no alarms. What repeats is one note, with its rule.

    Raises:
        MissingExtraError: the library that reads it is not installed.
        FormatError: it is damaged or too large.
    """
    with needs("icalendar", "imports"):
        from icalendar import Calendar
    if part.size > _LARGEST:
        raise FormatError(f"it has more than {_LARGEST:,} bytes")
    with part.text() as stream:
        text = stream.read()
    try:
        calendars: list[Any] = Calendar.from_ical(text, multiple=True)
    except (ValueError, IndexError, KeyError) as error:
        raise FormatError(f"it is a damaged calendar: {error}") from error
    for calendar in calendars:
        entries = (each for kind in _READ for each in calendar.walk(kind))
        for number, entry in enumerate(entries, start=1):
            yield from attempt(f"entry {number}", _entry, entry, options.zone)


def _entry(where: str, entry: Any, zone: tzinfo | None) -> Iterator[Item | Left]:
    if str(entry.get("STATUS", "")).upper() == "CANCELLED":
        yield Left("cancelled events")
        return
    begun = _moment(entry, "DTSTART") or _moment(entry, "DUE")
    end = _last(begun, _moment(entry, "DTEND")) or _moment(entry, "DUE")
    days = " to ".join(dict.fromkeys(_written(each, zone) for each in (begun, end) if each is not None))
    lines = [_told(entry.get("SUMMARY")).strip(), days]
    lines += [f"{name}: {told}" for field, name in _FIELDS if (told := _told(entry.get(field)))]
    people = entry.get("ATTENDEE")
    if people:
        lines.append("With: " + ", ".join(map(_person, people if isinstance(people, list) else [people])))
    lines.append(_told(entry.get("DESCRIPTION")).strip())
    parts = [str(entry.get(name, "")) for name in ("UID", "RECURRENCE-ID")]
    yield Item(
        content="\n".join(filter(None, lines)) if any((lines[0], *lines[2:])) else "",
        where=where,
        kind=Kind.NOTE,
        id="/".join(filter(None, parts)) or None,
        happened_at=_point(begun if begun is not None else _moment(entry, "CREATED")),
    )


def _moment(entry: Any, name: str) -> date | datetime | None:
    found = entry.get(name)
    return None if found is None or isinstance(found, list) else found.dt


def _last(begun: date | datetime | None, end: date | datetime | None) -> date | datetime | None:
    """Return when something ends: of whole days the last, as a calendar names the day after it."""
    if begun is None or end is None or isinstance(begun, datetime) or isinstance(end, datetime):
        return end
    return end - timedelta(days=1) if end > begun else end


def _point(given: date | datetime | None) -> datetime | None:
    """Return the point in time: a time without a zone stays naive, as does a day, its midnight."""
    if given is None or isinstance(given, datetime):
        return given
    return datetime(given.year, given.month, given.day)


def _written(given: date | datetime, zone: tzinfo | None) -> str:
    """Return a day, or a time in its own zone: in that of the user, where it is in UTC, or else the machine's."""
    if not isinstance(given, datetime):
        return f"{given:%Y-%m-%d}"
    return f"{given.astimezone(zone) if str(given.tzinfo) == 'UTC' else given:%Y-%m-%d %H:%M}"


def _told(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    if hasattr(value, "cats"):
        return ", ".join(map(str, value.cats))
    if hasattr(value, "to_ical") and not isinstance(value, str):
        return str(value.to_ical().decode("utf-8", "replace"))
    return _person(value)


def _person(value: Any) -> str:
    """Return the name of somebody, or else the address."""
    name = getattr(value, "params", {}).get("CN")
    return str(name or value).removeprefix("mailto:").removeprefix("MAILTO:")


READER = Reader("calendar", "Calendar", recognise, read)
