"""What recall is asked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorist.embedders import Vectors, unit_rows
from memorist.errors import EmbedderError, InvalidInputError
from memorist.filters import Filter
from memorist.requests import Mode

MAX_TEXT = 4000
"""Characters of a query that count: a longer one is a document, and its beginning says what it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to recall; see `Memory.recall` for the fields."""

    text: str
    filter: Filter
    limit: int = 5
    mode: Mode = "hybrid"
    now: datetime | None = None
    min_score: float = 0.0
    min_similarity: float = 0.0
    explain: bool = False
    vector: Any = None

    @property
    def words(self) -> str:
        """The part of the text that is searched for."""
        return self.text[:MAX_TEXT]


def given_vector(vector: Any, dimensions: int) -> Vectors:
    """Return the embedding that a caller brings along as a unit row; shape (1, dimensions).

    Raises:
        InvalidInputError: it is no vector of that size, or a zero one.
    """
    try:
        return unit_rows([vector], 1, dimensions, "the vector given")
    except EmbedderError as error:
        raise InvalidInputError(str(error)) from error
