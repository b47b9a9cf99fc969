"""Fit the weights of `memorist.context.confidence`, with one data set left out at a time and then on all of them.

    python bench/context/fit.py DATA [--every N] [--memories N] [--features FILE] [--plot IMAGE] [--write]

The questions that a memory can answer are told from the same questions asked of another group's memory, by a
logistic regression: of whole memories, of 3, 10 and 50 records of each, and of short notes asked about in other words
and by their last two words; each of these sets counts alike, and so do greetings and nonsense, said to the small
memories. The data's own questions without an answer count little, for they are hardly told apart. `CHECKED` has no part
in the fit: there another one's life answers most questions of a stranger, too.
lived_dev and lived_more are asked as they are, and after each question was asked once; what was never told in them
counts as much as the questions of strangers, and their small talk as greetings.
Features are kept in FILE, and read from it where it is there. `--write` puts the weights into the artefact of
`memorist.recall`.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import memorist_backend
import numpy as np
import shared
from notes import ELSEWHERE, IDLE, NOTES
from numpy.typing import NDArray
from run import BUDGETS, load_evaluator

from memorist.blocking_client import asynchronous, run
from memorist.context.confidence import features, says_nothing
from memorist.context.naming import named_among
from memorist.recall.analysis import stop_words

WEIGHT = {"own": 1.0, "foreign": 1.0, "unanswerable": 0.03, "unknown": 1.0, "idle": 1.0}
PENALTY = 1e-2
UNANSWERABLE = ("5-adversarial", "abstention")
_LEASTS = (0.05, 0.08, 0.1, 0.12, 0.15)
_HITS = 20
SIZES = (3, 10, 50)
"""Records of a small memory."""
_SAID = 4
"""Greetings and the like that each small memory hears."""
_STEPS = 50
_WORD = re.compile(r"[^\W_]+")
_BINS = 10
SETS = (*BUDGETS, "polyglot_dev", "now_dev")
LIVED = ("lived_dev", "lived_more")
CHECKED = "now_dev"
Floats = NDArray[np.float64]
Example = tuple[str, Mapping[str, float]]
"""Whether the memory holds the answer ("own"), and the features."""


def examples(data: Path, evaluator: Any, every: int, memories: int) -> Iterator[Example]:
    """Yield the questions of one data set, each asked of its own memory, and of the next one's."""
    groups, queries = evaluator.groups_of(str(data))
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for query in queries[::every]:
        asked[query["group"]].append(query)
    names = list(asked)[:: max(len(asked) // memories, 1)]
    for place, name in enumerate(names):
        rows = groups[name]()
        index, sessions = memorist_backend.build(rows), {row["session"] for row in rows}
        for query in asked[name]:
            kind = "unanswerable" if query["category"] in UNANSWERABLE else "own"
            yield from _example(index, query, kind)
        for query in asked[names[(place + 1) % len(names)]]:
            # Memories may share sessions: then another's may hold the answer, too.
            if query["category"] not in UNANSWERABLE and not sessions & _sessions(query, data):
                yield from _example(index, query, "foreign")
        memorist_backend.close(index)


def lived(data: Path, evaluator: Any) -> Iterator[Example]:
    """Yield the questions of a memory in which everything was kept, before and after all were asked."""
    groups, queries = evaluator.groups_of(str(data))
    kinds = {"unknown": "unknown", "smalltalk": "idle"}
    for name, rows in groups.items():
        asked = [each for each in queries if each["group"] == name]
        index = memorist_backend.build(rows())
        for query in asked:
            yield from _example(index, query, kinds.get(query["category"], "own"))
        said = shared.asked_before([each for each in asked if each["category"] != "smalltalk"], rows()[-1]["timestamp"])
        index.remember([shared.draft_of(row) for _, two in said for row in two])
        for query in asked:
            yield from _example(index, query, kinds.get(query["category"], "own"))
        memorist_backend.close(index)


def small(data: Path, evaluator: Any, count: int) -> Iterator[Example]:
    """Yield questions of one data set, asked of a few records around their evidence, and of those around another's."""
    groups, queries = evaluator.groups_of(str(data))
    asked = [each for each in queries if each["gold"] and each["category"] not in UNANSWERABLE]
    asked = asked[:: max(len(asked) // count, 1)]
    for place, query in enumerate(asked):
        rows = groups[query["group"]]()
        found = next((n for n, row in enumerate(rows) if row["id"] in query["gold"]), None)
        other = asked[(place + len(asked) // 2) % len(asked)]
        for size in SIZES if found is not None else ():
            start = max(0, min((found or 0) - size // 2, len(rows) - size))
            index = memorist_backend.build(rows[start : start + size])
            yield from _example(index, query, "own")
            if other["group"] != query["group"]:
                yield from _example(index, other, "foreign")
            yield from _said(index, place)
            memorist_backend.close(index)


def notes() -> Iterator[Example]:
    """Yield questions in other words than the notes they are about, some of their words, and questions about something
    else."""
    for size in (1, *SIZES[:2], len(NOTES)):
        for start in range(0, len(NOTES) - size + 1, size):
            some = NOTES[start : start + size]
            rows = [{"id": str(n), "text": note, "timestamp": None} for n, (note, _) in enumerate(some)]
            index = memorist_backend.build(rows)
            for note, question in some:
                for asked in (question, _last_words(note)):
                    yield from _example(index, {"question": asked}, "own")
            others = (NOTES[:start] + NOTES[start + size :])[:: max(len(NOTES) // 6, 1)]
            foreign = [asked for note, question in others for asked in (question, _last_words(note))]
            for question in [*foreign, *ELSEWHERE[:6]]:
                yield from _example(index, {"question": question}, "foreign")
            yield from _said(index, start)
            memorist_backend.close(index)


def _last_words(note: str) -> str:
    """Return what somebody who searches by words may type."""
    return " ".join([word for word in _WORD.findall(note) if word.casefold() not in stop_words()][-2:])


def _said(index: Any, place: int) -> Iterator[Example]:
    """Yield some of what is said without asking anything, others at every place."""
    for number in range(_SAID):
        yield from _example(index, {"question": IDLE[(_SAID * place + number) % len(IDLE)]}, "idle")


def _sessions(query: Mapping[str, Any], data: Path) -> set[str]:
    return set(query["gold_sessions"]) if (data / "haystacks.jsonl").exists() else set()


def _example(index: Any, query: Mapping[str, Any], kind: str) -> Iterator[Example]:
    hits = index.recall(query["question"], limit=_HITS, explain=True, now=query.get("question_date"))
    if hits := [hit for hit in hits if not says_nothing(hit)]:
        recall = asynchronous(index).recall
        named = run(lambda: named_among(recall, query["question"], hits, {}))
        yield kind, features(hits, named)


def matrix(rows: Sequence[Example], names: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Return features, labels and weights; every kind of question weighs alike, however many there are."""
    count = {kind: sum(each == kind for each, _ in rows) for kind in WEIGHT}
    return (
        np.array([[found[name] for name in names] for _, found in rows]),
        np.array([float(kind == "own") for kind, _ in rows]),
        np.array([WEIGHT[kind] / count[kind] for kind, _ in rows]),
    )


def fitted(sets: Sequence[Sequence[Example]], names: Sequence[str]) -> Floats:
    """Return the weights of a logistic regression, by Newton's method; the last feature is the constant.

    `unknown` is weighed last, with the other weights held: in some of the sets nearly every question of strangers has
    an unknown name, but one without is no sign that the memory holds the answer.
    """
    parts = [matrix(rows, names) for rows in sets]
    found, labels, weights = (np.concatenate([part[place] for part in parts]) for place in range(3))
    scale = np.append(found[:, :-1].std(axis=0), 1.0)
    scale[scale == 0] = 1.0  # a feature that no set has
    found, penalty = found / scale, PENALTY * np.append(np.ones(len(names) - 1), 0.0)
    result: Floats = np.zeros(len(names))
    last = np.array([name == "unknown" for name in names])
    for some in (~last, last):
        part, drawn = found[:, some], penalty[some]
        for _ in range(_STEPS):
            likely = 1 / (1 + np.exp(-found @ result))
            slope = part.T @ (weights * (likely - labels)) + drawn * result[some]
            bend = (part.T * (weights * likely * (1 - likely))) @ part + np.diag(drawn)
            result[some] -= np.linalg.solve(bend, slope)
    return result / scale


def report(name: str, rows: Sequence[Example], weights: Floats, names: Sequence[str], evaluator: Any) -> None:
    """Print how well a set is told apart, and what thresholds would tell and keep silent."""
    sure = 1 / (1 + np.exp(-matrix(rows, names)[0] @ weights))
    by = {kind: [float(p) for p, (each, _) in zip(sure, rows, strict=True) if each == kind] for kind in WEIGHT}
    found = [evaluator.auroc(by["own"], by[kind]) for kind in ("foreign", "unanswerable", "unknown", "idle")]
    own, foreign, idle = (np.array(by[kind]) for kind in ("own", "foreign", "idle"))
    told = [f"{least}: {_percent((own >= least).mean())}/{_percent((foreign < least).mean())}" for least in _LEASTS]
    if len(idle):
        told = [f"{each}/{_percent((idle < least).mean())}" for each, least in zip(told, _LEASTS, strict=True)]
    print(
        f"{name:>28}  AUROC {' '.join(map(_percent, found))}",
        f"sure {_percent((own >= 0.5).mean())} {_percent((foreign < 0.5).mean())}",
        f"ece {_percent(evaluator.ece(by['own'], by['foreign']))}  told/silent {' '.join(told)}",
    )


def _percent(value: Any) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def bins(rows: Sequence[Example], weights: Floats, names: Sequence[str]) -> list[tuple[float, float, int]]:
    """Return mean confidence, share of answerable questions, and their number, for each tenth of confidence."""
    told = [each for each in rows if each[0] in ("own", "foreign")]
    found, labels, _ = matrix(told, names)
    sure = 1 / (1 + np.exp(-found @ weights))
    places = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    held = [places == place for place in range(_BINS) if (places == place).any()]
    return [(float(sure[each].mean()), float(labels[each].mean()), int(each.sum())) for each in held]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth question")
    parser.add_argument("--memories", type=int, default=60, help="the most memories of a data set")
    parser.add_argument("--eval", type=Path)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.resolve().parent / "eval_context.py")
    if given.features is not None and given.features.is_file():
        sets: dict[str, list[Example]] = json.loads(given.features.read_text(encoding="utf-8"))
    else:
        sets = {}
        for name in SETS:
            every = given.every if name.startswith("locomo") else 1
            sets[name] = list(examples(given.data / name, evaluator, every, given.memories))
            print(name, len(sets[name]), flush=True)
        for name in LIVED:
            print(name, flush=True)
            sets[name] = list(lived(Path(__file__).parents[1] / "data" / name, evaluator))
        for name in SETS:
            sets[f"{name}, few records"] = list(small(given.data / name, evaluator, given.memories))
        sets["short notes"] = list(notes())
        if given.features is not None:
            given.features.write_text(json.dumps(sets), encoding="utf-8")
    names = list(next(iter(sets.values()))[0][1])
    print("fitted without the data set:")
    left_out, fitting = {}, {name: rows for name, rows in sets.items() if not name.startswith(CHECKED)}
    for name, rows in sets.items():
        kept = [other for each, other in fitting.items() if each.split(",")[0] != name.split(",")[0]]
        left_out[name] = fitted(kept, names)
        report(name, rows, left_out[name], names, evaluator)
    print("fitted on all sets:")
    whole = fitted(list(fitting.values()), names)
    for name, rows in sets.items():
        report(name, rows, whole, names, evaluator)
    print({name: round(float(weight), 3) for name, weight in zip(names, whole, strict=True)})
    if given.write:
        shared.put(confidence={name: round(float(weight), 3) for name, weight in zip(names, whole, strict=True)})
    if given.plot is not None:
        from plot import draw_calibration

        draw_calibration({name: bins(sets[name], left_out[name], names) for name in BUDGETS}, given.plot)


if __name__ == "__main__":
    main()
