"""How long `context` takes over the recall that it makes, at a number of messages.

    python bench/context/latency.py DATA [--size N] [--questions N] [--tokens N]

The messages are LoCoMo's and, after them, LongMemEval's, in one scope; the questions are LoCoMo's. `recall` is
asked for as many hits as `context` asks for. Embeddings are cached; CPU time depends little on what else the
machine does.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import shared

from memorist import Draft
from memorist.sync import Memory

_WARM = 20


def _messages(data: Path) -> list[Draft]:
    rows = [each for name in ("locomo", "longmemeval_dev") for each in _rows(data / name / "corpus.jsonl")]
    return [shared.draft_of({**row, "session": f"{row['group']}/{row['session']}", "id": None}) for row in rows]


def _rows(file: Path) -> list[shared.Row]:
    with file.open(encoding="utf-8") as lines:
        return shared.said([json.loads(line) for line in lines])


def clocked(call: Callable[[str], object], questions: list[str]) -> tuple[float, float]:
    """Return the median of the milliseconds that a call took, and the mean of those of CPU time."""
    took, cpu = [], time.process_time()
    for question in questions:
        start = time.perf_counter()
        call(question)
        took.append(1000 * (time.perf_counter() - start))
    return statistics.median(took), 1000 * (time.process_time() - cpu) / len(questions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=600)
    given = parser.parse_args()
    with (given.data / "locomo" / "queries.jsonl").open(encoding="utf-8") as file:
        questions = [json.loads(next(file))["question"] for _ in range(given.questions + _WARM)]
    with Memory.open(":memory:", embedder=shared.EMBEDDER) as memory:
        memory.remember(_messages(given.data)[: given.size])
        limit = max(given.tokens // 12, 20)
        for question in questions[:_WARM]:
            memory.recall(question, limit=limit, explain=True)
            memory.context(question, tokens=given.tokens)
        asked = questions[_WARM:]
        recall = clocked(lambda question: memory.recall(question, limit=limit, explain=True), asked)
        bare = clocked(lambda question: memory.context(question, tokens=given.tokens, standing=False), asked)
        whole = clocked(lambda question: memory.context(question, tokens=given.tokens), asked)
        print(f"{memory.count():,} messages, {len(asked)} questions, {given.tokens} tokens; median ms, mean CPU ms")
    for name, (took, cpu) in {"recall": recall, "context, standing=False": bare, "context": whole}.items():
        print(f"{name:>24} {took:8.1f} {cpu:8.1f}")


if __name__ == "__main__":
    main()
