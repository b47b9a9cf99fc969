"""How long `recall` takes from end to end, embedding the question included, and how fast messages are stored.

    python bench/recall/latency.py DATA [--sizes N ...] [--questions N]

The messages are those of DATA/locomo and, after them, the user's of DATA/longmemeval_dev, all in one scope of one
file; the questions are LoCoMo's, each asked once, so none is cached. The messages that only fill the scope come
with cached vectors; those whose storing is measured are embedded anew. CPU time is given beside the time of the
clock, for it depends little on what else the machine does.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import shared

from memorist import Draft, Kind
from memorist.sync import Memory

STORED = 500
"""Messages whose storing is measured, in each way."""
_WARM = 20


def _rows(file: Path) -> Iterator[shared.Row]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def messages(data: Path) -> list[Draft]:
    """Return all messages, in the order they are stored in."""
    rows = list(_rows(data / "locomo" / "corpus.jsonl"))
    rows += [row for row in _rows(data / "longmemeval_dev" / "corpus.jsonl") if row["speaker"] == "user"]
    return [
        Draft(
            content=row["text"],
            kind=Kind.MESSAGE,
            session=f"{row['group']}/{row['session']}",
            payload={"speaker": row["speaker"]},
            happened_at=row["timestamp"],
        )
        for row in shared.said(rows)
    ]


def clocked(calls: Sequence[Callable[[], object]]) -> tuple[list[float], float]:
    """Return how many milliseconds each call took, and how many of CPU time on average."""
    took, cpu = [], time.process_time()
    for call in calls:
        start = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - start))
    return took, 1000 * (time.process_time() - cpu) / len(calls)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that `percent` of the values are not above."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def recalling(file: Path, questions: Sequence[str]) -> str:
    """Return a row of the table: `recall` of each question, from a memory opened anew."""
    with Memory.open(file) as memory:
        first, _ = clocked([partial(memory.recall, questions[0])])
        for question in questions[1:_WARM]:
            memory.recall(question)
        took, cpu = clocked([partial(memory.recall, question) for question in questions[_WARM:]])
        size = memory.count()
    cells = [percentile(took, 50), percentile(took, 95), cpu, first[0]]
    return f"| {size:,} | {len(took)} | {' | '.join(f'{each:.1f}' for each in cells)} |"


def storing(folder: Path, drafts: Sequence[Draft]) -> list[str]:
    """Return the rows of the table on storing, one by one and all at once."""
    rows = []
    one_by_one, at_once = drafts[:STORED], drafts[STORED : 2 * STORED]
    with Memory.open(folder / "stored.db") as memory:
        memory.remember("the model is loaded with the first text")
        for title, calls in (
            ("one at a time", [partial(memory.remember, draft) for draft in one_by_one]),
            (f"{len(at_once)} in one call", [partial(memory.remember, list(at_once))]),
        ):
            took, cpu = clocked(calls)
            speed = STORED / sum(took) * 1000
            rows.append(f"| {title} | {speed:.0f} | {cpu * len(calls) / STORED:.1f} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    drafts = messages(given.data)
    questions = [row["question"] for row in _rows(given.data / "locomo" / "queries.jsonl")][::3][: given.questions]
    if hasattr(os, "getloadavg"):
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
    print("| messages | questions | p50 ms | p95 ms | CPU ms | first ms |\n|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="memorist-bench-") as name:
        folder = Path(name)
        for size in given.sizes:
            file = folder / f"{size}.db"
            with Memory.open(file, embedder=shared.EMBEDDER) as memory:
                memory.remember(drafts[:size])
            print(recalling(file, questions), flush=True)
        print("\n| stored | messages a second | CPU ms each |\n|---|---:|---:|")
        print("\n".join(storing(folder, drafts)))


if __name__ == "__main__":
    main()
