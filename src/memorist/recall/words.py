"""BM25 over one wall's postings: for each record alone, and together with its neighbours in the conversation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memorist.recall.index import Floats, Rows, WallIndex

K1 = 0.6
B = 0.4
"""Robertson and Zaragoza (2009) suggest 1.2 and 0.75, for documents of a page. Memories are short: a word's
second occurrence, and a record's length, say less. Both are flat around these values on every data set."""
PULLS = np.array((1, 0.5, 0.5, 0.25, 0.25), np.float32)
"""The weight of a word in the message itself, one message before or after, and two before or after."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The word statistics of the whole wall, used if the index holds only a part of the wall: its records, how many
    terms they have on average, and how many of them hold each term asked for."""

    rows: int
    length: float
    holders: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WordScores:
    """Scores of every row, as a share of the information in the question's words.

    `alone` counts a record's own words, `around` those of its neighbours in the conversation too, `pairs`
    those that follow one another in the record as in the question.
    """

    alone: Floats
    around: Floats
    pairs: Floats


def score_words(
    index: WallIndex,
    terms: Iterable[str],
    pairs: Iterable[tuple[str, str]] = (),
    known: Statistics | None = None,
    forms: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> WordScores:
    """Return how well each row's words answer to the analysed terms, and to pairs of them.

    Args:
        index: of the wall.
        terms: analysed terms.
        pairs: terms that follow one another.
        known: of the whole wall, where the index holds only some of it.
        forms: other terms that count as a term does.
    """
    alive = index.alive
    alone, paired = (np.zeros(index.rows, np.float32) for _ in range(2))
    around = np.zeros(index.rows + 1, np.float32)  # the last row stands for missing neighbours
    found: dict[str, tuple[Rows, Floats]] = {}
    for term in dict.fromkeys(terms):
        rows, times = _postings(index, term, forms)
        found[term] = rows[alive[rows]], times[alive[rows]]
    if known is None:
        count = int(alive.sum())
        known = Statistics(count, float(index.column("length")[alive].sum()) / max(count, 1), {})
    information = {}
    for term, (rows, _) in found.items():  # how much it is that a record contains it
        holders = max(known.holders.get(term, 0), len(rows))
        information[term] = float(np.log1p((max(known.rows, holders) - holders + 0.5) / (holders + 0.5)))
    total = sum(information.values())
    if total <= 0:
        return WordScores(alone, around[:-1], paired)
    length, near = index.column("length"), index.neighbours()
    for term, (rows, times) in found.items():
        gain = np.float32(information[term] / total * (K1 + 1))
        amount = times * (1 / (1 - B + B * length[rows] / max(known.length, 1.0))).astype(np.float32)
        alone[rows] += gain * amount / (amount + K1)
        touched, reached = _spread(rows, amount, near, index.rows)
        around[touched] += gain * reached / (reached + K1)
    for first, second in pairs:
        together = np.intersect1d(found[first][0], found[second][0], assume_unique=True)
        adjacent = [row for row in together.tolist() if f" {first} {second} " in f" {index.terms(row)} "]
        paired[adjacent] += (information[first] + information[second]) / (2 * total)
    return WordScores(alone, around[:-1], paired)


def _postings(index: WallIndex, term: str, forms: Mapping[str, Sequence[str]]) -> tuple[Rows, Floats]:
    """Return the rows that hold a term or one of its forms, each once, and how often."""
    if term not in forms:
        return index.posted().of(term)
    each = [index.posted().of(form) for form in (term, *forms[term])]
    rows, places = np.unique(np.concatenate([rows for rows, _ in each]), return_inverse=True)
    return rows, np.bincount(places, np.concatenate([times for _, times in each]), len(rows)).astype(np.float32)


def _spread(rows: Rows, amount: Floats, near: Sequence[NDArray[np.int32]], count: int) -> tuple[Rows, Floats]:
    """Return the rows, of `count`, that hold a word or stand close to one that does, and how much of it each has.

    A row comes as often as the word reaches it, each time with all of it; -1 stands for neighbours that are not there.
    """
    beside = [side[rows] for side in near]  # being a neighbour is mutual, so a word flows to the neighbours of its row
    further = [np.where(one >= 0, side[one], -1) for side, one in zip(near, beside, strict=True)]
    touched = np.concatenate([rows, *beside, *further])
    reached = np.bincount(touched + 1, np.outer(PULLS, amount).ravel(), count + 1)
    return touched, reached[touched + 1].astype(np.float32)
