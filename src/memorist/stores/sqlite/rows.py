"""The rows of a query, all at once, and how a store runs work; both with types that callers can take apart."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import apsw

_T = TypeVar("_T")


class Run(Protocol):
    """Runs work on a connection of the store, and returns its result."""

    def __call__(self, work: Callable[[apsw.Connection], _T], /) -> Awaitable[_T]: ...


def query_all(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return connection.execute(query, values).fetchall()


def query_one(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row of a query, or None where there is none."""
    return connection.execute(query, values).fetchone()
