"""The contract of an index: vectors found by nearness, as a copy of what a store holds."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from memorist.scope import Wall
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
    """Where vectors are looked up. The contract, proved by `memorist.testing.IndexContract`:

    - Points of one wall are never found behind another. Walls are named by `token_of`.
    - After `update` returns, every `nearest` of any process finds the new points and none of those gone.
    - An index may be emptied at any time; `position` is then None, and the index is filled again.
    - Methods block, and may be called from several threads at once.

    What is found may be out of date: `IndexedStore` checks every record against the store.
    """

    name: str
    """The URL to show in errors and reports, without secrets."""

    @abstractmethod
    def open(self) -> None:
        """Connect.

        Raises:
            StoreUnavailableError: the index cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Disconnect. A second call does nothing."""

    @abstractmethod
    def position(self, wall: str) -> Position | None:
        """Return the position of the last update behind a wall; None before the first."""

    @abstractmethod
    def update(self, wall: str, points: Sequence[Point], gone: Sequence[int], position: Position) -> None:
        """Store points and remove those numbered in `gone`, then store the position.

        Processes may update one wall at the same time. So a point takes the place of those of the same number at
        lower epochs, and never of one at a higher epoch; the same goes for `gone`.

        An index holds vectors of one length: points of another length empty it first.
        """

    @abstractmethod
    def nearest(self, wall: str, vector: Vector, limit: int) -> list[Near]:
        """Return up to `limit` points nearest to a unit vector, best first; [] if nothing was ever stored."""

    @abstractmethod
    def walls(self) -> dict[str, int]:
        """Return how many numbers are stored behind each wall that has a position."""

    @abstractmethod
    def purge(self, wall: str) -> None:
        """Remove everything behind a wall, its position included."""
