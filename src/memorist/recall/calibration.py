"""From a sum of signals to a score from 0 to 1, in the same order."""

import numpy as np

from memorist.recall.index import Floats

__all__ = ["calibrated", "shared_out"]

STEEPNESS = 0.55
MIDDLE = 17.0
"""Fitted so that the best record for a question that the memory can answer, and the best for one asked of
somebody else's memory, fall on either side of one half; see docs/recall.md for how often they do."""


def calibrated(total: Floats) -> Floats:
    """Return the sum of all signals as a score: above one half, it is more likely an answer than not."""
    scores: Floats = (1 / (1 + np.exp(STEEPNESS * (MIDDLE - total)))).astype(np.float32)
    return scores


def shared_out(total: Floats, most: float) -> Floats:
    """Return a sum as its share of what it can be: the score where there is no similarity to go by."""
    scores: Floats = np.clip(total / most, 0, 1).astype(np.float32)
    return scores
