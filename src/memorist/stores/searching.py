"""Searches files, byte by byte, for texts that a purge should have removed."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 1024 * 1024
"""Bytes that are searched at once."""
_WINDOW = 8
"""Bytes of a text that are compared first, at every place."""
_SPREADING = np.uint64(0x9E3779B97F4A7C15)
"""Multiplies a window, so that its upper bits depend on all of it."""


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
    wanted = {text.encode(): text for text in texts}
    overlap = max(map(len, wanted), default=0)
    found: set[str] = set()
    for start in range(0, size, _AT_ONCE):
        piece = read(start, min(_AT_ONCE + overlap, size - start))
        for each in _occurring(wanted, piece):
            found.add(wanted.pop(each))
    return found


def _occurring(wanted: Collection[bytes], piece: bytes) -> set[bytes]:
    """Return which of the byte strings occur in a piece, in one pass for all that are long enough."""
    ending: dict[int, list[bytes]] = {}
    for each in wanted:
        if len(each) >= _WINDOW:
            ending.setdefault(int.from_bytes(each[-_WINDOW:], "little"), []).append(each)
    found = {each for each in wanted if len(each) < _WINDOW and each in piece}
    ends = np.array(sorted(ending), np.uint64)
    maybe = np.zeros(1 << 16, bool)
    maybe[_hashed(ends)] = True
    for offset in range(min(_WINDOW, len(piece) - _WINDOW + 1) if ending else 0):
        windows = np.frombuffer(piece, "<u8", (len(piece) - offset) // _WINDOW, offset)
        places = np.flatnonzero(maybe[_hashed(windows)])
        places = places[np.isin(windows[places], ends)]
        for place in places.tolist():
            for each in ending[int(windows[place])]:
                if piece.endswith(each, 0, offset + (place + 1) * _WINDOW):
                    found.add(each)
    return found


def _hashed(windows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (windows * _SPREADING) >> np.uint64(48)
