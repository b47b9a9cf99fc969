"""Compare Memorist's recall with its peers on public questions with gold evidence.

    python bench/recall/run.py DATA [--quick] [--backends NAME ...] [--tasks NAME ...] [--results FILE] [--plot FILE]

DATA holds the folders locomo, longmemeval_dev, beam_dev, locomo_facts, spider_dev and bfcl; `--eval` names
eval_retrieval.py, by default beside DATA. Every back end gets the same embedder and the same questions; where one
gets a sample of them only, the table says so and shows Memorist on that sample too. Milliseconds are the median of a
search without the embedding of the question, which is printed apart. Results of earlier runs in FILE are kept where
not run again.
"""

import argparse
import asyncio
import atexit
import importlib
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import shared
from slips import with_slips

from memorist.embedders import Role

BACKENDS = {
    "memorist": "Memorist",
    "rrf": "reciprocal rank fusion",
    "embedder": "embedder alone",
    "bm25": "BM25",
    "mem0": "mem0",
    "mem0_words": "mem0 with fastembed",
    "chroma": "Chroma",
}
METRICS = ("hit@1", "hit@5", "hit@10", "rec@10", "all@5", "nDCG@10")
SLOW = {(name, "longmemeval_dev") for name in ("mem0", "mem0_words", "chroma")}
"""Who takes too long to store a haystack anew for each question."""
SAMPLE = 10
"""Every so manieth question is a sample."""
_DEPTH = 20

Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """What is searched for in which data."""

    name: str
    title: str
    data: str
    level: str = "turn"
    without: str = ""
    speakers: frozenset[str] | None = None


TASKS = (
    Task("locomo-turns", "LoCoMo: the turn that tells", "locomo", without="5-adversarial"),
    Task("locomo-sessions", "LoCoMo: its session", "locomo", "turn2session", "5-adversarial"),
    Task("longmemeval-sessions", "LongMemEval: the session", "longmemeval_dev", "turn2session", "abstention"),
    Task(
        "longmemeval-user-turns", "LongMemEval: the user's turn", "longmemeval_dev", "turn", "abstention",
        frozenset({"user"}),
    ),
    Task("beam-turns", "BEAM: the turn that tells", "beam_dev", without="abstention"),
    Task("locomo-facts", "LoCoMo: the fact that tells", "locomo_facts", without="5-adversarial"),
    Task("spider", "Spider: the question with the same SQL", "spider_dev"),
    Task("bfcl", "BFCL: the function for a request", "bfcl"),
)  # fmt: skip


class Timed:
    """A back end, and how long each of its searches took without embedding, in milliseconds."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._takes_meta = "meta" in backend.search.__code__.co_varnames
        self.milliseconds: list[float] = []

    def build(self, rows: Sequence[shared.Row]) -> Any:
        return self._backend.build(rows)

    def search(self, index: Any, query: str, k: int, meta: Any = None) -> Any:
        given = {"meta": meta} if self._takes_meta else {}
        start, embedding = time.perf_counter(), shared.EMBEDDER.seconds
        found = self._backend.search(index, query, k, **given)
        took = time.perf_counter() - start - (shared.EMBEDDER.seconds - embedding)
        self.milliseconds.append(1000 * took)
        return found

    def close(self, index: Any) -> None:
        if hasattr(self._backend, "close"):
            self._backend.close(index)


def load_evaluator(path: Path) -> ModuleType:
    """Return eval_retrieval as a module."""
    spec = importlib.util.spec_from_file_location("eval_retrieval", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no evaluator at {path}; name it with --eval")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evaluate(evaluator: ModuleType, task: Task, data: Path, backend: Any, every: int) -> tuple[list[Result], Result]:
    """Return what `backend` reached question by question, and what eval_retrieval says of the whole."""
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as folder:
        lines = Path(folder) / "questions.jsonl"
        whole = evaluator.run(
            str(data / task.data), backend, task.level, task.speakers, every, ks=(1, 5, 10, _DEPTH), dump=str(lines)
        )
        with lines.open(encoding="utf-8") as file:
            asked = [json.loads(line) for line in file]
    return [each for each in asked if each["category"] != task.without], whole


def summary(asked: Iterable[Result]) -> dict[str, float]:
    """Return the means of the metrics, in percent."""
    asked = list(asked)
    return {metric: round(100 * statistics.mean(each[metric] for each in asked), 1) for metric in METRICS}


def measure(evaluator: ModuleType, task: Task, data: Path, name: str, every: int) -> Result:
    """Return how well, and how fast, one back end does one task."""
    backend = Timed(importlib.import_module(f"{name}_backend"))
    asked, whole = evaluate(evaluator, task, data, backend, every)
    return {
        "task": task.name,
        "backend": name,
        "every": every,
        "questions": len(asked),
        "metrics": summary(asked),
        "milliseconds": round(statistics.median(backend.milliseconds), 2),
        "build_seconds": round(whole["build_s"], 1),
        "rows": whole["rows_indexed"],
        "by_question": {each["id"]: {metric: each[metric] for metric in METRICS} for each in asked},
    }


def embedding_milliseconds(data: Path) -> float:
    """Return the median time to embed one question, not yet seen."""
    with (data / "locomo" / "queries.jsonl").open(encoding="utf-8") as file:
        questions = [json.loads(next(file))["question"] for _ in range(100)]

    async def each() -> list[float]:
        took = []
        for question in questions:
            start = time.perf_counter()
            await shared.EMBEDDER.inner.embed([question], Role.QUERY)
            took.append(time.perf_counter() - start)
        return took

    asyncio.run(shared.EMBEDDER.ready())
    return 1000 * statistics.median(asyncio.run(each())[10:])


def table(task: Task, results: Sequence[Result]) -> str:
    """Return a task's results as a table in Markdown, Memorist first, then by nDCG@10."""
    mine = next((each for each in results if each["backend"] == "memorist"), None)
    lines = [
        f"**{task.title}**", "",
        f"| back end | questions | {' | '.join(METRICS)} | ms |",
        f"|---|{'---:|' * (len(METRICS) + 2)}",
    ]  # fmt: skip
    samples = set()
    for each in sorted(results, key=lambda each: (each is not mine, each["every"], -each["metrics"]["nDCG@10"])):
        if mine is not None and each["every"] not in {mine["every"], *samples}:
            same = [mine["by_question"][id] for id in each["by_question"] if id in mine["by_question"]]
            lines.append(_line(f"Memorist, every {each['every']}th question", len(same), summary(same), ""))
            samples.add(each["every"])
        lines.append(_line(_title(each, mine), each["questions"], each["metrics"], f"{each['milliseconds']:.1f}"))
    return "\n".join(lines)


def _title(result: Result, mine: Result | None) -> str:
    title = BACKENDS[result["backend"]]
    if result is mine:
        return f"**{title}**"
    if mine is not None and result["every"] != mine["every"]:
        return f"{title}, every {result['every']}th question"
    return title


def _line(title: str, questions: int, metrics: dict[str, float], milliseconds: str) -> str:
    cells = " | ".join(f"{metrics[metric]:.1f}" for metric in METRICS)
    return f"| {title} | {questions} | {cells} | {milliseconds} |"


def _save(results: dict[tuple[str, str], Result], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(list(results.values()), indent=1) + "\n", encoding="utf-8")


def _load(file: Path | None) -> dict[tuple[str, str], Result]:
    if file is None or not file.exists():
        return {}
    return {(each["task"], each["backend"]): each for each in json.loads(file.read_text(encoding="utf-8"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--eval", type=Path, help="eval_retrieval.py; by default beside DATA")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--tasks", nargs="+", choices=[task.name for task in TASKS])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth question")
    parser.add_argument("--quick", action="store_true", help=f"every {SAMPLE}th question, the same for all")
    parser.add_argument("--slips", action="store_true", help="with a slip of the pen in each question")
    parser.add_argument("--results", type=Path, help="where to keep the results, as JSON")
    parser.add_argument("--plot", type=Path, help="where to draw them")
    given = parser.parse_args()
    evaluator = load_evaluator(given.eval or given.data.parent / "eval_retrieval.py")
    if given.slips:
        folder = tempfile.TemporaryDirectory(prefix="memorist-slips-")
        atexit.register(folder.cleanup)
        given.data = with_slips(given.data, Path(folder.name))
    every = SAMPLE if given.quick else given.every
    results = _load(given.results)
    for task in TASKS:
        if given.tasks and task.name not in given.tasks:
            continue
        for name in given.backends:
            sampled = max(every, SAMPLE) if (name, task.data) in SLOW else every
            results[task.name, name] = measure(evaluator, task, given.data, name, sampled)
            print(f"{task.name} {name}: {results[task.name, name]['metrics']}", file=sys.stderr, flush=True)
            _save(results, given.results)
        print(table(task, [each for each in results.values() if each["task"] == task.name]), end="\n\n", flush=True)
    print(f"Embedding a question takes {embedding_milliseconds(given.data):.1f} ms more, for all but BM25.")
    if given.plot:
        from plot import draw

        draw(list(results.values()), given.plot)


if __name__ == "__main__":
    main()
