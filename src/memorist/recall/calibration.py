"""From a sum of signals to a score from 0 to 1 that means the same behind every wall."""

from collections.abc import Mapping

import numpy as np

from memorist.recall.index import Floats

__all__ = ["calibrated"]


def calibrated(total: Floats, signals: Mapping[str, Floats], mode: str) -> Floats:
    """Return scores in the order of `total`."""
    scores: Floats = (1 / (1 + np.exp(-(total - 15.0) / 2.5))).astype(np.float32)
    return scores
