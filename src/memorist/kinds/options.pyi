# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""The options of the searches of views: those of a recall, but what a view sets itself."""

from memorist.operations.options import Bounds
from memorist.operations.requests import Mode
from memorist.records.times import TimeLike
from typing import Any

__all__ = ["SearchOptions"]

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
