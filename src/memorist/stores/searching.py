"""Searches files, byte by byte, for texts that a purge should have removed."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

_AT_ONCE = 4 * 1024 * 1024
"""Bytes that are searched at once."""


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


def found_in(read: Callable[[int, int], bytes], size: int, texts: Collection[str]) -> set[str]:
    """Return which of the texts occur in the bytes, as UTF-8.

    Args:
        read: returns so many of the bytes from an offset on.
        size: how many bytes there are.
        texts: the texts to look for.
    """
    wanted = {text: text.encode() for text in texts}
    overlap = max(map(len, wanted.values()), default=0)
    found: set[str] = set()
    for start in range(0, size, _AT_ONCE):
        piece = read(start, min(_AT_ONCE + overlap, size - start))
        found |= {text for text in wanted.keys() - found if wanted[text] in piece}
    return found
