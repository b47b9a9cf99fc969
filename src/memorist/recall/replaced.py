"""What replaces what: of two records that speak of the same thing, the later one tells the state that holds.

Found when a question asks for a state, among the records that fit it best, and stored nowhere: so it costs a question
about something else nothing, it follows what is stored, and nothing is lost by it. The probability that two records
speak of the same thing is a logistic function of two numbers: how much nearer their vectors are than those of the wall
are on the average, and how much of their information is in words they share. Its constants were fitted on the pairs of
bench/data/now_dev, with each of its four memories left out once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorist.languages import Phrases, plain, role_of, tables_of
from memorist.recall.index import KINDS, Bools, Floats, Rows, WallIndex
from memorist.recall.scale import Scale
from memorist.records.origins import Author
from memorist.records.record import Kind

NEARER, SHARED, CONSTANT = 18.4, 12.1, -5.0
"""What the nearness of two vectors and the words they share count for the probability."""
FLATNESS = 0.2
"""How fast a record that fits the question less well loses the right to replace another: 5 points of the sum leave
1 / e of it."""
MOST = 40
"""The best records of a question, among which it is looked for."""
_SAMPLE = 256
_USUAL = 20
"""Of how many unrelated texts the mean stands for a wall that has few of its own."""
_WORDS = 200
LEAST = 0.7
"""The least score of a replacement that is told."""
_SIGNS: Sequence[Phrases] = ("changed", "no_longer")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TRUSTED = Author.USER | Author.OPERATOR
_KINDS = [KINDS[kind] for kind in (Kind.MESSAGE, Kind.NOTE, Kind.FACT, Kind.EPISODE)]
"""The kinds that tell states. A topic has one value at a time, and a tool is not a state."""


@dataclass(frozen=True, slots=True)
class Replacements:
    """For each of some rows, 0 to 1 each.

    Attributes:
        replaced: how likely a later one tells another state of the same, if it answers as well.
        replaces: how likely it tells another state of the same than an earlier one.
        by: the row that replaces it most likely; -1 for none.
        likely: how likely the two speak of the same.
    """

    replaced: Floats
    replaces: Floats
    by: Rows
    likely: Floats


def replacements(index: WallIndex, rows: Rows, total: Floats, scale: Scale, until: float | None) -> Replacements:
    """Return what replaces what among some rows.

    Args:
        index: the wall's.
        rows: those that fit a question best.
        total: how well each does.
        scale: of the embedder.
        until: nothing later replaces anything, in microseconds since 1970; None for no bound.
    """
    same = _of_the_same(index, rows, scale)
    later = _later(index, rows)
    fits = np.exp(FLATNESS * (total - total.max())).astype(np.float32)
    able = fits if until is None else fits * (index.column("at")[rows] <= until)
    by_each = np.where(later, same, 0) * able
    best = by_each.argmax(axis=1)
    here = np.arange(len(rows))
    replaced = by_each[here, best]
    return Replacements(
        replaced=replaced,
        replaces=(np.where(later.T, same, 0) * fits).max(axis=1) * (able > 0),
        by=np.where(replaced > 0, rows[best], -1),
        likely=same[here, best],
    )


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


def _of_the_same(index: WallIndex, rows: Rows, scale: Scale) -> Floats:
    """Return how likely each two rows speak of the same thing."""
    vectors = index.vectors.take(rows)
    usual = vectors @ middle(index, scale)
    near = vectors @ vectors.T - (usual[:, None] + usual[None, :]) / 2
    odds = NEARER * scale.factor * near + SHARED * _shared(index, rows) + CONSTANT
    same: Floats = (1 / (1 + np.exp(-odds))).astype(np.float32)
    np.fill_diagonal(same, 0)
    return same


def middle(index: WallIndex, scale: Scale) -> Floats:
    """Return the mean vector of the wall; where it has few records, mostly that of unrelated texts."""
    living = np.flatnonzero(index.alive)
    some = living[:: max(1, len(living) // _SAMPLE)]
    summed = index.vectors.take(some).sum(axis=0)
    if scale.texts is None:
        middle: Floats = summed / max(len(some), 1)
        return middle
    middle = (summed + _USUAL * scale.texts) / (len(some) + _USUAL)
    return middle


def _shared(index: WallIndex, rows: Rows) -> Floats:
    """Return the information in the words that each two rows share, as a part of what their lengths allow."""
    said = [frozenset(index.terms(row).split()[:_WORDS]) for row in rows.tolist()]
    places: dict[str, int] = {}
    held: list[tuple[int, int]] = []
    for position, words in enumerate(said):
        held += [(position, places.setdefault(word, len(places))) for word in words]
    size = np.log(index.living + _USUAL)
    rare = np.array([size - np.log(max(index.holders(word), 1)) for word in places], np.float32) / np.float32(size)
    table = np.zeros((len(said), len(places)), np.float32)
    if held:
        table[tuple(np.array(held).T)] = 1
    lengths = np.sqrt(np.maximum([len(words) for words in said], 1)).astype(np.float32)
    shared: Floats = (table * rare) @ table.T / np.outer(lengths, lengths)
    return shared


def _later(index: WallIndex, rows: Rows) -> Bools:
    """Return which rows, by column, may replace which others: what the same person says later, in another conversation.

    What an assistant says replaces nothing; it repeats what it was told. Nor does what came from an import or the web
    replace what the user said: whoever had a hand in the later record is the user, the operator, or an author of both.
    """
    column = {name: index.column(name)[rows] for name in ("at", "number", "session", "speaker", "kind", "authors")}
    at, number, session, speaker = (column[name] for name in ("at", "number", "session", "speaker"))
    assistants = [code for name, code in index.speakers.items() if role_of(str(name)) == "assistant"]
    repeats = np.isin(speaker, assistants)
    after = (at[None, :] > at[:, None]) | ((at[None, :] == at[:, None]) & (number[None, :] > number[:, None]))
    elsewhere = (session[None, :] != session[:, None]) | (session[:, None] < 0)
    told = speaker[None, :] == speaker[:, None]
    told |= repeats[:, None] | (speaker[:, None] < 0) | (speaker[None, :] < 0)
    strangers = column["authors"][None, :] & ~column["authors"][:, None] & ~_TRUSTED.value
    states = np.isin(column["kind"], _KINDS)
    able = ~repeats & states
    later: NDArray[np.bool_] = after & elsewhere & told & (strangers == 0) & able[None, :] & states[:, None]
    return later
