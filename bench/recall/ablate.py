"""What each signal of the ranking is worth: recall with one of them halved, or left out.

    python bench/recall/ablate.py DATA [--every N] [--eval FILE]

Every variant answers every Nth question of each task from the same index; the weights are changed in this process,
and nothing is learned anew without the signal. Printed as Markdown: nDCG@10 of the full ranking, and by how many
points each variant is better or worse.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import memorist_backend
import shared
from run import TASKS, evaluate, load_evaluator, summary

from memorist import Hit
from memorist.operations.requests import Mode
from memorist.recall import rank
from memorist.sync import Memory

METRIC = "nDCG@10"
FULL = "full ranking"
MODES: dict[str, Mode] = {"by meaning alone": "dense", "by words alone": "lexical"}


@contextlib.contextmanager
def weights(changed: Mapping[str, float]) -> Iterator[None]:
    """Let the ranking of this process use other weights, of the names in `memorist.recall.rank.WEIGHTS`."""
    before = rank.WEIGHTS
    unknown = set(changed) - set(before)
    if unknown:
        raise ValueError(f"there is no signal {min(unknown)!r}")
    rank.WEIGHTS = {**before, **changed}
    try:
        yield
    finally:
        rank.WEIGHTS = before


def variants() -> dict[str, dict[str, float]]:
    """Return the weights that each variant changes."""
    changes: dict[str, dict[str, float]] = {FULL: {}}
    for name in rank.WEIGHTS:
        changes[f"without {name}"] = {name: 0.0}
    for name, weight in rank.WEIGHTS.items():
        changes[f"half of {name}"] = {name: weight / 2}
    return changes


class Recorder:
    """A back end that asks every variant and remembers what each found, by question."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[str]]] = {name: {} for name in [*variants(), *MODES]}

    def build(self, rows: Sequence[shared.Row]) -> Memory:
        return memorist_backend.build(rows)

    def search(self, index: Memory, query: str, k: int, meta: Mapping[str, Any]) -> list[str]:
        now = meta.get("question_date")
        for name, changed in variants().items():
            with weights(changed):
                self.found[name][meta["id"]] = _ids(index.recall(query, limit=k, now=now))
        for name, mode in MODES.items():
            self.found[name][meta["id"]] = _ids(index.recall(query, limit=k, now=now, mode=mode))
        return self.found[FULL][meta["id"]]

    def close(self, index: Memory) -> None:
        index.close()


class Replay:
    """A back end that answers from what was found before."""

    def __init__(self, found: Mapping[str, list[str]]) -> None:
        self._found = found

    def build(self, rows: Sequence[shared.Row]) -> None:
        """Nothing is searched."""

    def search(self, index: None, query: str, k: int, meta: Mapping[str, Any]) -> list[str]:
        return self._found[meta["id"]][:k]


def _ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return the scores by variant and task in Markdown, as differences from the full ranking."""
    tasks = list(scores[FULL])
    full = scores[FULL]
    lines = [f"| {METRIC} | {' | '.join(tasks)} |", f"|---|{'---:|' * len(tasks)}"]
    lines.append(f"| **{FULL}** | {' | '.join(f'{full[task]:.1f}' for task in tasks)} |")
    for name, values in scores.items():
        if name != FULL:
            lines.append(f"| {name} | {' | '.join(_difference(values[task] - full[task]) for task in tasks)} |")
    return "\n".join(lines)


def _difference(points: float) -> str:
    return "0" if abs(points) < 0.05 else f"{points:+.1f}".replace("-", "−")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--eval", type=Path, help="eval_retrieval.py; by default beside DATA")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth question")
    parser.add_argument("--results", type=Path, help="where to keep all metrics, as JSON")
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.parent / "eval_retrieval.py")
    everything: dict[str, dict[str, dict[str, float]]] = {}
    for task in TASKS:
        recorder = Recorder()
        evaluate(evaluator, task, given.data, recorder, given.every)
        for name, found in recorder.found.items():
            asked, _ = evaluate(evaluator, task, given.data, Replay(found), given.every)
            everything.setdefault(name, {})[task.name] = summary(asked)
        print(f"{task.name}: {everything[FULL][task.name]}", file=sys.stderr, flush=True)
    if given.results:
        given.results.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    print(table({name: {task: each[METRIC] for task, each in tasks.items()} for name, tasks in everything.items()}))


if __name__ == "__main__":
    main()
