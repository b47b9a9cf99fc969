"""Measure every embedder a package index can deliver, each alone, on four data sets.

    python bench/embedders/run.py [DATA] [--evaluator FILE] [--cache FOLDER] [--only TEXT] [--sets NAME ...]

DATA holds the folders locomo, longmemeval_dev, bfcl and spider_dev (default: MEMORIST_BENCH_DATA). FILE is
`eval_retrieval.py`, by default beside DATA. Vectors are kept in the cache folder, so that a second run only scores.
"""

import argparse
import importlib.util
import json
import os
import statistics
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from candidates import CANDIDATES, Candidate, Unavailable, is_installed

from memorist.embedders import Role, Vectors

METRICS = ("hit@1", "hit@5", "hit@10", "nDCG@10")


@dataclass(frozen=True)
class DataSet:
    """How a data set is searched and which of its questions do not count."""

    name: str
    level: str = "turn"
    exclude: str = ""
    speakers: bool = False  # whether a text is embedded as "speaker: text"


# In LoCoMo two people talk about themselves, and most questions name one of them.
SETS = (
    DataSet("locomo", exclude="5-adversarial", speakers=True),
    DataSet("longmemeval_dev", level="turn2session", exclude="abstention"),
    DataSet("bfcl"),
    DataSet("spider_dev"),
)


def main() -> None:
    options = arguments()
    evaluator = load(options.evaluator or options.data.parent / "eval_retrieval.py")
    sets = [data for data in SETS if not options.sets or data.name in options.sets]
    options.cache.mkdir(parents=True, exist_ok=True)
    print("| embedder | " + " | ".join(f"{data.name} {' / '.join(METRICS)}" for data in sets), end=" | ")
    print("one text, ms | texts/s | MB installed |")
    print("|---" * (len(sets) + 4) + "|")
    for kind in CANDIDATES:
        if options.only and options.only not in kind.name:
            continue
        try:
            candidate = kind()
            if not is_installed(kind):
                raise Unavailable(f"needs {', '.join(kind.packages)}")
            candidate.open(options.cache)
            cells = [quality(candidate, data, options, evaluator) for data in sets]
            print(f"| {kind.name} | " + " | ".join([*cells, *cost(candidate, options.data)]) + " |", flush=True)
        except Unavailable as reason:
            print(f"{kind.name}: not measured: {reason}", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = os.environ.get("MEMORIST_BENCH_DATA")
    parser.add_argument("data", type=Path, nargs="?", default=default and Path(default))
    parser.add_argument("--evaluator", type=Path)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "memorist-bench")
    parser.add_argument("--only", default="")
    parser.add_argument("--sets", nargs="*")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder with the data sets, or set MEMORIST_BENCH_DATA")
    return options


def quality(candidate: Candidate, data: DataSet, options: argparse.Namespace, evaluator: Any) -> str:
    """The share of questions answered, in percent, searching by this embedder's vectors alone."""
    folder = options.data / data.name
    documents, queries = vectors(candidate, data, folder, options.cache)
    result = evaluator.run(str(folder), backend(folder, documents, queries), data.level, progress=False)
    rows = [row for category, row in result["rows"] if not data.exclude or data.exclude not in category]
    return " / ".join(f"{100 * statistics.mean(row[metric] for row in rows):.1f}" for metric in METRICS)


def vectors(candidate: Candidate, data: DataSet, folder: Path, cache: Path) -> tuple[Vectors, Vectors]:
    """The vectors of all documents and all questions, in the order of their files."""
    slug = "".join(letter if letter.isalnum() else "-" for letter in candidate.name)
    path = cache / slug / f"{data.name}.npz"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        rows = read(folder / "corpus.jsonl")
        texts = [f"{row['speaker']}: {row['text']}" if data.speakers else row["text"] for row in rows]
        documents = candidate.embed(texts, Role.DOCUMENT)
        questions = [row["question"] for row in read(folder / "queries.jsonl")]
        np.savez(path, documents=documents, queries=candidate.embed(questions, Role.QUERY))
    with np.load(path) as stored:
        return stored["documents"], stored["queries"]


def backend(folder: Path, documents: Vectors, queries: Vectors) -> Any:
    """What the evaluator asks: an exact search over the vectors of one group."""
    place = {(row["group"], row["id"]): n for n, row in enumerate(read(folder / "corpus.jsonl"))}
    asked = {row["id"]: n for n, row in enumerate(read(folder / "queries.jsonl"))}

    def build(rows: list[dict[str, Any]]) -> tuple[list[str], Vectors]:
        return [row["id"] for row in rows], documents[[place[row["group"], row["id"]] for row in rows]]

    def search(index: tuple[list[str], Vectors], query: str, k: int, meta: dict[str, Any]) -> list[str]:
        ids, matrix = index
        order = np.argsort(-(matrix @ queries[asked[meta["id"]]]), kind="stable")
        return [ids[n] for n in order[:k]]

    return types.SimpleNamespace(build=build, search=search)


def cost(candidate: Candidate, data: Path) -> list[str]:
    """Median milliseconds for one question, LoCoMo turns a second in bulk, and megabytes on disk."""
    questions = [row["question"] for row in read(data / "locomo" / "queries.jsonl")[:100]]
    turns = [row["text"] for row in read(data / "locomo" / "corpus.jsonl")[:400]]
    candidate.embed(questions[:2], Role.QUERY)
    single = []
    for question in questions:
        start = time.perf_counter()
        candidate.embed([question], Role.QUERY)
        single.append(1000 * (time.perf_counter() - start))
    start = time.perf_counter()
    candidate.embed(turns, Role.DOCUMENT)
    bulk = len(turns) / (time.perf_counter() - start)
    return [f"{statistics.median(single):.2g}", f"{bulk:.0f}", f"{candidate.installed_bytes() / 1e6:.0f}"]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def load(path: Path) -> Any:
    """The evaluator, a script and not a package."""
    spec = importlib.util.spec_from_file_location("eval_retrieval", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"no evaluator at {path}; name it with --evaluator")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
