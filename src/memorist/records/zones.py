"""The zone of a memory's user: by its name, or this machine's; and times as its user reads them.

A stored time is a point in time. Where it was brought with an offset of its own, it keeps that offset too, and is told
in it: half past eight in New York on 2 November stays on 2 November. UTC counts as no offset of its own, because
programs write points in time so; such a time is told in the memory's zone.
"""

import os
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TypeAlias

from memorist.errors import InvalidInputError, shown

ZoneLike: TypeAlias = str | tzinfo
"""A zone's IANA name, such as Europe/Lisbon, or a `tzinfo`."""
_FOLDER = "/zoneinfo/"
"""Stands before a zone's name in the path of its file."""


def zone_of(given: ZoneLike) -> tzinfo:
    """Return the zone of an IANA name; a `tzinfo` as it is.

    Raises:
        InvalidInputError: there is no such zone.
    """
    if isinstance(given, tzinfo):
        return given
    if given == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # most calls name no zone

    try:
        return ZoneInfo(given)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as error:  # which one depends on the name
        told = f"there is no time zone {shown(given)}; give a name such as Europe/Lisbon, or UTC"
        raise InvalidInputError(told) from error


def name_of(zone: tzinfo) -> str | None:
    """Return a zone's name, by which `zone_of` finds it; None for one that has none."""
    return "UTC" if zone is UTC else getattr(zone, "key", None)


def machine_zone() -> tzinfo:
    """Return the machine's time zone: by its name where the system tells it, else by the system's own clock."""
    named = os.environ.get("TZ", "").removeprefix(":")
    try:
        return zone_of(named or str(Path("/etc/localtime").resolve()).partition(_FOLDER)[2])
    except (InvalidInputError, OSError, RuntimeError):
        return _Machine()


def local(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """Return a time in a zone, by default this machine's; in UTC where the calendar ends before it gets there."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def read_in(moment: datetime, zone: tzinfo) -> datetime:
    """Return a time as it is read in a zone: in its own offset where it has one, else in the zone.

    A time that names neither is one of the zone.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=zone)
    return moment if moment.utcoffset() else local(moment, zone)


def moved(moment: datetime, zone: tzinfo) -> datetime:
    """Return a time as `read_in` does, at a fixed offset: times of one zone are compared by the clock on the wall."""
    there = read_in(moment, zone)
    if moment.tzinfo is UTC and not there.utcoffset():
        return moment
    return with_offset(there, offset_of(there))


def with_offset(moment: datetime, minutes: int | None) -> datetime:
    """Return a time at an offset from UTC; in UTC for none, and where the calendar ends before it gets there."""
    return local(moment, timezone(timedelta(minutes=minutes)) if minutes else UTC)


def offset_of(moment: datetime) -> int | None:
    """Return the offset from UTC that a time brings, in minutes; None for UTC."""
    return round((moment.utcoffset() or timedelta()).total_seconds() / 60) or None


class _Machine(tzinfo):
    """The zone by which the system's clock is set, where nothing tells its name."""

    def __str__(self) -> str:
        return "the machine's time zone"

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return None if moment is None else moment.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)
