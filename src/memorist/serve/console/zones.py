"""Time zones: times are stored in UTC, and shown in the zone that a visitor chose."""

from datetime import datetime, tzinfo
from functools import lru_cache
from zoneinfo import available_timezones

from memorist.records.zones import local, read_in


def written_day(moment: datetime, zone: tzinfo) -> str:
    """Return a time's day in its own offset or in a zone, in words: Monday, 4 March 2024."""
    there = read_in(moment, zone)
    return f"{there:%A}, {there.day} {there:%B} {there.year}"


def field_of(moment: datetime, zone: tzinfo) -> str:
    """Return a time in a zone as a form's field for a day and a time of day holds it: 2024-03-04T09:30."""
    return local(moment, zone).replace(tzinfo=None).isoformat(timespec="minutes")


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Return the names of the zones that this machine knows, UTC first."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))
