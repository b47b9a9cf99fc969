"""The options of the searches of views: those of a recall, but what a view sets itself.

Type checkers read ``options.pyi``, which ``tools/make_sync_stub.py`` writes.
"""

from memorist.operations.options import Bounds
from memorist.operations.request import NARROWING, options_of
from memorist.operations.requests import Recall

__all__ = ["SearchOptions"]

_OWN = ("query", "limit", *(name for name in NARROWING if name not in Bounds.__annotations__))
"""The arguments of a recall that a view sets, or takes by its own."""

SearchOptions = options_of(
    Recall,
    [name for name in Recall.arguments() if name not in _OWN],
    "SearchOptions",
    __name__,
    "The options of any search; see `Memory.recall`.",
)
