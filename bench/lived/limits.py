"""Choose the limits of a context, such as from which share of the probability on a record is told.

    python bench/lived/limits.py EVAL_LIVED [SET ...] [--rounds N] [--write]

EVAL_LIVED is eval_lived.py; the sets are folders of `bench/data`, by default lived_dev and lived_more. Each limit in
turn is tried at other values, and the best is kept: that with the best mean `score` of `eval_lived.py` over the sets
and their passes, less a point for each 50 tokens. Printed is also what each set gives with the limits that the others
choose. `--write` puts them into the artefact of `memorist.recall`.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import memorist_backend
from run import load_evaluator

from memorist.context import composing, confidence
from memorist.recall.artefact import artefact

LIMITS: Mapping[str, tuple[Any, str]] = {
    "least_share": (composing, "LEAST_SHARE"),
    "blind": (composing, "BLIND"),
    "most_blind": (composing, "MOST_BLIND"),
    "one_share": (composing, "ONE_SHARE"),
    "most_share": (composing, "MOST_SHARE"),
    "short": (composing, "SHORT"),
    "min_confidence": (confidence, "MIN_CONFIDENCE"),
    "small_talk": (confidence, "SMALL_TALK"),
}
"""The limits by their names in the artefact, and where they are read."""
FACTORS = (0.5, 0.7, 1.4, 2.0)
A_POINT = 50
"""Tokens that count as much as a point of the score."""
_DIGITS = 3
_DATA = Path(__file__).parents[1] / "data"


def set_to(limits: Mapping[str, float]) -> None:
    """Let contexts be made with these limits."""
    for name, value in limits.items():
        module, constant = LIMITS[name]
        setattr(module, constant, value)
    composing.MIN_CONFIDENCE = confidence.MIN_CONFIDENCE


class Bench:
    """What limits are worth on each set; what was measured once is kept."""

    def __init__(self, evaluator: Any, sets: Sequence[str]) -> None:
        self.sets = sets
        self._evaluator = evaluator
        self._known = dict[tuple[str, tuple[float, ...]], float]()

    def worth(self, limits: Mapping[str, float], sets: Iterable[str]) -> float:
        """Return the mean over some sets."""
        return mean(self._of(limits, name) for name in sets)

    def _of(self, limits: Mapping[str, float], name: str) -> float:
        key = (name, tuple(limits.values()))
        if key not in self._known:
            set_to(limits)
            passes = self._evaluator.run(str(_DATA / name), memorist_backend)["passes"]
            self._known[key] = mean(each["score"] - each["tokens"] / A_POINT for each in passes.values())
        return self._known[key]

    def chosen(self, start: Mapping[str, float], sets: Sequence[str], rounds: int) -> Mapping[str, float]:
        """Return the best limits found from `start` on, one after the other."""
        best = dict(start)
        for _ in range(rounds):
            for name in LIMITS:
                tried = [{**best, name: round(best[name] * factor, _DIGITS)} for factor in FACTORS]
                best = max([best, *tried], key=lambda limits: self.worth(limits, sets))
                print(f"{name} {best[name]:g}: {self.worth(best, sets):.2f}", flush=True)
        return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluator", type=Path)
    parser.add_argument("sets", nargs="*", default=["lived_dev", "lived_more"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    start: Mapping[str, float] = artefact()["telling"]
    bench = Bench(load_evaluator(given.evaluator), given.sets)
    for name in given.sets if len(given.sets) > 1 else ():
        others = [each for each in given.sets if each != name]
        left_out = bench.chosen(start, others, given.rounds)
        print(f"{name}, left out: {bench.worth(start, [name]):.2f} before, {bench.worth(left_out, [name]):.2f}")
    best = bench.chosen(start, given.sets, given.rounds)
    print(f"all: {bench.worth(start, given.sets):.2f} before, {bench.worth(best, given.sets):.2f} with {best}")
    if given.write:
        memorist_backend.shared.put(telling=best)


if __name__ == "__main__":
    main()
