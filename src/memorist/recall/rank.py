"""Ranking: every signal on an absolute scale, the same behind every wall, and a weighted sum of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memorist.languages import CODES, language
from memorist.operations.requests import Mode, Recall
from memorist.recall.artefact import weights_of
from memorist.recall.calibration import Crowd, calibrated, crowd_of, shared_out, within_one
from memorist.recall.features import around, doing, telling, told_time, who
from memorist.recall.forms import forms_of
from memorist.recall.index import Bools, Floats, Rows, WallIndex
from memorist.recall.question import Question
from memorist.recall.replaced import LEAST, MOST, replacements
from memorist.recall.scale import Scale
from memorist.recall.sought import Sought, sought_by
from memorist.recall.spelling import respelled
from memorist.recall.temporal import time_fit
from memorist.recall.text_features import FOREIGN, LIFE
from memorist.recall.words import K1, Statistics, WordScores, score_words
from memorist.records.filters import Filter

WEIGHTS = weights_of("any")
"""What each feature counts where a question asks for anything; see docs/research/recall.md."""
STATES = weights_of("state")
"""What each counts where a state is asked for: the current value, or that at a time."""
RATING = 1.0
"""What a rating of 1 counts: as much as 0.08 of similarity, so it decides only among like records."""
_MOST_BY_WORDS = (WEIGHTS["words"] + WEIGHTS["words_around"]) * (K1 + 1) + WEIGHTS["pairs"]
_MOST_DOING = 160
"""The best records of which it is told what they do: as many as one question that is asked every day for months takes.
"""
_EVEN = 0.5
_OF_ALL = np.float32(0.5)
"""What `states_around` counts where all states are asked for, of what it counts elsewhere."""
_TIE = np.float32(1e-5)
"""Sums that differ by less are ties."""
_MOST_WITH_TIES = 16 * MOST
"""The most records that are looked at where many tie; with more, only those above the tie are."""
_AT_ONCE = 60e6
"""Microseconds: records that are no further apart were stored together."""
_AS_IT_IS = Scale()
_NOBODY = Crowd()
_UNSOUGHT = Sought()
_GROUP = 256
"""The rows in a group, of which only the maximum is compared to find the cosine of the last of the nearest: a tenth of
the work of sorting all."""
CANDIDATES = 1000
"""Rows ranked behind a wall too large to rank whole: the nearest by vector, and those that contain the words."""


@dataclass(frozen=True, slots=True)
class Search:
    """The input of `rank`.

    `limit` is how many are sought, which may be more than the request asks for; `now` is in microseconds since 1970.
    `scale` is that of the embedder's cosines. `chosen` are the numbers that pass a filter only the store can tell,
    `found` the store's word scores where the index has none; `known` is of the words of the whole wall, where the index
    holds only some of it.
    """

    request: Recall
    filter: Filter
    limit: int
    question: Question
    vector: Floats | None
    now: int
    scale: Scale = _AS_IT_IS
    chosen: NDArray[np.int64] | None = None
    found: Sequence[tuple[int, float]] | None = None
    known: Statistics | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of the index and their records' numbers, in no order yet, with what each signal says of them.

    `similarities` are cosines; `unsure` tells that they are approximate. `scale` is theirs. `total` is the weighted sum
    of the signals, and the rating. `crowd` is what a score compares a record with: all that were ranked, those left out
    since included. `by` are the numbers of the records that replace them, and `likely` how likely the two speak of the
    same; None where no state was asked. `sought` is what the question seeks.
    """

    rows: Rows
    numbers: NDArray[np.int64]
    similarities: Floats
    signals: Mapping[str, Floats]
    ratings: Floats
    total: Floats
    unsure: bool = False
    scale: Scale = _AS_IT_IS
    crowd: Crowd = _NOBODY
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    by: NDArray[np.int64] | None = None
    likely: Floats | None = None
    sought: Sought = _UNSOUGHT

    def with_exact(self, vectors: Mapping[int, Floats], vector: Floats) -> "Ranked":
        """Return the same with similarities computed from the whole vectors."""
        exact = [float(vectors[number] @ vector) if number in vectors else 0.0 for number in self.numbers.tolist()]
        similarities = np.array(exact, np.float32)
        exactly = replace(self, similarities=similarities, unsure=False)
        if "meaning" not in self.signals:
            return exactly
        more = self.scale.fit(similarities) - self.scale.fit(self.similarities)
        signals = {**self.signals, "meaning": self.signals["meaning"] + more}
        return replace(exactly, signals=signals, total=self.total + np.float32(self.weights["meaning"]) * more)

    def with_signals(self, signals: Mapping[str, Floats]) -> "Ranked":
        """Return the same with more signals."""
        more = _sum(signals, self.weights, len(self.total))
        return replace(self, signals={**self.signals, **signals}, total=self.total + more)

    def with_weights(self, weights: Mapping[str, float]) -> "Ranked":
        """Return the same with other weights of the signals."""
        if weights is self.weights:
            return self
        total = _sum(self.signals, weights, len(self.total)) + np.float32(RATING) * self.ratings
        return replace(self, weights=weights, total=total)

    def replacing(self) -> list[int]:
        """Return the numbers of the records that may replace some of these."""
        if self.by is None or self.likely is None:
            return []
        numbers: list[int] = self.by[(self.by >= 0) & (self.likely >= LEAST)].tolist()
        return numbers

    def scores(self, mode: Mode) -> Floats:
        """Return the scores by which hits are ordered, 0 to 1."""
        if mode == "dense":
            return shared_out(WEIGHTS["meaning"] * self.similarities + RATING * self.ratings, WEIGHTS["meaning"])
        return calibrated(self.total, self.crowd) if mode == "hybrid" else shared_out(self.total, _MOST_BY_WORDS)

    def instead(self, shares: Floats) -> Floats:
        """Return which part of the shares of others each of these may hold instead of them.

        What replaces a record has its share as far as that is likely. What is replaced has the other's share where the
        two surely speak of the same and it is not as sure that the later one changes anything: p^3 (1 - p).
        """
        held = np.zeros(len(shares), np.float32)
        if self.by is not None and self.likely is not None:
            order = np.argsort(self.numbers)
            places = order[np.searchsorted(self.numbers, self.by, sorter=order) % max(len(order), 1)]
            earlier = (self.numbers[places] == self.by).nonzero()[0]
            later, likely = places[earlier], self.likely[earlier]
            np.add.at(held, later, likely * shares[earlier])
            held[earlier] += likely**3 * (1 - likely) * shares[later]
        return held

    def best(self, request: Recall, count: int, *, reaching: bool = True) -> "Ranked":
        """Return the best `count`, best first, the newer of equals first.

        Where `reaching`, they are among those that reach the request's least similarity and score.
        """
        similar = within_one(self.similarities)
        passed = np.flatnonzero(similar >= (request.min_similarity if reaching else 0.0))
        if reaching and request.min_score > 0:
            passed = passed[self.scores(request.mode)[passed] >= request.min_score]
        # Of "hybrid" the sums, as the scores of those far behind are all next to nothing.
        scores = self.total if request.mode == "hybrid" else self.scores(request.mode)
        if len(passed) > count:  # sort only those that tie with the last position or better
            last = np.partition(scores[passed], -count)[-count]
            passed = passed[scores[passed] >= last]
        order = passed[np.lexsort((-self.numbers[passed], -similar[passed], -scores[passed]))][:count]
        return self.take(order)

    def take(self, positions: Rows) -> "Ranked":
        """Return the records at these positions."""
        return replace(
            self,
            rows=self.rows[positions],
            numbers=self.numbers[positions],
            similarities=self.similarities[positions],
            signals={name: values[positions] for name, values in self.signals.items()},
            ratings=self.ratings[positions],
            total=self.total[positions],
            by=None if self.by is None else self.by[positions],
            likely=None if self.likely is None else self.likely[positions],
        )


def rank(index: WallIndex, asked: Search) -> Ranked:
    """Score the records behind a wall that pass the filter."""
    allowed = index.allowed(asked.filter, asked.now)
    if asked.chosen is not None:
        passing = np.zeros(index.rows, bool)
        passing[index.rows_of(asked.chosen.tolist())] = True
        allowed &= passing
    cosines = np.zeros(index.rows, np.float32) if asked.vector is None else index.vectors.scores(asked.vector)
    if asked.request.mode == "dense":
        return _ranked(index, _nearest(index, asked, allowed, cosines), cosines, {})
    question, near = asked.question, asked.scale.levelled(cosines, index.column(FOREIGN))
    words = _by_words(index, asked) if index.has_postings else _found(index, asked)
    rows = _candidates(index, allowed, near, words)
    signals = {"words": words.alone[rows], "words_around": words.around[rows], "pairs": words.pairs[rows]}
    if asked.vector is not None:
        signals["meaning"] = asked.scale.fit(near[rows])
        signals["meaning_around"] = asked.scale.fit(around(index, rows, near))
    else:  # without a vector, the question's words are the only evidence
        held = signals["words"] > 0
        rows, signals = rows[held], {name: values[held] for name, values in signals.items()}
    signals |= who(index, question, rows)
    if question.spans:
        signals["time"] = time_fit(index.column("at")[rows] / 1e6, question.spans)
    if question.spans or question.weekly:
        signals |= told_time(index, question, rows)
    if asked.vector is not None:
        signals |= telling(index, question, rows)
        if assistants := index.in_role("assistant"):  # an answer repeats the question's words
            signals["echo"] = signals["words"] * index.spoken_by(assistants, rows)
    signals |= _conversation(index, rows, signals)
    ranked = _ranked(index, rows, cosines, signals, asked.scale)
    sought = Sought()
    if asked.vector is not None and len(rows):
        sought = sought_by(asked.scale.heads, asked.vector, question)
        ranked = _second(index, ranked, question, sought, asked.scale.fit(near))
    crowd = crowd_of(_once(index, ranked), talk="impersonal" in signals, state=sought.state)
    return replace(ranked, crowd=crowd, sought=sought)


def _by_words(index: WallIndex, asked: Search) -> WordScores:
    """Return the word scores by row: of slips of the pen mended, and with all forms, where the whole wall is known."""
    question, terms, pairs = asked.question, list(asked.question.terms), asked.question.pairs
    if asked.known is not None:
        return score_words(index, terms, pairs, asked.known)
    posted = index.posted()
    terms += (term for term in question.former if posted.holders(term))
    forms = _forms(index, question, terms)
    mended = respelled((term for term in terms if term not in forms), posted)
    terms = [mended.get(term, term) for term in terms]
    pairs = [(mended.get(first, first), mended.get(second, second)) for first, second in pairs]
    return score_words(index, terms, pairs, forms=forms)


def _forms(index: WallIndex, question: Question, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the forms of terms in the question's languages; where nothing tells these, in all, of terms not held."""
    tables = [each for each in question.tables if each.code != "en"]
    if not tables and question.tables:
        return {}
    posted = index.posted()
    if not tables:
        tables = [language(code) for code in CODES]
        terms = [term for term in terms if not posted.holders(term)]
    return forms_of(terms, posted.vocabulary, tables) if terms else {}


def _foremost(total: Floats, most: int = MOST) -> Rows:
    """Return the positions of the best sums, about `most`; ties come in together, whatever the order of the rows.

    Sums of the same signals differ in their last digits, so sums that are nearly equal count as ties.
    """
    if len(total) <= most:
        return np.arange(len(total))
    last = np.partition(total, -most)[-most]
    with_ties = np.flatnonzero(total >= last - _TIE)
    return with_ties if len(with_ties) <= _MOST_WITH_TIES else np.flatnonzero(total > last + _TIE)


def _once(index: WallIndex, ranked: Ranked) -> Floats:
    """Return the sums of the records; those among the best that say the same share one chance, and count once."""
    total = ranked.total
    best = _foremost(total)
    texts = [index.terms(row) for row in ranked.rows[best].tolist()]
    if len(set(texts)) == len(texts):
        return total
    said: set[str] = set()
    repeated = []
    for position in best[np.argsort(-total[best], kind="stable")].tolist():
        text = index.terms(int(ranked.rows[position]))
        if text and text in said:
            repeated.append(position)
        said.add(text)
    return np.delete(total, repeated) if repeated else total


def _weights(state: float) -> Mapping[str, float]:
    if not state:
        return WEIGHTS
    return {name: weight + state * (STATES[name] - weight) for name, weight in WEIGHTS.items()}


def _second(index: WallIndex, ranked: Ranked, question: Question, sought: Sought, near: Floats) -> Ranked:
    """Return the same with the signals that are found among the best only: what each does, how near each is to any
    question, and, where a state is asked for, what replaces what. `near` are the fitted cosines of all rows.
    """
    ranked = ranked.with_weights(_weights(sought.state))
    best = _foremost(ranked.total, _MOST_DOING)
    done = doing(index, question, ranked.rows[best], near, ranked.scale.heads, sought.talk)
    ranked = ranked.with_signals({name: _spread_out(values, best, len(ranked.rows)) for name, values in done.items()})
    best = _foremost(ranked.total)
    rows, count = ranked.rows[best], len(ranked.rows)
    generic = ranked.scale.generic(index.vectors.take(rows), index.column(FOREIGN)[rows])
    ranked = ranked.with_signals({"generic": _spread_out(generic, best, count)})
    if not sought.state or not len(best):
        return ranked
    until = None if question.until is None or sought.whether > _EVEN else question.until * 1e6
    since = [LIFE[name] for name in question.since]
    surely = question.first_person or question.present
    gap = 0 if surely else _AT_ONCE
    found = replacements(index, rows, ranked.total[best], ranked.scale, until, gap, question.tables, since=since)
    around, replaced = _spread_out(found.lift, best, count), _spread_out(found.replaced, best, count)
    former, one = np.float32(sought.former if until is None else 0), np.float32(1 - sought.every)
    times = index.column("at")[ranked.rows]
    holds = np.ones(count, bool) if until is None else times <= until
    newness = np.searchsorted(np.sort(times), times) / max(count - 1, 1)
    newest = surely * (1 - former) * one * np.float32(1 - sought.whether)
    signals = {
        "states_around": (1 - _OF_ALL * np.float32(sought.every)) * around,
        "former": former * one * replaced,
        "replaced": (1 - former) * one * replaced,
        "replaces": (1 - former) * one * _spread_out(found.replaces, best, count),
        "latest": (newest * newness * holds).astype(np.float32),
        "not_yet": (~holds).astype(np.float32),
    }
    by = np.full(count, -1, np.int64)
    by[best] = np.where(found.by >= 0, index.column("number")[found.by], -1)
    return replace(ranked.with_signals(signals), by=by, likely=_spread_out(found.likely, best, count))


def _spread_out(values: Floats, positions: Rows, count: int) -> Floats:
    spread = np.zeros(count, np.float32)
    spread[positions] = values
    return spread


def _nearest(index: WallIndex, asked: Search, allowed: Bools, cosines: Floats) -> Rows:
    """Return the rows that may be among the nearest; provably all of them."""
    assert asked.vector is not None
    wanted, passing = asked.limit, cosines[allowed]
    if len(passing) <= wanted:
        return np.flatnonzero(allowed)
    lift = RATING / WEIGHTS["meaning"] if index.rated else 0.0
    rows = np.flatnonzero(allowed & (cosines >= _reach(passing, wanted, index.vectors.error(asked.vector) + lift)))
    if index.vectors.exact:
        return rows
    finer, error = index.vectors.finer(asked.vector, rows)
    return rows[finer >= _reach(finer, wanted, error + lift)]


def _reach(cosines: Floats, wanted: int, off: float) -> np.float32:
    """Return the cosine below which no row is among the best `wanted`, where each may be off, or rated up, by `off`."""
    # the last of these maxima is hardly below the last of all values
    if (groups := len(cosines) // _GROUP) > 16 * wanted:
        cosines = cosines[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    last: np.float32 = np.partition(cosines, -wanted)[-wanted]
    return last - np.float32(2 * off)


def _candidates(index: WallIndex, allowed: Bools, cosines: Floats, words: WordScores) -> Rows:
    rows = np.flatnonzero(allowed)
    if index.has_postings or len(rows) <= CANDIDATES:
        return rows
    near = rows[np.argpartition(cosines[rows], -CANDIDATES)[-CANDIDATES:]]
    chosen = allowed & (words.alone > 0)
    chosen[near] = True
    return np.flatnonzero(chosen)


def _found(index: WallIndex, asked: Search) -> WordScores:
    """Return the store's own word scores by row, the best taken for a full match."""
    alone = np.zeros(index.rows, np.float32)
    if asked.found:
        numbers, scores = zip(*asked.found, strict=True)
        rows, best = index.places_of(numbers), max(scores) or 1.0
        alone[rows[rows >= 0]] = (np.array(scores) / best)[rows >= 0]
    return WordScores(alone, alone, np.zeros_like(alone))


def _conversation(index: WallIndex, rows: Rows, signals: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return how the best record of each one's conversation compares with the best of all; 0 is best."""
    if not len(rows) or not index.sessions:
        return {}
    total = _sum(signals, WEIGHTS, len(rows))
    session = index.column("session")[rows]
    best = np.full(len(index.sessions), -np.inf, np.float32)
    inside = session >= 0
    np.maximum.at(best, session[inside], total[inside])
    return {"conversation": np.where(inside, best[session], total) - total.max()}


def _sum(signals: Mapping[str, Floats], weights: Mapping[str, float], count: int) -> Floats:
    total = np.zeros(count, np.float32)
    for name, values in signals.items():
        total += np.float32(weights[name]) * values
    return total


def _ranked(
    index: WallIndex, rows: Rows, cosines: Floats, signals: Mapping[str, Floats], scale: Scale = _AS_IT_IS
) -> Ranked:
    ratings = index.column("rating")[rows].astype(np.float32)
    return Ranked(
        rows=rows,
        numbers=index.column("number")[rows].astype(np.int64),
        similarities=cosines[rows],
        signals=signals,
        ratings=ratings,
        total=_sum(signals, WEIGHTS, len(rows)) + np.float32(RATING) * ratings,
        unsure=not index.vectors.exact and index.rows > 0,
        scale=scale,
    )
