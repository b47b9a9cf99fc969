"""Fit the numbers of the ranking: write `ranking.json`, the artefact of `memorist.recall`.

    python bench/fit.py DATA [--write] [--left-out]

DATA holds what is not shipped (locomo, locomo_facts, longmemeval_dev, beam_dev, bfcl, spider_dev, xquad_dev) and
eval_retrieval.py; the sets of `bench/data` are read from there. Needs the extra `bench`.

The weights are learned listwise: the sums of a question's records are the odds with which each answers, and what
misleads counts as several records. They are drawn to `bench/ranking_prior.json`, each by its own effect: how far it
moves the sums. Each set counts alike. A set is also asked after all its questions were asked once and every other one
was answered ("asked"), some of them in keywords.

Printed is each set with the prior, with what all sets teach, and with `--left-out` what the others teach, one family
left out together. Nothing is written where a set loses more than half a point of nDCG@10 against the prior; `LOSES`
names two that may lose more, and why.
"""

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).parent / "recall"))

import shared
from run import load_evaluator

from memorist import Scope
from memorist.embedders import BatchedEmbedder, Role
from memorist.operations.requests import Recall
from memorist.recall import artefact, embedded, marks_of, terms_of
from memorist.recall.heads import held_in_labelled, learned
from memorist.recall.index import WallIndex
from memorist.recall.question import read_question
from memorist.recall.rank import Search, rank
from memorist.recall.scale import measure
from memorist.records.filters import Filter
from memorist.records.origins import PYTHON
from memorist.records.times import parse_time, to_micros
from memorist.stores.base import Entries, Entry

_BENCH = Path(__file__).parent
Table = NDArray[np.float64]
EVERY: Mapping[str, int] = {
    "lived_dev": 1, "lived_more": 1, "now_dev": 1, "now_more": 1, "polyglot_dev": 1, "polyglot_more": 1,
    "bfcl": 6, "spider_dev": 3, "locomo": 4, "locomo_facts": 4, "xquad_dev": 4, "longmemeval_dev": 1, "beam_dev": 2,
}  # fmt: skip
"""The sets, and which share of their questions is taken."""
FAMILIES: Sequence[Sequence[str]] = (
    ("lived_dev", "lived_more"),
    ("now_dev", "now_more"), ("polyglot_dev", "polyglot_more"), ("locomo", "locomo_facts"),
)  # fmt: skip
ASKED = ("lived_dev", "lived_more", "now_dev", "now_more", "polyglot_dev", "polyglot_more", "locomo")
"""The sets that are also asked after all was asked."""
PROFILES = ("any", "state")
NEW = (
    "asks_only",
    "asking",
    "asks_covered",
    "nothing_new",
    "unknowing",
    "chats",
    "unanswered",
    "reply",
    "other_reply",
    "repeats",
    "assistant",
    "instructs",
)
"""Features without a prior: drawn to 0, and less."""
STEEP = 0.8
"""A sum that is lower by 1 / STEEP has odds that are lower by e."""
MISLEADS = 3.0
"""What misleads counts as so many other records."""
PULL, OLD, FLAT = 0.01, 30.0, 0.02
"""How strongly a weight is drawn to its prior for each of its effect; how many times as strongly where there is a
prior; and what is added to each effect."""
APART: Mapping[str, float] = {"any": 1.0, "state": 2.0}
"""How many times as strongly what a profile adds to "any" is drawn to its prior."""
COUNTS: Mapping[str, int] = {"beam_dev": 4, "locomo_facts": 2, "polyglot_dev": 3, "spider_dev": 2}
"""How many times a set counts: those that lose where all count alike."""
MOST_LOST = 0.5
LOSES: Mapping[str, float] = {"beam_dev": 1.5, "lived_more": 1.0}
"""What a set may lose, and why: of BEAM's evidence a good part are questions that its user asked, which are no answers
here; in lived_more some answers were given before what they tell changed, and it gains 7 to 15 points once all was
asked.
"""
_DEPTH = 120
_NOW = datetime(2024, 1, 1, tzinfo=UTC)
EMBEDDER = BatchedEmbedder(shared.EMBEDDER)


@dataclass(frozen=True)
class Asked:
    """A question: the features of its best records, the rest of their sums, which answer, and which mislead.

    `table` has the columns of each profile side by side, "state" as what it adds to "any". `lost` is how many answers
    are not among the records.
    """

    what: str
    table: Table
    rest: Table
    gold: NDArray[np.bool_]
    stale: NDArray[np.bool_]
    lost: int


def names() -> list[str]:
    """Return the names of the features."""
    return list(prior()["any"])


def prior() -> Mapping[str, Mapping[str, float]]:
    """Return the weights that the fit is drawn to."""
    read = json.loads((_BENCH / "ranking_prior.json").read_text(encoding="utf-8"))
    return {each: dict.fromkeys(read["state"], 0.0) | read[each] | dict.fromkeys(NEW, 0.0) for each in PROFILES}


def flat(weights: Mapping[str, Mapping[str, float]]) -> Table:
    """Return weights by profile as one row, "state" as what it adds."""
    each = {name: np.array([weights[name][feature] for feature in names()]) for name in PROFILES}
    return np.concatenate([each["any"], each["state"] - each["any"]])


def by_profile(row: Table) -> Mapping[str, Mapping[str, float]]:
    """Return the reverse."""
    common, state = row.reshape(2, -1)
    table = {"any": common, "state": common + state}
    return {
        name: {feature: round(float(value), 3) for feature, value in zip(names(), values, strict=True)}
        for name, values in table.items()
    }


async def entries_of(rows: Sequence[shared.Row], first: int = 1) -> list[Entry]:
    """Return rows as ranking sees them, numbered from `first` on."""
    times = (_NOW + timedelta(microseconds=n) for n in range(len(rows)))
    records = [shared.draft_of(row).to_record(Scope(), time, PYTHON) for row, time in zip(rows, times, strict=True)]
    vectors = await embedded(EMBEDDER, records)
    return [
        Entry(
            number, record.id, record.kind, None, record.scope.session,
            record.payload.get("speaker") or record.payload.get("role"),
            to_micros(record.at), None, None, None, terms_of(record), vector, marks_of(record),
        )
        for number, (record, vector) in enumerate(zip(records, vectors, strict=True), first)
    ]  # fmt: skip


class Memory:
    """One group's memory, as ranking sees it."""

    def __init__(self) -> None:
        self.index, self.numbers = WallIndex(EMBEDDER.dimensions), dict[str, int]()

    async def add(self, rows: Sequence[shared.Row]) -> None:
        """Add rows that say something."""
        entries = await entries_of(shared.said(rows), len(self.numbers) + 1)
        self.index.update(Entries("g", len(self.numbers) + 1, entries, []))
        self.numbers |= {entry.id: entry.number for entry in entries}

    async def asked(self, what: str, query: Mapping[str, Any], text: str, more: Iterable[str] = ()) -> Asked | None:
        """Return how the records fit a question; `more` answer it, too."""
        date = query.get("question_date")
        now = parse_time(date) if date else datetime(2026, 1, 1, tzinfo=UTC)
        speakers = [name for name in self.index.speakers if name]
        question = read_question(text, speakers=speakers, now=now, years=() if date else self.index.years)
        [vector] = await EMBEDDER.embed([question.embed], Role.QUERY)
        scale = replace(await measure(EMBEDDER), moved=EMBEDDER.moves(question.embed))
        search = Search(Recall(query=text), Filter(), 20, question, vector, to_micros(now) + 10**15, scale)
        ranked = rank(self.index, search)
        gold, stale = (
            np.isin(ranked.numbers, [self.numbers[one] for one in ids if one in self.numbers])
            for ids in ((*query["gold"], *query.get("also", ()), *more), query.get("stale", ()))
        )
        best = np.argsort(-ranked.total, kind="stable")[:_DEPTH]
        kept = np.union1d(best, np.flatnonzero(gold | stale))
        if not gold[kept].any() or gold[kept].all():
            return None
        none = np.zeros(len(kept), np.float32)
        signals = np.stack([ranked.signals[n][kept] if n in ranked.signals else none for n in names()], 1)
        table = np.concatenate([signals, ranked.sought.state * signals], 1).astype(np.float64)
        used = table @ flat(artefact.artefact()["weights"])
        lost = len({*query["gold"]} - self.numbers.keys())
        return Asked(what, table, ranked.total[kept] - used, gold[kept], stale[kept], lost)


async def examples(evaluator: Any, data: Path, every: int) -> list[Asked]:
    """Return the questions of a set, and, where they are also asked again, those, too."""
    groups, queries = evaluator.groups_of(str(data))
    by: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for query in [each for each in queries if each["gold"]][::every]:
        by[query["group"]].append(query)
    found = list[Asked | None]()
    for group, asked in by.items():
        memory, rows = Memory(), groups[group]()
        await memory.add(rows)
        found += [await memory.asked("fresh", query, query["question"]) for query in asked]
        if data.name not in ASKED:
            continue
        answers = dict[str, list[str]]()
        for id, said in shared.asked_before(asked, max(row["timestamp"] for row in rows)):
            answers[id] = [row["id"] for row in said if row["id"].startswith("answered")]
            await memory.add(said)
        for query in asked:
            found.append(await memory.asked("same", query, query["question"], answers[query["id"]]))
            if query.get("again"):
                found.append(await memory.asked("again", query, query["again"], answers[query["id"]]))
    return [each for each in found if each is not None]


def fitted(sets: Sequence[Sequence[Asked]], start: Table, pulls: Table, steps: int = 200) -> Table:
    """Return the weights that make the answers likeliest."""

    def loss(weights: Table) -> tuple[float, Table]:
        off = weights - start
        total, slope = float(pulls @ off**2), 2 * pulls * off
        for some in sets:
            for each in some:
                share = 1 / len(some) / len(sets)
                sums = STEEP * (each.table @ weights + each.rest)
                odds = np.exp(sums - sums.max()) * np.where(each.stale, MISLEADS, 1)
                right, wrong = odds[each.gold], np.where(each.gold, 0, odds)
                chance = 1 / (right + wrong.sum())
                total += share * float(-np.log(right * chance + 1e-12).mean())
                pushes = wrong * chance.mean()
                pushes[each.gold] = (right * chance - 1) / len(right)
                slope += share * STEEP * (pushes @ each.table)
        return total, slope

    weights: Table = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return weights


def pulls_of(sets: Sequence[Sequence[Asked]]) -> Table:
    """Return how strongly each weight is drawn to its prior."""
    count = len(names())
    effect = np.mean([np.mean([(e.table[:30, :count] ** 2).mean(0) for e in some], 0) for some in sets], 0) + FLAT
    own = np.array([1.0 if name in NEW else OLD for name in names()])
    return PULL * np.concatenate([APART[name] * own * effect for name in PROFILES])


def results(asked: Sequence[Asked], weights: Table) -> Mapping[str, float]:
    """Return hit@1, hit@5, nDCG@10 and `current` in percent."""
    found = defaultdict[str, list[float]](list)
    for each in asked:
        order = np.argsort(-(each.table @ weights + each.rest), kind="stable")
        places = np.flatnonzero(each.gold[order])
        found["hit@1"].append(places[0] < 1)
        found["hit@5"].append(places[0] < 5)
        ideal = sum(1 / np.log2(place + 2) for place in range(min(10, len(places) + each.lost)))
        found["nDCG@10"].append(sum(1 / np.log2(place + 2) for place in places if place < 10) / ideal)
        if each.stale.any():
            found["current"].append(places[0] < np.flatnonzero(each.stale[order])[0])
    return {name: round(100 * float(np.mean(values)), 1) for name, values in found.items()}


def split(sets: Mapping[str, Sequence[Asked]]) -> dict[tuple[str, str], list[Asked]]:
    """Return the questions by set and by what was asked before."""
    found = defaultdict[tuple[str, str], list[Asked]](list)
    for name, asked in sets.items():
        for each in asked:
            found[name, each.what].append(each)
    return found


def coded(weights: NDArray[np.float32]) -> str:
    """Return numbers as `artefact.numbers` reads them."""
    return b64encode(weights.astype(np.float16).tobytes()).decode()


def sha256_of(folder: Path) -> str:
    """Return the hash of all files of a set."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.jsonl")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def write(folders: Mapping[str, Path], measured: Mapping[str, Any], heads: Mapping[str, Any], **learned: Any) -> None:
    """Write what was learned, with where it comes from, into the artefact."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=_BENCH).stdout.strip()
    provenance = {
        "command": "python bench/fit.py DATA --write --left-out",
        "code": commit,
        "data": {name: {"sha256": sha256_of(folder), "every": EVERY[name]} for name, folder in folders.items()},
        "results": measured,
    }
    read = artefact.artefact()
    known = {**read["heads"], **{name: coded(each) for name, each in heads.items()}}
    shared.put(**learned, heads=known, provenance={**read["provenance"], "ranking": provenance})


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true", help="write the artefact")
    parser.add_argument("--left-out", action="store_true", help="also fit without each set, which takes minutes")
    given = parser.parse_args()
    for profile in PROFILES:  # features that the artefact does not know yet
        artefact.artefact()["weights"][profile] |= {n: 0.0 for n in names() if n not in artefact.weights_of(profile)}
    evaluator = load_evaluator(given.data.parent / "eval_retrieval.py")
    folders = {name: (own if (own := _BENCH / "data" / name).is_dir() else given.data / name) for name in EVERY}
    phrases = b64encode(np.packbits(held_in_labelled())).decode()
    cast(dict[str, Any], artefact.artefact())["phrases"] = phrases  # for `learned`
    heads = (await learned(EMBEDDER)).weights
    sets = {name: await examples(evaluator, folder, EVERY[name]) for name, folder in folders.items()}
    parts, start = split(sets), flat(prior())
    pulls = pulls_of(list(parts.values()))

    def taught(without: Sequence[str] = (), steps: int = 200) -> Table:
        """Return the weights that all sets but some teach."""
        some = [asked for part, asked in parts.items() if part[0] not in without for _ in range(COUNTS.get(part[0], 1))]
        return fitted(some, start, pulls, steps)

    weights = taught()
    before, after = ({part: results(asked, each) for part, asked in parts.items()} for each in (start, weights))
    left_out = dict(after)
    for name in sets if given.left_out else ():
        family = next((each for each in FAMILIES if name in each), (name,))
        others = taught(family, 60)
        left_out |= {part: results(asked, others) for part, asked in parts.items() if part[0] == name}
    for part in parts:
        columns = (
            f"{name} {before[part][name]:5.1f} {after[part][name]:5.1f} {left_out[part][name]:5.1f}"
            for name in before[part]
        )
        print(f"{' '.join(part):22}", " | ".join(columns))
    table = by_profile(weights)
    for name in names():
        old = (prior()[profile][name] for profile in PROFILES)
        pairs = (f"{was:6.1f} {table[profile][name]:6.1f}" for was, profile in zip(old, PROFILES, strict=True))
        print(f"{name:16}", " | ".join(pairs))
    lost = {part: before[part]["nDCG@10"] - after[part]["nDCG@10"] for part in parts}
    if worst := {part: round(points, 1) for part, points in lost.items() if points > LOSES.get(part[0], MOST_LOST)}:
        print(f"lost more than {MOST_LOST} points of nDCG@10: {worst}", file=sys.stderr)
        if given.write:
            print("nothing was written", file=sys.stderr)
            return 1
    if given.write:
        measured = {" ".join(part): {"all": after[part], "left out": left_out[part]} for part in parts}
        write(folders, measured, heads, weights=table, phrases=phrases)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
