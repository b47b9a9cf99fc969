"""Time zones: times are stored in UTC, and shown in the zone that a visitor chose."""

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from memorist.errors import InvalidInputError, shown
from memorist.records.times import local


def written_day(moment: datetime, zone: tzinfo) -> str:
    """Return a time's day in a zone, in words: Monday, 4 March 2024."""
    there = local(moment, zone)
    return f"{there:%A}, {there.day} {there:%B} {there.year}"


def field_of(moment: datetime, zone: tzinfo) -> str:
    """Return a time in a zone as a form's field for a day and a time of day holds it: 2024-03-04T09:30."""
    return local(moment, zone).replace(tzinfo=None).isoformat(timespec="minutes")


@lru_cache(maxsize=1)
def zone_names() -> tuple[str, ...]:
    """Return the names of the zones that this machine knows, UTC first."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))


def parse_zone(name: str) -> tzinfo:
    """Return the zone of this name.

    Raises:
        InvalidInputError: there is no such zone.
    """
    if name not in zone_names():
        raise InvalidInputError(f"there is no time zone {shown(name)}; give a name such as Europe/Lisbon, or UTC")
    return UTC if name == "UTC" else ZoneInfo(name)
