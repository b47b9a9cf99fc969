"""What the shared machinery needs of a back end: rows under ids, in a few tables, each row stored whole."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, TypeAlias

from memorist.stores.base import Vector

__all__ = ["Backend", "Condition", "Fields", "Point", "Table", "chunks"]

Fields: TypeAlias = Mapping[str, Any]
"""A row: texts and whole numbers by name. None is the same as no such field."""
Condition: TypeAlias = tuple[str, Literal["=", ">", "<", "<=", "in"], Any]
"""A field, how it compares, and with what: a sequence of values for "in". No row without the field passes."""


class Point(NamedTuple):
    """A row that has a vector, of unit length, and a text for whoever looks at it with the back end's own means."""

    vector: Vector
    text: str
    fields: Fields


class Table(ABC):
    """Rows by id. Each row is stored whole or not at all, and durably, before a method returns; several are not."""

    @abstractmethod
    def get(self, ids: Sequence[str]) -> dict[str, Fields]:
        """Return those of the rows that are there, by id."""

    @abstractmethod
    def scan(self, *where: Condition) -> dict[str, Fields]:
        """Return the rows that pass every condition, by id."""

    @abstractmethod
    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of those points that are there, by id."""

    @abstractmethod
    def add(self, id: str, fields: Fields) -> None:
        """Add a row; where the id is taken, by whomever, the row there stays as it is."""

    @abstractmethod
    def put(self, rows: Mapping[str, Fields]) -> None:
        """Store rows, each whole, in the place of older ones."""

    @abstractmethod
    def put_points(self, points: Mapping[str, Point]) -> None:
        """Store points, each whole, in the place of older ones."""

    @abstractmethod
    def update(self, rows: Mapping[str, Fields]) -> None:
        """Change the given fields of rows, and leave the others; a row that is not there is passed over."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Delete those of the rows that are there."""

    @abstractmethod
    def delete_where(self, *where: Condition) -> None:
        """Delete the rows that pass every condition, of which there is one at least."""


class Backend(ABC):
    """A connection to a database of tables, not made yet.

    Attributes:
        name: what errors call it.
        alone: no other process can have it open at the same time.
    """

    name: str
    alone: bool

    @abstractmethod
    def connect(self) -> None:
        """Connect; what is there belongs to this process from now on where `alone`."""

    @abstractmethod
    def close(self) -> None:
        """Release the connection; without one, do nothing."""

    @abstractmethod
    def table(self, part: str) -> Table:
        """Return the table of rows with this name; it is made if it is missing."""

    @abstractmethod
    def points(self, part: str) -> Table:
        """Return the table of points with this name; it is made, at the latest, with the first of them."""

    @abstractmethod
    def drop(self, part: str) -> None:
        """Delete a table, if it is there."""

    @abstractmethod
    def translated(self) -> AbstractContextManager[None]:
        """Turn what the library raises into errors of ours."""

    def wipe(self) -> None:
        """Do what can be done that no byte of deleted rows is left; a purge calls it once they are gone."""


def chunks(count: int, size: int) -> Iterator[slice]:
    """Yield the parts in which so many rows go over the wire."""
    for start in range(0, count, size):
        yield slice(start, start + size)
