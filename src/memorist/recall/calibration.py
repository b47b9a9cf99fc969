"""From a sum of signals to a score from 0 to 1, in the same order: the probability that a hit answers.

It is the probability that a record fits, by its own sum, times its share among all records behind the wall: of many
similar records, one answers. The three constants of the former were fitted by `bench/recall/calibrate.py`; the
steepness of the share was chosen there among 0.3, 0.55, 0.8 and 1.1.
"""

from dataclasses import dataclass

import numpy as np

from memorist.recall.artefact import artefact
from memorist.recall.index import Floats

_FITTED = artefact()["calibration"]
SLOPE: float = _FITTED["slope"]
MIDDLE: float = _FITTED["middle"]
"""The sum above which a record is more likely to fit than not, in a scope without conversations."""
TALK: float = _FITTED["talk"]
"""What is added to `MIDDLE` in a conversation, whose messages also have their neighbours' signals."""
STEEPNESS, STATES_STEEPNESS = 0.8, 1.9
"""A record counts e times as much as one whose sum is 1 / STEEPNESS lower. The second is that of questions for a state,
whose signals have weights of their own: chosen on bench/data/now_dev, and alike on bench/data/now_more."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """All records of one ranking: their weights together, as a logarithm, whether there are messages among them, the
    steepness of the weights, and how many there are."""

    weight: float = 0.0
    talk: bool = False
    steepness: float = STEEPNESS
    count: int = 1

    def share(self, total: Floats) -> Floats:
        """Return the share of each record, from the sums of its signals."""
        shares: Floats = np.minimum(np.exp(np.float32(self.steepness) * total - np.float32(self.weight)), 1)
        return shares


def crowd_of(total: Floats, *, talk: bool, state: float = 0) -> Crowd:
    """Return the `Crowd` of records, from the sums of their signals; `state` tells, 0 to 1, how far the question is
    ranked as one for a state."""
    if not len(total):
        return Crowd()
    most, steepness = float(total.max()), STEEPNESS + state * (STATES_STEEPNESS - STEEPNESS)
    return Crowd(
        steepness * most + float(np.log(np.exp(steepness * (total - most)).sum())), talk, steepness, len(total)
    )


def calibrated(total: Floats, crowd: Crowd) -> Floats:
    """Return the probability that each record answers, from the sums of its signals."""
    fits = 1 / (1 + np.exp(-SLOPE * (total - MIDDLE - TALK * crowd.talk)))
    scores: Floats = (fits * crowd.share(total)).astype(np.float32)
    return scores


def shared_out(total: Floats, most: float) -> Floats:
    """Return sums as shares of the largest possible one: the score of records without a similarity."""
    return within_one((total / most).astype(np.float32))


def within_one(values: Floats) -> Floats:
    """Return values cut off at 0 and 1; for a few, in half the time of `np.clip`."""
    within: Floats = np.minimum(np.maximum(values, 0), 1)
    return within
