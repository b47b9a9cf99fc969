"""Fit the calibration of scores: how likely is a hit of recall to answer, given the sum of its signals?

    python bench/recall/calibrate.py DATA [--questions N] [--write]

Each data set gives walls of 1, 3, 10 and 50 records around the evidence of a question and its whole haystack. They are
asked the question, with the evidence there and taken out, a question of another data set, and nonsense. Of each the
first five hits are taken. The constants of `memorist.recall.calibration` are fitted on all sets, each with the same
weight, and once without each set. `--write` puts them into the artefact of `memorist.recall`. Printed are the
constants, and the expected calibration error and the log loss of every set when it was left out.
"""

import argparse
import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import shared
from notes import ELSEWHERE, NONSENSE, NOTES
from numpy.typing import NDArray
from run import load_evaluator

from memorist import Scope
from memorist.embedders import BatchedEmbedder, Role
from memorist.operations.requests import Recall
from memorist.recall import embedded, marks_of, terms_of
from memorist.recall.index import WallIndex
from memorist.recall.question import read_question
from memorist.recall.rank import Search, rank
from memorist.recall.scale import measure
from memorist.records.filters import Filter
from memorist.records.origins import PYTHON
from memorist.records.times import to_micros
from memorist.stores.base import Entries, Entry

SETS = ("locomo", "locomo_facts", "longmemeval_dev", "beam_dev", "bfcl", "spider_dev", "notes")
SIZES = (1, 3, 10, 50, 0)
"""Records of a wall; 0 is the whole haystack."""
HITS = 5
PENALTY = 0.002
"""Of the slope's square: without it the log loss is 0.001 less, and a memory of one note is too sure."""
Fit: TypeAlias = NDArray[np.float64]
_NOW = datetime(2024, 1, 1, tzinfo=UTC)
_EMBEDDER = BatchedEmbedder(shared.EMBEDDER)


@dataclass(frozen=True)
class Example:
    """The first hits of one recall, and which of them answer; `weight` is the recall's.

    `known` of each hit are the sum of its signals, whether it is of a conversation, and its share.
    """

    known: Fit
    answers: NDArray[np.bool_]
    weight: float
    what: str


@dataclass(frozen=True)
class Asking:
    """A question with the ids of its evidence; and the haystack it is asked of."""

    text: str
    gold: frozenset[str]
    haystack: Sequence[Entry]


async def entries_of(rows: Sequence[shared.Row]) -> list[Entry]:
    """Return rows as ranking sees them."""
    records = [
        shared.draft_of(row).to_record(Scope(), _NOW + timedelta(microseconds=n), PYTHON) for n, row in enumerate(rows)
    ]
    vectors = await embedded(_EMBEDDER, records)
    return [
        Entry(
            number, record.id, record.kind, None, record.scope.session, record.payload.get("speaker"),
            to_micros(record.at), None, None, None, terms_of(record), vector, marks_of(record),
        )
        for number, (record, vector) in enumerate(zip(records, vectors, strict=True), 1)
    ]  # fmt: skip


async def asked_of(evaluator: Any, data: Path, name: str, count: int) -> list[Asking]:
    """Return some questions of a data set, always the same."""
    if name == "notes":
        rows = [{"id": str(n), "text": note, "timestamp": None} for n, (note, _) in enumerate(NOTES)]
        haystack = await entries_of(rows)
        return [Asking(question, frozenset([str(n)]), haystack) for n, (_, question) in enumerate(NOTES)]
    groups, questions = evaluator.groups_of(str(data / name))
    questions = [each for each in questions if each["gold"] and each["category"] not in ("5-adversarial", "abstention")]
    some = random.Random(7).sample(questions, min(count, len(questions)))
    read: dict[str, list[Entry]] = {}
    for group in dict.fromkeys(each["group"] for each in some):
        read[group] = await entries_of(shared.said(groups[group]()))
    return [Asking(each["question"], frozenset(each["gold"]), read[each["group"]]) for each in some]


def wall_of(haystack: Sequence[Entry], gold: frozenset[str], size: int) -> list[Entry]:
    """Return so many records around the first of the evidence, and all of the evidence; 0 for the whole haystack."""
    if not size:
        return list(haystack)
    place = next((n for n, entry in enumerate(haystack) if entry.id in gold), 0)
    start = max(0, min(place - size // 2, len(haystack) - size))
    return list(haystack[start : start + size])


def index_of(wall: Sequence[Entry]) -> WallIndex:
    """Return the index of a wall."""
    index = WallIndex(_EMBEDDER.dimensions)
    index.update(Entries("g", 1, list(wall), []))
    return index


async def recalled(
    index: WallIndex, wall: Sequence[Entry], text: str, gold: frozenset[str], weight: float, what: str
) -> Example | None:
    """Return what recall finds first behind a wall."""
    if not wall:
        return None
    names = [name for name in index.speakers if name is not None]
    question = read_question(text, speakers=names, now=_NOW, years=index.years)
    [vector] = await _EMBEDDER.embed([question.embed], Role.QUERY)
    request = Recall(query=text)
    moment, scale = to_micros(_NOW) + 10**15, await measure(_EMBEDDER)
    best = rank(index, Search(request, Filter(), request.limit, question, vector, moment, scale)).best(request, HITS)
    ids = {entry.number: entry.id for entry in wall}
    answers = np.array([ids[number] in gold for number in best.numbers.tolist()])
    total = best.total
    known = np.column_stack([total, np.full(len(total), best.crowd.talk), best.crowd.share(total)])
    return Example(known.astype(np.float64), answers, weight, what)


async def examples_of(asked: Sequence[Asking], others: Sequence[str]) -> list[Example]:
    """Return what is found with the evidence there, without it, for questions of others, and for nonsense."""
    found: list[Example | None] = []
    for n, each in enumerate(asked):
        for size in SIZES:
            wall = wall_of(each.haystack, each.gold, size)
            without = [entry for entry in wall if entry.id not in each.gold]
            index, none = index_of(wall), frozenset[str]()
            found.append(await recalled(index, wall, each.text, each.gold, 1.0, f"there {size}"))
            found.append(await recalled(index, wall, others[n % len(others)], none, 0.5, f"other {size}"))
            found.append(await recalled(index, wall, NONSENSE[n % len(NONSENSE)], none, 0.2, f"nonsense {size}"))
            found.append(await recalled(index_of(without), without, each.text, none, 0.3, f"gone {size}"))
    return [each for each in found if each is not None]


def fitted(sets: Sequence[Sequence[Example]]) -> Fit:
    """Return what makes the hits of all sets most likely, each set with the same weight: Newton's method."""
    rows, answers, weights = (np.concatenate(each) for each in zip(*map(_stacked, sets), strict=True))
    table = np.column_stack([rows[:, 0], rows[:, 1], np.ones(len(rows))])
    found = np.array([0.5, -1.0, -6.0])

    def slope(at: Fit) -> Fit:
        fits = _chance(table @ at)
        off = np.where(answers, fits - 1, rows[:, 2] * fits * (1 - fits) / (1 - rows[:, 2] * fits + 1e-12))
        gradient: Fit = table.T @ (weights * off) + 2 * PENALTY * len(sets) * np.array([at[0], 0, 0])
        return gradient

    for _ in range(100):
        near = [slope(found + step) - slope(found - step) for step in 1e-4 * np.eye(3)]
        values, axes = np.linalg.eigh(np.array(near) / 2e-4)
        step = axes @ ((axes.T @ slope(found)) / np.maximum(np.abs(values), 1e-4))
        found = found - step * min(1.0, 2 / float(np.abs(step).max() + 1e-12))
    return found


def scores(fit: Fit, known: Fit) -> Fit:
    """Return the probability that each hit answers."""
    return _chance(known[:, :2] @ fit[:2] + fit[2]) * known[:, 2]


def _chance(odds: Fit) -> Fit:
    return 1 / (1 + np.exp(-np.clip(odds, -30, 30)))


def _stacked(examples: Sequence[Example]) -> tuple[Fit, NDArray[np.bool_], Fit]:
    rows = np.concatenate([each.known for each in examples])
    answers = np.concatenate([each.answers for each in examples])
    weights = np.concatenate([np.full(len(each.answers), each.weight) for each in examples])
    return rows, answers, weights / weights.sum()


def told(fit: Fit, examples: Sequence[Example]) -> tuple[float, float, float]:
    """Return the expected calibration error of all hits and of the first ones, in points, and the log loss of all."""
    first = [Example(each.known[:1], each.answers[:1], each.weight, each.what) for each in examples]
    rows, answers, weights = _stacked(examples)
    chance = scores(fit, rows)
    loss = -(weights * np.log(np.where(answers, chance, 1 - chance) + 1e-9)).sum()
    return _error(fit, examples), _error(fit, first), float(loss)


def _error(fit: Fit, examples: Sequence[Example]) -> float:
    rows, answers, weights = _stacked(examples)
    chance = scores(fit, rows)
    off, bins = weights * (chance - answers), np.minimum((chance * 10).astype(int), 9)
    return 100 * sum(abs(float(off[bins == n].sum())) for n in range(10))


def means(fit: Fit, examples: Sequence[Example]) -> Iterator[str]:
    """Yield the mean score of the first hit, and how often it answers, by what was asked."""
    for what in dict.fromkeys(each.what for each in examples):
        some = [each for each in examples if each.what == what]
        mean = np.mean([scores(fit, each.known[:1])[0] for each in some])
        yield f"{what} {mean:.2f}/{np.mean([each.answers[0] for each in some]):.2f}"


async def gathered(data: Path, evaluator: Any, count: int) -> dict[str, list[Example]]:
    """Return the examples of each set."""
    asked = {name: await asked_of(evaluator, data, name, count) for name in SETS}
    found = {}
    for place, name in enumerate(SETS):
        others = ELSEWHERE if name == "notes" else [each.text for each in asked[SETS[(place + 2) % 6]]]
        found[name] = await examples_of(asked[name], others)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--eval", type=Path, help="eval_retrieval.py; by default beside DATA")
    parser.add_argument("--questions", type=int, default=60, metavar="N", help="of each set")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.parent / "eval_retrieval.py")
    found = asyncio.run(gathered(given.data, evaluator, given.questions))
    print("| left out | ECE of all hits | of the first | log loss |\n|---|---:|---:|---:|")
    for name in SETS:
        all_errors, first_errors, loss = told(fitted([found[each] for each in SETS if each != name]), found[name])
        print(f"| {name} | {all_errors:.1f} | {first_errors:.1f} | {loss:.3f} |")
    slope, talk, constant = fit = fitted(list(found.values()))
    if given.write:
        known = {"slope": slope, "middle": -constant / slope, "talk": -talk / slope}
        shared.put(calibration={name: round(float(value), 3) for name, value in known.items()})
    print(f"\nslope {slope:.3f}, middle {-constant / slope:.2f}, talk {-talk / slope:.2f}\n")
    for name in SETS:
        print(f"{name}: {', '.join(means(fit, found[name]))}")


if __name__ == "__main__":
    main()
