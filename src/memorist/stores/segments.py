"""Search indexes kept in a store in the form in which they are searched: a cache, never the truth."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorist.records.scope import Wall
from memorist.stores.base import Entry


@dataclass(frozen=True, slots=True)
class SegmentSpan:
    """A segment: what is kept of the records with the numbers from `first` to `last`.

    `size` is 0 where the bytes were deleted, together with one of the records.
    """

    id: int
    first: int
    last: int
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """What is kept of the index of one wall.

    The spans hold every record that was there at `epoch`, as it was then or became later, so that all changes since
    that epoch lead to the present; it is 0 where they cannot be used. `generation` is as in `Entries`, `form` names
    their format. `stamp` changes whenever a process begins to write, and by one with each segment.
    """

    stamp: int
    generation: str
    form: str
    epoch: int
    spans: Sequence[SegmentSpan]


class Segments(ABC):
    """Keeps the indexes of walls. Whatever is missing or damaged here is read from the records instead.

    The removal of a record also deletes the bytes of its segment, in the same transaction. A purge and new vectors
    delete all segments. Several processes may write; the process that began last continues, and the others are refused.

    Attributes:
        folder: the folder for unencrypted data that does not fit in memory; None if there is no such folder.
    """

    folder: Path | None = None

    @abstractmethod
    async def kept(self, wall: Wall) -> KeptIndex | None:
        """Return what is kept of a wall's index."""

    @abstractmethod
    async def read(self, span: SegmentSpan) -> NDArray[np.uint8] | None:
        """Return the bytes of a segment; None if they are gone or are not what was written."""

    @abstractmethod
    async def entries(self, wall: Wall, span: SegmentSpan) -> list[Entry]:
        """Return the entries in a span, by number, from the records."""

    @abstractmethod
    async def begin(self, wall: Wall, generation: str, form: str, known: int | None, *, anew: bool) -> int | None:
        """Begin to write, and return the new stamp; None if the stamp is not `known`, or the wall has changed.

        Args:
            wall: whose index.
            generation: of the entries that the index was made of.
            form: how the bytes are to be read.
            known: the stamp of what the caller has read; None for nothing.
            anew: delete what is there.
        """

    @abstractmethod
    async def put(
        self, wall: Wall, stamp: int, epoch: int, span: tuple[int, int], data: bytes, replaced: Sequence[SegmentSpan]
    ) -> SegmentSpan | None:
        """Write a segment in place of others, durably. The stamp grows by one.

        Returns:
            The span; None if another process has begun to write, or a record in the span was removed after `epoch`.
        """

    @abstractmethod
    async def end(self, wall: Wall, stamp: int, epoch: int) -> bool:
        """Note that everything up to `epoch` is written; return whether no other process has begun to write."""
