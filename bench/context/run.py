"""Measure what an agent is told, within a budget of tokens, beside what else one could put there.

    python bench/context/run.py DATA [--backends NAME ...] [--sets NAME ...] [--every N] [--results FILE] [--plot FILE]

DATA holds the folders locomo, longmemeval_dev, locomo_facts and beam_dev; `--eval` names eval_context.py, by
default beside DATA. Every back end gets the same embedder and the same questions. The results of earlier runs in
FILE are kept where not run again; `--plot` draws all of them.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import memorist_backend
from filled import Filled

BACKENDS = {"memorist": "Memorist", "embedder": "embedder's nearest", "bm25": "BM25", "mem0": "mem0's hits"}
BUDGETS = {
    "locomo": (250, 500, 1000, 2000),
    "longmemeval_dev": (500, 1000, 2000, 4000),
    "locomo_facts": (125, 250, 500),
    "beam_dev": (500, 1000, 2000),
}
TITLES = {
    "locomo": "LoCoMo: months of chat", "longmemeval_dev": "LongMemEval: a user's history",
    "locomo_facts": "LoCoMo: facts drawn from it", "beam_dev": "BEAM: long work with an assistant",
}  # fmt: skip
Result = dict[str, Any]


def load_evaluator(path: Path) -> ModuleType:
    """Return eval_context as a module."""
    spec = importlib.util.spec_from_file_location("eval_context", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no evaluator at {path}; name it with --eval")
    sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(evaluator: ModuleType, data: Path, name: str, backend: str, every: int) -> Result:
    """Return what one back end reaches on one data set, with the confidence of each question."""
    told: Any = memorist_backend if backend == "memorist" else Filled(backend)
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        result: Result = evaluator.run(str(data / name), told, BUDGETS[name], every, dump=f"{folder}/lines.jsonl")
    return {**result, "backend": backend, "every": every}


def table(name: str, results: Sequence[Result]) -> str:
    """Return the results of one data set as a table in Markdown."""
    budgets = BUDGETS[name]
    head = ["evidence at " + " / ".join(map(str, budgets)), "answer", "told", "silent", "AUROC foreign", "ece"]
    rows = [f"**{TITLES[name]}**", "", f"| | {' | '.join(head)} |", "|---|" + "---:|" * len(head)]
    for each in sorted(results, key=lambda each: list(BACKENDS).index(each["backend"])):
        at, sure = [each["budgets"][str(budget)] for budget in budgets], each["confidence"]
        cells = [" / ".join(str(row[kind]) for row in at) for kind in ("evidence", "answer")]
        mine = each["backend"] == "memorist"
        cells += [str(at[-1]["told"]), *(str(sure[kind]) if mine else "" for kind in ("silent", "foreign", "ece"))]
        rows.append(f"| {BACKENDS[each['backend']]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--backends", nargs="+", default=["memorist", "embedder", "bm25"], choices=BACKENDS)
    parser.add_argument("--sets", nargs="+", default=list(BUDGETS), choices=BUDGETS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--eval", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.resolve().parent / "eval_context.py")
    kept = given.results is not None and given.results.is_file()
    results: list[Result] = json.loads(given.results.read_text(encoding="utf-8")) if kept else []
    for name in given.sets:
        for backend in given.backends:
            new = measure(evaluator, given.data, name, backend, given.every)
            results = [each for each in results if (each["data"], each["backend"]) != (name, backend)] + [new]
            if given.results is not None:
                given.results.write_text(json.dumps(results, indent=1), encoding="utf-8")
        print(table(name, [each for each in results if each["data"] == name]), "\n", flush=True)
    if given.plot is not None:
        from plot import draw_budgets

        draw_budgets(results, given.plot)


if __name__ == "__main__":
    main()
