"""What a context needs of a memory: reads in one scope."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from memorist.records import Hit, Page, Record

__all__ = ["Reader"]


class Reader(Protocol):
    """Reads the records of one scope, by the verbs of `memorist.Memory` with their arguments and errors."""

    @property
    def recall(self) -> Callable[..., Awaitable[list[Hit]]]:
        """Return the hits of a query, best first."""

    @property
    def standing(self) -> Callable[..., Awaitable[list[Record]]]:
        """Return what may be standing instructions: the best by the terms of a question, and how many at most."""

    @property
    def browse(self) -> Callable[..., Awaitable[Page]]:
        """Return one page of the records that pass a filter."""

    @property
    def lookup(self) -> Callable[..., Awaitable[Record | None]]:
        """Return the topic with exactly this name, or None."""

    @property
    def get(self) -> Callable[..., Awaitable[Record | None]]:
        """Return the record with this id, or None."""
