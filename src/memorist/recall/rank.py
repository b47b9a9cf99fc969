"""Ranking: every signal on a scale of its own, the same behind every wall, and a weighted sum of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memorist.recall.analysis import terms, words
from memorist.recall.index import Bools, Floats, Rows, WallIndex
from memorist.recall.query import Query
from memorist.recall.words import WordScores, score_words
from memorist.records import Hit, Record

__all__ = ["Ranked", "Ranking", "rank"]

WEIGHTS: Mapping[str, float] = {
    "words": 2.4, "words_around": 3.8, "meaning": 12.8, "meaning_around": 6.6,
}  # fmt: skip
"""What each signal counts. Learned listwise on four data sets together and rounded; see docs/recall.md."""
FULL = 25.6
RATING = 0.6
CANDIDATES = 1000
"""Rows ranked in a wall too large to rank whole: the nearest by vector, and those that hold the words."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What `rank` is asked.

    `chosen` are the numbers that pass a filter only the store can tell, `found` the store's word scores
    where the index has none; `now` is in microseconds.
    """

    query: Query
    vector: Floats | None
    words: Sequence[str]
    chosen: NDArray[np.int64] | None
    found: Sequence[tuple[int, float]] | None
    now: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows in no order yet, with what each signal gave. `unsure` tells that similarities are approximate."""

    numbers: NDArray[np.int64]
    similarities: Floats
    signals: dict[str, Floats]
    ratings: Floats
    unsure: bool = False

    def with_exact(self, vectors: Mapping[int, Floats], vector: Floats | None, query: Query) -> "Ranked":
        """Return the same with similarities computed from the whole vectors."""
        assert vector is not None
        exact = np.array(
            [vectors[number] @ vector if number in vectors else 0.0 for number in self.numbers.tolist()],
            np.float32,
        )
        signals = dict(self.signals)
        if "meaning" in signals:
            signals["meaning"] = exact
        return replace(self, similarities=exact, signals=signals, unsure=False)

    def scores(self, query: Query) -> Floats:
        """Return what the order goes by, 0 to 1."""
        if query.mode == "dense":
            base = self.similarities
        else:
            total = sum(WEIGHTS[name] * values for name, values in self.signals.items())
            base = np.asarray(total, np.float32) / FULL
        lifted = base + RATING / FULL * self.ratings * (base > 0)
        clipped: Floats = np.clip(lifted, 0.0, 1.0)
        return clipped

    def best(self, count: int, query: Query) -> "Ranked":
        """Return the best `count` that reach the query's thresholds, best first."""
        scores = self.scores(query)
        similar = np.maximum(self.similarities, 0.0)
        passed = np.flatnonzero((scores >= query.min_score) & (similar >= query.min_similarity))
        order = passed[np.lexsort((-self.numbers[passed], -similar[passed], -scores[passed]))][:count]
        return replace(
            self,
            numbers=self.numbers[order],
            similarities=self.similarities[order],
            signals={name: values[order] for name, values in self.signals.items()},
            ratings=self.ratings[order],
        )

    def hits(self, records: Mapping[int, Record], query: Query) -> list[Hit]:
        """Return the hits, for those whose records are still there."""
        scores = self.scores(query)
        asked = {term: word for word in words(query.words) for term in terms(word)}
        found: list[Hit] = []
        for place, number in enumerate(self.numbers.tolist()):
            if number not in records:
                continue
            signals = {name: float(values[place]) for name, values in self.signals.items()} if query.explain else {}
            found.append(
                Hit(
                    record=records[number],
                    similarity=float(np.clip(self.similarities[place], 0.0, 1.0)),
                    score=float(scores[place]),
                    matched=_matched(asked, records[number]),
                    signals=signals,
                )
            )
        return found


def rank(index: WallIndex, asked: Ranking) -> Ranked:
    """Score the rows behind a wall that pass the filter."""
    allowed = index.allowed(asked.query.filter, asked.now)
    if asked.chosen is not None:
        passing = np.zeros(index.rows, bool)
        passing[index.rows_of(asked.chosen.tolist())] = True
        allowed &= passing
    cosines = np.zeros(index.rows, np.float32) if asked.vector is None else index.vectors.scores(asked.vector)
    if asked.query.mode == "dense":
        return _dense(index, asked, allowed, cosines)
    found = score_words(index, asked.words) if index.has_postings else _found_words(index, asked)
    rows = _candidates(index, allowed, cosines, found)
    signals = {"words": found.alone[rows], "words_around": found.among[rows]}
    if asked.vector is not None:
        signals["meaning"] = np.maximum(cosines[rows], 0.0)
        signals["meaning_around"] = _around(index, rows, cosines)
    return _ranked(index, rows, cosines, signals)


def _dense(index: WallIndex, asked: Ranking, allowed: Bools, cosines: Floats) -> Ranked:
    """Return the rows that may be among the most similar; provably all of them."""
    assert asked.vector is not None
    rows = np.flatnonzero(allowed)
    wanted = asked.query.limit
    if len(rows) > wanted:
        # Whoever is further below the last place than twice the error cannot reach it.
        last = np.partition(cosines[rows], -wanted)[-wanted]
        spare = 2 * index.vectors.error(asked.vector) + 2 * RATING / FULL
        rows = rows[cosines[rows] >= last - spare]
    return _ranked(index, rows, cosines, {})


def _candidates(index: WallIndex, allowed: Bools, cosines: Floats, found: WordScores) -> Rows:
    rows = np.flatnonzero(allowed)
    if index.has_postings or len(rows) <= CANDIDATES:
        return rows
    near = rows[np.argpartition(cosines[rows], -CANDIDATES)[-CANDIDATES:]]
    return np.union1d(near, rows[found.alone[rows] > 0])


def _found_words(index: WallIndex, asked: Ranking) -> WordScores:
    """Return the store's word scores by row; their best stands for a good match."""
    alone = np.zeros(index.rows, np.float32)
    found = asked.found or []
    best = max((score for _, score in found), default=1.0)
    for number, score in found:
        alone[index.rows_of([number])] = score / max(best, 1e-9)
    return WordScores(alone, alone, list(asked.words), np.ones(len(asked.words), np.float32))


def _around(index: WallIndex, rows: Rows, cosines: Floats) -> Floats:
    """Return the cosine of the query with each row's vector and half of its neighbours'."""
    before, after = index.neighbours()
    mixed = cosines[rows].copy()
    for side in (before[rows], after[rows]):
        mixed += 0.5 * np.where(side >= 0, cosines[side], 0.0).astype(np.float32)
    around: Floats = np.maximum(mixed / np.maximum(index.blend_lengths(rows), 1e-6), 0.0)
    return around


def _matched(asked: Mapping[str, str], record: Record) -> tuple[str, ...]:
    """Return the query's words, as they were written, that the record has in some form."""
    held = set(terms(record.text))
    return tuple(dict.fromkeys(word for term, word in asked.items() if term in held))


def _ranked(index: WallIndex, rows: Rows, cosines: Floats, signals: dict[str, Floats]) -> Ranked:
    return Ranked(
        numbers=index.column("number")[rows].astype(np.int64),
        similarities=cosines[rows],
        signals=signals,
        ratings=index.column("rating")[rows].astype(np.float32),
        unsure=not index.vectors.exact,
    )
