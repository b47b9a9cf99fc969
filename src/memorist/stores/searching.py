"""Looking for what a purge should have left nowhere: texts in files, byte by byte."""

import mmap
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["Place", "Search", "found_in", "held_by"]


class Place(NamedTuple):
    """A place that was searched: how many of the texts were found there.

    `elsewhere` is the number of texts that were found there because records of others hold them too.
    """

    where: str
    found: int
    elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Search:
    """Where a purged user's texts were searched for; `copies` names what may hold them and was not searched."""

    places: list[Place] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)


def found_in(path: Path, texts: Collection[str]) -> set[str]:
    """Return which of the texts are among the bytes of a file, as UTF-8; none in a file that does not exist."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                return set()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
                return {text for text in texts if held.find(text.encode()) >= 0}
    except FileNotFoundError:
        return set()


def held_by(copy: Path, texts: Collection[str], *, encrypted: bool) -> str:
    """Return what a copy holds of the texts, in words."""
    if encrypted:
        return "it is encrypted, so it was not searched"
    try:
        return f"it holds {len(found_in(copy, texts))} of the texts"
    except OSError as error:
        return f"it cannot be read, so it was not searched ({error.strerror})"
