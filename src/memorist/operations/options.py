"""The arguments that narrow which records a verb is about, as keyword arguments.

Type checkers read ``options.pyi``, which ``tools/make_sync_stub.py`` writes.
"""

from memorist.operations.request import NARROWING, Narrowed, options_of

__all__ = ["Bounds", "Narrowing"]

_BOUNDS = ("where", "since", "until", "agent", "session", "verified", "min_trust")

Bounds = options_of(
    Narrowed,
    _BOUNDS,
    "Bounds",
    __name__,
    "The arguments that narrow records of any kind. Every part given must hold.\n\n"
    "`memorist.records.filters.parse_where` tells what a condition can be.",
)
Narrowing = options_of(
    Narrowed,
    NARROWING,
    "Narrowing",
    __name__,
    "The arguments that narrow which records a verb is about: those of `Bounds`, and these.",
)
