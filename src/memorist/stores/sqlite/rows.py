"""The rows of a query, all at once, with a type that callers can take apart."""

from collections.abc import Sequence
from typing import Any

import apsw


def query_all(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    return connection.execute(query, values).fetchall()


def query_one(connection: apsw.Connection, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row of a query, or None where there is none."""
    return connection.execute(query, values).fetchone()
