"""How likely a memory holds the answer, from what recall found."""

from collections.abc import Sequence

from memorist.records import Hit

__all__ = ["MIN_CONFIDENCE", "confidence_of"]

MIN_CONFIDENCE = 0.02
"""Below it, a context tells nothing but what always holds."""


def confidence_of(hits: Sequence[Hit]) -> float:
    """Return how likely the memory holds the answer, 0 to 1; 0 without hits."""
    return max((hit.score for hit in hits), default=0.0)
