"""The arguments that every view passes on to `Memory` unchanged."""

from typing import Any

from memorist.operations.requests import Bounds, IfExists, Mode
from memorist.records.record import CommonFields
from memorist.records.times import TimeLike

__all__ = ["RecordFields", "SearchOptions"]


class RecordFields(CommonFields, total=False):
    """What any record can have, and what to do where its id is taken; see `Memory.remember`."""

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
