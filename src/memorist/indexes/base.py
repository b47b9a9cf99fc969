"""The contract of an index: a copy of a store's vectors that finds the nearest ones."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from memorist.records.scope import Wall
from memorist.stores.base import Vector

__all__ = ["Index", "Near", "Point", "Position", "token_of"]


class Point(NamedTuple):
    """A vector of unit length, by its record's number and id."""

    number: int
    id: str
    vector: Vector


class Near(NamedTuple):
    """A point that was found; `similarity` is the cosine, as the index computes it."""

    number: int
    id: str
    similarity: float


class Position(NamedTuple):
    """How far an index has followed `Store.entries`."""

    generation: str
    epoch: int


def token_of(wall: Wall) -> str:
    """Return the name of a wall in an index: a digest, so that no user's name leaves the store."""
    return hashlib.blake2b(json.dumps(wall, ensure_ascii=False).encode(), digest_size=16).hexdigest()


class Index(ABC):
    """Finds the nearest vectors. Every index keeps this contract, tested by `memorist.testing.IndexContract`:

    - Points of one wall are never found behind another. Walls are named by `token_of`.
    - After `update` returns, every `nearest` of any process finds the new points and none of the removed ones.
    - An index may be emptied at any time; `position` is then None, and the index is filled again.
    - Methods block, and may be called from several threads at once.

    Results may be out of date: `IndexedStore` checks every record against the store.
    """

    name: str
    """The URL to show in errors and reports, without secrets."""

    residue: str = ""
    """What may be left of purged vectors on the index's disk, in words; "" if nothing is left."""

    @abstractmethod
    def open(self) -> None:
        """Connect.

        Raises:
            StoreUnavailableError: the index cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Disconnect. Idempotent."""

    @abstractmethod
    def position(self, wall: str) -> Position | None:
        """Return the position of the last update behind a wall; None before the first."""

    @abstractmethod
    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        """Store points and remove those numbered in `gone`, then store the position.

        Processes may update one wall at the same time. So a point replaces points of the same number at lower
        epochs, and never one at a higher epoch; the same applies to `gone`.
        An index holds vectors of one length; storing points of another length empties it first.
        """

    @abstractmethod
    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        """Return up to `limit` points nearest to a unit vector, best first; [] if nothing was ever stored."""

    @abstractmethod
    def walls(self) -> dict[str, int]:
        """Return the number of stored points of each wall that has a position, by the wall's name."""

    def count(self, wall: str) -> int:
        """Return the number of stored points of a wall, whether it has a position or not."""
        return self.walls().get(wall, 0)

    @abstractmethod
    def purge(self, wall: str) -> None:
        """Remove everything behind a wall, its position included."""
