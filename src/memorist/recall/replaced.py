"""What replaces what: of two records that speak of the same thing, the later one tells the state that holds.

Found when a question asks for a state, among the records that fit it best, and stored nowhere: so it costs a question
about something else nothing, it follows what is stored, and nothing is lost by it. The probability that two records
speak of the same thing is a logistic function of three numbers: how much nearer their vectors are than those of the
wall are on the average, the information in the rare words that they share, and whether their numbers differ. Its
weights are part of the artefact; `bench/fit_pairs.py` fits them.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from memorist.languages import Language, Phrases, plain, tables_of
from memorist.recall.analysis import any_terms
from memorist.recall.artefact import artefact
from memorist.recall.features import asking_of
from memorist.recall.index import KINDS, Bools, Floats, Rows, WallIndex
from memorist.recall.life_events import SAME
from memorist.recall.scale import Scale
from memorist.recall.text_features import ASKS, CORRECTS
from memorist.recall.vectors import products
from memorist.records.origins import Author
from memorist.records.record import Kind

PAIRS: Mapping[str, float] = artefact()["pairs"]
"""What the nearness of two vectors, the rare words they share, and a number in each that is not in the other count."""
RARE = 0.7
"""The least information of a rare word: 1 is that of a word which one record of the wall holds."""
REACH = 1.0
"""How fast a record that fits the question less well loses the right to replace another, or to be replaced: a point
of the sum leaves 1 / e of it."""
STEEPNESS = 1.5
"""How much more the best fitting states of the same count than the others, for how well each of them fits."""
FURTHEST = 4.0
"""By how many points of the sum a state fits better than another of the same at most, as far as that counts there."""
KIN = 0.7
"""How many others tell states of the same as one record, at most: where more seem to, each is less likely to."""
MOST = 60
"""The best records of a question, among which it is looked for."""
SEEDS = 40
"""The best of them, which replace and are replaced."""
_SAMPLE = 256
_SPREAD = 2654435761
"""Spreads numbers evenly; Knuth, The Art of Computer Programming, volume 3, section 6.4."""
_USUAL = 20
"""Of how many unrelated texts the mean stands for a wall that has few of its own."""
_WORDS = 200
_SURELY_ASKS = 0.5
LEAST = 0.7
"""The least score of a replacement that is told."""
LIVED = 0.7
"""How likely what tells the life event that is asked about replaces what was told before."""
_SIGNS: Sequence[Phrases] = ("changed", "no_longer", "corrects")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TRUSTED = Author.USER | Author.OPERATOR
_OTHERS = Author.TOOL | Author.WEB | Author.IMPORT | Author.AGENT
"""Whose life events are not the user's, unless these told the former state as well."""
TELLING = (Kind.MESSAGE, Kind.NOTE, Kind.FACT, Kind.EPISODE)
"""The kinds that tell states. A topic has one value at a time, and a tool is not a state."""
_KINDS = [KINDS[kind] for kind in TELLING]


@dataclass(frozen=True, slots=True)
class Replacements:
    """For each of some rows, 0 to 1 where nothing else is said.

    Attributes:
        replaced: how likely any later one tells another state of the same, if it answers as well.
        replaces: how likely it tells another state of the same than any earlier one.
        lift: how much better the others that speak of the same fit the question, weighed by how likely they do; 1 is
            `FURTHEST`, and several together may reach more.
        by: the row that replaces it most likely; -1 for none.
        likely: how likely the two speak of the same.
    """

    replaced: Floats
    replaces: Floats
    lift: Floats
    by: Rows
    likely: Floats


def replacements(
    index: WallIndex,
    rows: Rows,
    total: Floats,
    scale: Scale,
    until: float | None,
    gap: float = 0,
    tables: Sequence[Language] = (),
    kin: float = KIN,
    since: Collection[str] = (),
) -> Replacements:
    """Return what replaces what among some rows.

    Args:
        index: the wall's.
        rows: those that fit a question best.
        total: how well each does.
        scale: of the embedder.
        until: nothing later replaces anything, in microseconds since 1970; None for no bound.
        gap: the microseconds that a record must be later by; what is loaded at once changes nothing of itself.
        tables: the languages whose words of any change ("new", "moved") say nothing of what changed.
        kin: how many others tell states of the same as one record, at most.
        since: the marks of the life events since which is asked what is so.
    """
    seeds = np.argsort(-total, kind="stable")[:SEEDS]
    same = _of_the_same(index, rows, seeds, scale, frozenset[str]().union(*(any_terms(each.code) for each in tables)))
    later = may_replace(index, rows, scale, gap)
    by_each, of_each = np.where(later[:, seeds], same, 0), np.where(later[seeds].T, same, 0)
    more = np.maximum((by_each + of_each).sum(axis=1, keepdims=True) / kin, 1)
    by_each, of_each = by_each / more, of_each / more
    able = np.ones(len(rows), bool) if until is None else index.column("at")[rows] <= until
    behind = np.minimum(total[seeds] - total[able].max(initial=-np.inf), 0)
    fits = np.exp(REACH * behind) * able[seeds]
    replacing = by_each * fits
    best, here = replacing.argmax(axis=1), np.arange(len(rows))
    replaced, replaces = _any(replacing), _any(of_each * fits)
    if since:
        told = np.any([index.column(mark)[rows] for mark in since], axis=0)
        lived = LIVED * (later & able & _before_change(index.column("at")[rows], told)).astype(np.float32)
        own = index.column("authors")[rows] & _OTHERS.value == 0
        replaced, replaces = np.maximum(replaced, lived.max(axis=1)), np.maximum(replaces, told & own)
        of_each = np.maximum(of_each, lived[seeds].T)
    return Replacements(
        replaced=replaced,
        replaces=replaces * able,
        lift=_lift(np.maximum(by_each, of_each), total, total[seeds]),
        by=np.where(replacing[here, best] > 0, rows[seeds[best]], -1),
        likely=same[here, best],
    )


def _before_change(at: Rows, told: Bools) -> Bools:
    """Return for rows of some times which others, by column, tell a life event that had not been told of yet."""
    telling = np.flatnonzero(told)
    telling = telling[np.argsort(at[telling], kind="stable")]
    first = np.diff(at[telling], prepend=np.iinfo(np.int64).min // 2) > SAME / timedelta(microseconds=1)
    began = np.full(len(at), np.iinfo(np.int64).min)
    began[telling] = at[telling][first][np.cumsum(first) - 1]
    before: Bools = at[:, None] < began
    return before


def _any(each: Floats) -> Floats:
    """Return how likely at least one of each row holds."""
    held: Floats = 1 - np.prod(1 - each, axis=1)
    return held


def _lift(same: Floats, own: Floats, others: Floats) -> Floats:
    """Return how much better the others that speak of the same, by column, fit than each row alone."""
    weights = np.exp(STEEPNESS * np.minimum(others[None] - own[:, None], FURTHEST))
    lift: Floats = np.log1p((same * weights).sum(axis=1)) / (STEEPNESS * FURTHEST)
    return lift


def score_of(likely: float, earlier: str, later: str) -> float:
    """Return how likely a later text tells another state, where two texts speak of the same with a probability.

    Without a sign of change in it, such as "no longer" or another number, it as likely adds to the earlier one.
    """
    return likely if signs_of(earlier, later) else likely / 2


def signs_of(earlier: str, later: str) -> tuple[str, ...]:
    """Return what shows that a later text tells another state: its words of change, and numbers that differ."""
    before, after = (dict.fromkeys(_NUMBER.findall(text)) for text in (earlier, later))
    given = plain(later)
    words = (each.pattern(what).search(given) for each in tables_of(later) for what in _SIGNS)
    numbers = (number for number in after if number not in before) if before else ()
    return tuple(dict.fromkeys((*(word[0] for word in words if word is not None), *numbers)))


def _of_the_same(index: WallIndex, rows: Rows, seeds: Rows, scale: Scale, passed: Set[str]) -> Floats:
    """Return how likely each row speaks of the same thing as each seed, a position in the rows; some terms are passed
    over."""
    odds = sum(PAIRS[name] * each for name, each in compared(index, rows, seeds, scale, passed).items())
    same: Floats = (1 / (1 + np.exp(-odds - PAIRS["constant"]))).astype(np.float32)
    return same


def compared(
    index: WallIndex, rows: Rows, seeds: Rows, scale: Scale, passed: Set[str] = frozenset()
) -> Mapping[str, Floats]:
    """Return what tells whether two rows speak of the same, by the names of its weights; each of shape (rows, seeds).

    Args:
        index: the wall's.
        rows: which are compared.
        seeds: with which of them: positions in the rows.
        scale: of the embedder.
        passed: terms that say nothing.
    """
    vectors = index.vectors.take(rows)
    usual = vectors @ middle(index, scale)
    near = products(vectors, vectors[seeds]) - (usual[:, None] + usual[None, seeds]) / 2
    rare, numbers = _shared(index, rows, seeds, passed)
    return {"nearer": (scale.factor * near).astype(np.float32), "shared": rare, "numbers": numbers.astype(np.float32)}


def middle(index: WallIndex, scale: Scale) -> Floats:
    """Return the mean vector of the wall; where it has few records, mostly that of unrelated texts."""
    return index.derived("middle", scale.texts, lambda: _middle(index, scale))


def _middle(index: WallIndex, scale: Scale) -> Floats:
    living = np.flatnonzero(index.alive)
    step = max(1, len(living) // _SAMPLE)
    # A sample by number is the same in whatever order the records were read.
    some = living[index.column("number")[living] * _SPREAD % 2**32 < 2**32 // step]
    summed = index.vectors.take(some).sum(axis=0)
    if scale.texts is None:
        middle: Floats = summed / max(len(some), 1)
        return middle
    middle = (summed + _USUAL * scale.texts) / (len(some) + _USUAL)
    return middle


def _shared(index: WallIndex, rows: Rows, seeds: Rows, passed: Set[str]) -> tuple[Floats, Bools]:
    """Return the information in the rare words that each row shares with each seed, at most 2; and whether both hold
    numbers, but not the same."""
    held = index.held_terms(rows).first(_WORDS)
    terms, columns = held.columns()
    table = np.zeros((len(rows), len(terms)), np.float32)
    table[held.places, columns] = 1
    digits = index.begin_with_digits(terms)
    counts = table[:, digits].sum(axis=1)
    kept = np.flatnonzero((table.sum(axis=0) > 1) & ~np.isin(terms, index.numbers_of(passed)))
    size, each = math.log(index.living + _USUAL), np.maximum(index.holders(terms[kept]).astype(np.float32), 1)
    information = np.where(each <= math.exp((1 - RARE) * size), 1 - np.log(each) / size, 0).astype(np.float32)
    table = table.take(kept, axis=1)
    alike = products(table * digits[kept], table[seeds])
    mine, theirs = counts[:, None], counts[None, seeds]
    other = (mine > 0) & (theirs > 0) & ((alike < mine) | (alike < theirs))
    return np.minimum(products(table * information, table[seeds]), 2), other


def may_replace(index: WallIndex, rows: Rows, scale: Scale, gap: float = 0) -> Bools:
    """Return which rows, by column, may replace which: what the same person says later, in another conversation, or in
    the same to correct it; `gap` as for `replacements`.

    What an assistant says replaces nothing; it repeats what it was told. What does nothing but ask tells no state. Nor
    does what came from an import or the web replace what the user said: whoever had a hand in the later record is the
    user, the operator, or an author of both.
    """
    asking = asking_of(index, rows, scale.heads) >= _SURELY_ASKS
    at, number, session, speaker, kind, authors, asks, corrects = (
        index.column(name)[rows] for name in ("at", "number", "session", "speaker", "kind", "authors", ASKS, CORRECTS)
    )
    assistant, tells = index.spoken_by(index.in_role("assistant"), rows), np.isin(kind, _KINDS) & ~asks & ~asking
    at_, number_, session_, speaker_, authors_ = (each[:, None] for each in (at, number, session, speaker, authors))
    after = (at > at_ + gap) if gap else (at > at_) | ((at == at_) & (number > number_))
    apart = (session != session_) | (session < 0)[:, None] | corrects
    told = (speaker == speaker_) | (assistant | (speaker < 0))[:, None] | (speaker < 0)
    strangers = authors & ~authors_ & ~_TRUSTED.value
    later: Bools = after & apart & told & (strangers == 0) & (tells & ~assistant) & tells[:, None]
    return later
