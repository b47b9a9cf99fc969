"""Learn what the signals count where a question asks for a state: `memorist.recall.rank.STATES`.

    python bench/now/learn.py [--data DATA ...]

DATA are folders like bench/data/now_dev and bench/data/polyglot_dev, the default. The sums of the records' signals are
taken for the odds with which each answers its question (listwise), and the weights are drawn towards those of all other
questions. Printed are the results on each memory, with weights that were learned on all others, and the weights learned
on all.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "recall"))

import shared
from calibrate import entries_of, index_of
from run import load_evaluator

from memorist.embedders import BatchedEmbedder, Role
from memorist.operations.requests import Recall
from memorist.recall import rank as ranking
from memorist.recall.question import read_question
from memorist.recall.rank import Search, rank
from memorist.recall.scale import measure
from memorist.records.filters import Filter
from memorist.records.times import to_micros

_DATA = Path(__file__).parents[1] / "data"
_EMBEDDER = BatchedEmbedder(shared.EMBEDDER)
LEARNED = tuple(
    "words words_around pairs meaning meaning_around first_person impersonal generic replaced replaces latest not_yet "
    "former time told_time conversation".split()
)
HEAVY = 0.8
"""A sum that is lower by 1 / HEAVY has odds that are lower by e."""
MISLEADS = 4.0
"""A former state counts as so many other records above the answer."""
PULL = 0.01
"""How strongly a weight is drawn to its prior, for each of its own size that it is off."""
LEAST = 5.0
"""The least that counts as a weight's size."""
Table = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A question for a state: the signals of all records by name, the sum of the others, and which records answer."""

    memory: str
    signals: Table
    rest: Table
    gold: NDArray[np.intp]
    stale: NDArray[np.intp]


async def asked_of(evaluator: object, data: Path) -> list[Asked]:
    """Return the questions for a state of a data set."""
    groups, questions = evaluator.groups_of(str(data))  # type: ignore[attr-defined]
    scale, found, indexes = await measure(_EMBEDDER), list[Asked](), {}
    for each in questions:
        if not each["gold"]:
            continue
        if (group := each["group"]) not in indexes:
            entries = await entries_of(shared.said(groups[group]()))
            indexes[group] = index_of(entries), {entry.id: entry.number for entry in entries}
        index, numbers = indexes[group]
        date = each.get("question_date")
        now = datetime.fromisoformat(date).replace(tzinfo=UTC) if date else datetime(2026, 1, 1, tzinfo=UTC)
        question = read_question(each["question"], speakers=[name for name in index.speakers if name], now=now)
        if question.state is None or question.mild:
            continue
        [vector] = await _EMBEDDER.embed([question.embed], Role.QUERY)
        moved = _EMBEDDER.moves(question.embed)
        search = Search(Recall(query=each["question"]), Filter(), 20, question, vector, to_micros(now) + 10**15)
        ranked = rank(index, ranking.replace(search, scale=ranking.replace(scale, moved=moved)))
        none = np.zeros(len(ranked.numbers), np.float32)
        signals = np.stack([ranked.signals.get(name, none) for name in LEARNED], 1).astype(np.float64)
        rest = ranked.total - signals @ [ranking.STATES[name] for name in LEARNED]
        rows = {number: row for row, number in enumerate(ranked.numbers.tolist())}
        gold, stale = (
            np.array([rows[numbers[one]] for one in each.get(what) or ()], np.intp) for what in ("gold", "stale")
        )
        found.append(Asked(f"{data.name} {group}", signals, rest, gold, stale))
    return found


def learned(questions: Sequence[Asked], prior: Table, own: Table) -> Table:
    """Return the weights that make the answers likeliest, by gradient descent from the prior."""
    weights, speed = prior.copy(), np.zeros_like(prior)
    for step in range(400):
        slope = PULL * (weights - prior) / own**2
        for each in questions:
            total = HEAVY * (each.signals @ weights + each.rest)
            odds = np.exp(total - total.max())
            odds[each.stale] *= MISLEADS
            others = odds.sum() - odds[each.gold].sum()
            for row in each.gold.tolist():
                chance = odds / (odds[row] + others + 1e-12)
                chance[each.gold] = 0
                slope += (
                    HEAVY * (chance @ each.signals - chance.sum() * each.signals[row]) / len(each.gold) / len(questions)
                )
        speed = 0.9 * speed - 0.1 * slope * own**2 * (0.3 if step < 300 else 0.1)
        weights = weights + speed
    return weights


def results(questions: Sequence[Asked], weights: Table) -> Mapping[str, float]:
    """Return hit@1, hit@5 and nDCG@10, and how often the present state stands above former ones, in percent."""
    found: dict[str, list[float]] = {"hit@1": [], "hit@5": [], "nDCG@10": [], "current": []}
    for each in questions:
        order = np.argsort(-(each.signals @ weights + each.rest), kind="stable")
        places = np.flatnonzero(np.isin(order, each.gold))
        found["hit@1"].append(float(places[0] < 1))
        found["hit@5"].append(float(places[0] < 5))
        ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(each.gold))))
        found["nDCG@10"].append(sum(1 / np.log2(place + 2) for place in places if place < 10) / ideal)
        if len(each.stale):
            found["current"].append(float(places[0] < np.flatnonzero(np.isin(order, each.stale))[0]))
    return {name: round(100 * float(np.mean(values)), 1) for name, values in found.items() if values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", default=[_DATA / "now_dev", _DATA / "polyglot_dev"])
    parser.add_argument("--eval", type=Path, required=True, help="eval_retrieval.py")
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval)
    questions = [each for data in given.data for each in asyncio.run(asked_of(evaluator, data))]
    present, usual = (
        np.array([weights.get(name, 0.0) for name in LEARNED]) for weights in (ranking.STATES, ranking.WEIGHTS)
    )
    own = np.maximum(np.abs(usual), LEAST)
    left_out = {}
    for memory in dict.fromkeys(each.memory for each in questions):
        weights = learned([each for each in questions if each.memory != memory], usual, own)
        some = [each for each in questions if each.memory == memory]
        left_out[memory] = (results(some, present), results(some, weights), len(some))
    for data in given.data:
        mine = {memory: each for memory, each in left_out.items() if memory.startswith(data.name)}
        count = sum(each[2] for each in mine.values())
        for place, what in enumerate(("as it is", "left out")):
            means = {
                name: round(sum(each[place].get(name, 0.0) * each[2] for each in mine.values()) / count, 1)
                for name in ("hit@1", "hit@5", "nDCG@10", "current")
            }
            print(f"{data.name}, {count} questions, {what}: {means}")
    print(f"present, all: {results(questions, present)}")
    weights = learned(questions, usual, own)
    print(f"learned on all: {results(questions, weights)}")
    print(", ".join(f"{name} {weight:.1f}" for name, weight in zip(LEARNED, weights, strict=True)))


if __name__ == "__main__":
    main()
