"""What recall is asked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from memorist.embedders import Vectors, unit_rows
from memorist.errors import EmbedderError, InvalidInputError
from memorist.filters import Filter

__all__ = ["Mode", "Query", "given_vector"]

Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]

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

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInputError(f"the query must be a string, not {type(self.text).__name__}")
        if self.mode not in get_args(Mode):
            raise InvalidInputError(f"unknown mode {self.mode!r}; there are: {', '.join(get_args(Mode))}")
        for name in ("min_score", "min_similarity"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                raise InvalidInputError(f"{name} must be a number, not {value!r}")

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
