"""The interface of a writer of a format, and what it could not write."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from memorist.records.kind import MEMORIES, Kind
from memorist.records.record import Record

_NO_PLACE: Mapping[str, Callable[[Record], int]] = {
    "link": lambda record: len(record.origin.derived_from),
    "rating": lambda record: record.rating is not None,
    "verification": lambda record: record.verified,
    "expiry date": lambda record: record.expires_at is not None,
    "source": lambda record: record.source is not None,
}
"""What no other system's format has a field for."""


@dataclass(slots=True)
class ExportReport:
    """The result of an export: how many records were written, and what had no place in the format.

    `left` counts that, by its name: whole records ("topic", "replaced record") and parts of written ones ("rating").
    """

    written: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def losses(self) -> str:
        """Return what had no place, in words: "12 links and 3 ratings"; "" where nothing was left out."""
        parts = [f"{number:,} {name}{'' if number == 1 else 's'}" for name, number in self.left.items()]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def count(left: Counter[str], parts: Mapping[str, int]) -> None:
    """Add how many of each part have no place."""
    left.update({name: int(number) for name, number in parts.items() if number})


class Output:
    """One export, whose text is made record by record.

    Args:
        left: where to count what has no place in the format.
    """

    begin = ""

    def __init__(self, left: Counter[str]) -> None:
        self.left = left

    def add(self, record: Record) -> Iterator[str]:
        """Yield the text for a record."""
        raise NotImplementedError

    def end(self) -> Iterator[str]:
        """Yield what stands behind the last record."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes one format.

    Args:
        name: the format, as in ``--to NAME``.
        title: what people call it.
        file: a usual name for the file.
        media: its media type.
        output: begins an export.
        takes: whether the format has a place for a record at all.
        names_users: whether the format says whose a record is.
        whole: whether everything of a record is written, replaced ones and those of the kind "state" included.
        places: what of a record it has a place for, where other formats have none.
        states: whether records of the kind "state" are among those that it takes.
    """

    name: str
    title: str
    file: str
    media: str
    output: Callable[[Counter[str]], Output]
    takes: Callable[[Record], bool] = lambda record: True
    names_users: bool = False
    whole: bool = False
    places: frozenset[str] = frozenset()
    states: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are written where none is named."""
        return tuple(Kind) if self.whole else (*MEMORIES, Kind.STATE) if self.states else MEMORIES

    def admit(self, record: Record, report: ExportReport) -> bool:
        """Return whether a record is written; count it, and what of it has no place."""
        if not self.whole:
            if not (record.current and self.takes(record)):
                report.left[record.kind.replace("_", " ") if record.current else "replaced record"] += 1
                return False
            count(report.left, {name: lost(record) for name, lost in _NO_PLACE.items() if name not in self.places})
        report.written += 1
        return True
