"""The arguments that every view passes on to `Memory` unchanged."""

from collections.abc import Mapping
from typing import Any, TypedDict

from memorist.origins import AuthorLike
from memorist.records import Sources
from memorist.requests import Bounds, IfExists, Mode
from memorist.times import TimeLike

__all__ = ["RecordFields", "SearchOptions"]


class RecordFields(TypedDict, total=False):
    """What any record can have; see `Draft` and `Memory.remember`."""

    id: str | None
    metadata: Mapping[str, Any] | None
    source: str | None
    verified: bool
    rating: float | None
    happened_at: TimeLike | None
    expires_at: TimeLike | None
    author: AuthorLike | None
    derived_from: Sources
    agent: str | None
    session: str | None
    vector: Any
    if_exists: IfExists


class SearchOptions(Bounds, total=False):
    """The options of any search; see `Memory.recall`."""

    as_of: TimeLike | None
    now: TimeLike | None
    shared: bool
    min_score: float
    min_similarity: float
    mode: Mode
    explain: bool
    vector: Any
