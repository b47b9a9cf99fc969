"""BM25 over one wall's postings, for a record alone and for it among its neighbours in the conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memorist.recall.index import Floats, Rows, WallIndex

__all__ = ["WordScores", "score_words"]

K1 = 0.6
B = 0.4
"""Robertson and Zaragoza (2009) give 1.2 and 0.75 for long documents; memories are short, so a word's second
occurrence and a record's length say less. Flat from 0.3 to 1.2 on every data set measured."""
REACH = (1.0, 0.5, 0.25)
"""How much a word counts that stands in the record itself, one message away, two messages away."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """Scores of every row as a share of what the query's words weigh together.

    `alone` counts the record's own words, `among` its neighbours' too. `terms` are the query's, `weights`
    their idf: how rare each is behind this wall.
    """

    alone: Floats
    among: Floats
    terms: list[str]
    weights: Floats


def score_words(index: WallIndex, terms: Sequence[str], ignored: frozenset[str] = frozenset()) -> WordScores:
    """Return BM25 scores of every row for the analysed terms; `ignored` ones weigh nothing."""
    rows = index.rows
    lengths = index.column("length").astype(np.float32)
    alive = index.column("alive").astype(bool)
    count = max(int(alive.sum()), 1)
    steps = _steps(index)
    around = _spread_all(lengths, steps)
    alone, among = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    unique = list(dict.fromkeys(terms))
    weights = np.zeros(len(unique), np.float32)
    short, long = _denominator(lengths, alive), _denominator(around, alive)
    for place, term in enumerate(unique):
        held, times = index.postings(term)
        living = alive[held]
        held, times = held[living], times[living]
        weights[place] = 0.0 if term in ignored else np.log1p((count - len(held) + 0.5) / (len(held) + 0.5))
        if weights[place] == 0 or not len(held):
            continue
        alone[held] += weights[place] * times * (K1 + 1) / (times + short[held])
        near, mass = _spread(held, times, steps, rows)
        among[near] += weights[place] * mass * (K1 + 1) / (mass + long[near])
    total = max(float(weights.sum()), 1e-6)
    return WordScores(alone / total, among / total, unique, weights)


def _denominator(lengths: Floats, alive: Rows) -> Floats:
    mean = float(lengths[alive].mean()) if alive.any() else 1.0
    denominator: Floats = (K1 * (1 - B + B * lengths / max(mean, 1e-9))).astype(np.float32)
    return denominator


def _steps(index: WallIndex) -> list[tuple[Rows, float]]:
    """Return for each neighbour within reach the row it is, -1 for none, and what it counts."""
    before, after = (side.astype(np.intp) for side in index.neighbours())
    steps: list[tuple[Rows, float]] = []
    for side in (before, after):
        place = side
        for share in REACH[1:]:
            steps.append((place, share))
            place = np.where(place >= 0, side[place], -1)
    return steps


def _spread_all(values: Floats, steps: list[tuple[Rows, float]]) -> Floats:
    total = values.copy()
    for place, share in steps:
        total += np.where(place >= 0, values[place], 0.0).astype(np.float32) * share
    return total


def _spread(held: Rows, times: Floats, steps: list[tuple[Rows, float]], rows: int) -> tuple[Rows, Floats]:
    """Return the rows that a term reaches, and how much of it each has."""
    mass = np.zeros(rows, np.float32)
    mass[held] = times
    reached = [held]
    # Being a neighbour is mutual: who is two before me has me two after it.
    for (place, share), (back, _) in zip(steps, steps[len(REACH) - 1 :] + steps[: len(REACH) - 1], strict=True):
        targets = back[held]
        there = targets >= 0
        np.add.at(mass, targets[there], times[there] * np.float32(share))
        reached.append(targets[there])
    near = np.unique(np.concatenate(reached))
    return near, mass[near]
