"""Time zones: times are stored in UTC, and shown in the zone that a visitor chose."""

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from memorist.errors import InvalidInputError, shown


def written_day(moment: datetime) -> str:
    """Return a day in words: Monday, 4 March 2024."""
    return f"{moment:%A}, {moment.day} {moment:%B} {moment.year}"


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
