"""What changed: which records tell another state of the same than an earlier one, the newest first, and of which one.

`replaced` compares the records that fit a question. This module has no question. It compares each record whose text
shows a sign of change with the earlier records that are nearest to it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from memorist.languages import role_of, tables_of
from memorist.operations.answers import Replacement
from memorist.recall.index import NEVER, Bools, Floats, Rows, WallIndex
from memorist.recall.replaced import middle, replacements, score_of, signs_of
from memorist.recall.scale import Scale
from memorist.recall.text_features import ASKS, speaker_of
from memorist.records.filters import Filter
from memorist.records.record import Record
from memorist.records.scope import Wall
from memorist.stores.base import Store

Position: TypeAlias = tuple[int, int]
"""The time of a record in microseconds since 1970, and its number: where a page ends."""
_NEAREST = 8
"""The earlier records that one is held against."""
_FIRST, _AT_ONCE = 16, 256
"""How many records are read first, and how many at once at most: where changes are many, a page needs few."""
_MOST_READ = 5000
"""The records that are looked at for one page."""
_MOST_COMPARED = 5_000_000
"""The pairs of records that are compared for one page, in some 100 ms."""
_SCORED = 16
"""The records whose likeness to all others is computed together."""
_RUN = 128
_KIN = 3.0
"""How many earlier states one record may change at most; a list of changes wants all, a ranking the surest."""
_UNFIT = -1e9
"""A sum of signals with which a record replaces no other."""
_ANY_NUMBER = "0"
"""An earlier text of which every number is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which changes are asked for.

    Attributes:
        filter: which records may tell a change.
        least: the least score.
        limit: how many at most.
        now: the present, in microseconds since 1970.
        before: only older ones than this position.
    """

    filter: Filter
    least: float
    limit: int
    now: int
    before: Position | None = None


async def changes_behind(
    store: Store, wall: Wall, index: WallIndex, scale: Scale, wanted: Wanted
) -> tuple[list[Replacement], Position | None]:
    """Return changes behind a wall, newest first, and the position after which the next page begins; None at the end.

    A record stands in one change at most: with the one that it supersedes, or else with the latest one that it most
    likely replaces; rather with a person's words than with what an assistant repeated of them.
    """
    chosen = await store.matching(wall, wanted.filter) if wanted.filter.reads_fields else None
    of_any = Filter(agent=wanted.filter.agent, session=wanted.filter.session, without=wanted.filter.without)
    with index.lock:
        able = index.allowed(replace(of_any, superseded=True), wanted.now)
        states = able & (index.column("superseded_at") == NEVER) & ~index.column(ASKS)
        rows = np.flatnonzero(index.allowed(wanted.filter, wanted.now))
        rows = rows if chosen is None else np.intersect1d(rows, index.rows_of(chosen.tolist()))
        at, number, ended = (index.column(name).copy() for name in ("at", "number", "superseded_at"))
        usual = index.vectors.scores(middle(index, scale))
    if wanted.before is not None:
        time, last = wanted.before
        rows = rows[(at[rows] < time) | ((at[rows] == time) & (number[rows] < last))]
    rows = rows[np.lexsort((-number[rows], -at[rows]))]
    found: list[Replacement] = []
    start, size, compared = 0, min(_FIRST, _AT_ONCE), 0
    while start < len(rows):
        some = rows[start : start + size]
        start += len(some)
        # A record ended when the one that supersedes it began or, where that is earlier, when it began itself.
        here = able & (((ended >= at[some].min()) & (ended <= at[some].max())) | (ended == at))
        records = await store.fetch(wall, [*number[some].tolist(), *number[here].tolist()])
        superseded = {each.superseded_by: each for each in map(records.get, number[here].tolist()) if each is not None}

        def pairs(some: Rows = some, records: Mapping[int, Record] = records) -> dict[int, list[tuple[int, float]]]:
            with index.lock:
                return _pairs(index, some, records, states, usual, scale)

        held = await asyncio.to_thread(pairs)
        compared += len(held) * len(at)
        size = min(2 * size, _AT_ONCE, max(_FIRST, (_MOST_COMPARED - compared) // len(at)))
        formers = await store.fetch(wall, [n for each in held.values() for n, p in each if p >= wanted.least])
        for row in some.tolist():
            place = int(number[row])
            if (later := records.get(place)) is None:
                continue
            if (former := superseded.get(later.id)) is not None:
                change: Replacement | None = Replacement(later, former, 1.0)
            else:
                change = _latest(later, [(formers[n], p) for n, p in held.get(place, ()) if n in formers], wanted.least)
            if change is not None:
                found.append(change)
            if len(found) == wanted.limit:
                return found, (int(at[row]), place)
        if (start >= _MOST_READ or compared >= _MOST_COMPARED) and start < len(rows):
            return found, (int(at[some[-1]]), int(number[some[-1]]))
    return found, None


def _pairs(
    index: WallIndex, some: Rows, records: Mapping[int, Record], states: Bools, usual: Floats, scale: Scale
) -> dict[int, list[tuple[int, float]]]:
    """Return what some rows may replace, by the number of each whose text may tell a change.

    These are the numbers of the nearest earlier rows that tell states, each with how likely it is.
    """
    at, number, found = index.column("at")[: len(states)], index.column("number"), dict[int, list[tuple[int, float]]]()
    asks, signed = index.column(ASKS), list[int]()
    for row in some.tolist():
        later = records.get(int(number[row]))
        if later is not None and not asks[row] and signs_of(_ANY_NUMBER, later.text):
            signed.append(row)
    distance = np.where(states, usual[: len(states)] / 2, np.inf).astype(np.float32)
    for start in range(0, len(signed), _SCORED):
        several = signed[start : start + _SCORED]
        scores = index.vectors.scores_of(index.vectors.take(np.array(several)))[:, : len(states)] - distance
        for row, near in zip(several, scores, strict=True):
            near[at > at[row]] = near[row] = -np.inf
            earlier = _best(near)
            if not len(earlier):
                continue
            total = np.array([0, *[_UNFIT] * len(earlier)], np.float32)
            all_rows, tables = np.array([row, *earlier]), tables_of(records[int(number[row])].text)
            replaced = replacements(index, all_rows, total, scale, None, tables=tables, kin=_KIN).replaced[1:]
            found[int(number[row])] = list(zip(number[earlier].tolist(), replaced.tolist(), strict=True))
    return found


def _best(near: Floats) -> Rows:
    """Return the rows of the largest numbers, without those of minus infinity.

    They lie in those runs of rows that have the largest ones; to sort all rows takes ten times as long.
    """
    if len(near) > _RUN * _NEAREST:
        starts = np.arange(0, len(near), _RUN)
        largest = np.maximum.reduceat(near, starts)
        runs = starts[np.argpartition(-largest, _NEAREST - 1)[:_NEAREST]]
        rows = (runs[:, None] + np.arange(_RUN)).ravel()
        rows = rows[rows < len(near)]
    else:
        rows = np.arange(len(near))
    rows = rows[np.argsort(-near[rows], kind="stable")[:_NEAREST]]
    best: Rows = rows[near[rows] > -np.inf]
    return best


def _latest(later: Record, formers: list[tuple[Record, float]], least: float) -> Replacement | None:
    """Return the change to a later record from the latest of those that it likely replaces."""
    scored = [(former, score_of(likely, former.text, later.text)) for former, likely in formers]
    scored = [(former, score) for former, score in scored if score >= least]
    if not scored:
        return None
    former, score = max(scored, key=lambda each: (role_of(speaker_of(each[0])) != "assistant", each[0].at))
    return Replacement(later, former, score, signs_of(former.text, later.text))
