"""What ranking only a database's candidates costs in quality: the ten of a ranking of everything, how many are found?

    python bench/speed/large_walls.py DATA --url postgresql://… [--questions 250] [--candidates 200]

DATA is a folder with corpus.jsonl (id, group, session, timestamp, speaker, text) and queries.jsonl (group, question,
gold), as of LoCoMo. Everything is behind one wall, in the schema `bench_large_walls`, which is left there; the default
embedder, the graph is read for more than 2,000 records.
"""

import asyncio
import json
import random
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import common

from memorist import Draft, Memory
from memorist.config import Settings
from memorist.recall import large
from memorist.stores.postgres import queries

COUNT = 10


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def draft(row: dict[str, Any]) -> Draft:
    return Draft(
        content=row["text"], kind="message", id=f"{row['group']} {row['id']}",
        session=f"{row['group']} {row['session']}", payload={"speaker": row["speaker"]}, happened_at=row["timestamp"],
    )  # fmt: skip


async def asked(url: str, largest: int, questions: list[dict[str, Any]]) -> tuple[list[list[str]], float]:
    """Return the ids found for each question, and the milliseconds of one."""
    settings = replace(Settings(), largest_index=largest)
    async with Memory.open(url, user="everyone", settings=settings) as memory:
        await memory.recall(questions[0]["question"])
        start = time.perf_counter()
        found = [[hit.record.id for hit in await memory.recall(each["question"], limit=COUNT)] for each in questions]
        return found, (time.perf_counter() - start) / len(questions) * 1e3


async def measure(given: Namespace) -> list[dict[str, Any]]:
    url = f"{given.url}{'&' if '?' in given.url else '?'}schema=bench_large_walls&hnsw=on"
    questions = [each for each in read(given.data / "queries.jsonl") if each["gold"]]
    questions = [each for each in questions if not each.get("category", "").startswith("5")]  # they have no answer
    questions = random.Random(1).sample(questions, min(given.questions, len(questions)))
    async with Memory.open(url, user="everyone") as memory:
        if not await memory.count():
            await memory.remember([draft(row) for row in read(given.data / "corpus.jsonl")])
    queries.MOST_EXACT, large.CANDIDATES = 2000, given.candidates
    rows: list[dict[str, Any]] = []
    expected: list[list[str]] = []
    for how, largest in (("everything", 10**9), (f"{given.candidates} candidates", 0)):
        found, taken = await asked(url, largest, questions)
        expected = expected or found
        gold = [{f"{each['group']} {id}" for id in each["gold"]} for each in questions]
        pairs = list(zip(found, expected, strict=True))
        rows.append(
            {
                "ranked": how, "ms": taken,
                "same ten": sum(len(set(a) & set(b)) for a, b in pairs) / COUNT / len(pairs),
                "same first": sum(a[:1] == b[:1] for a, b in pairs) / len(pairs),
                "hit@10": sum(bool(ids & set(a)) for ids, a in zip(gold, found, strict=True)) / len(found),
            }
        )  # fmt: skip
    return rows


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--url", required=True)
    parser.add_argument("--questions", type=int, default=250)
    parser.add_argument("--candidates", type=int, default=large.CANDIDATES)
    given = parser.parse_args()
    common.report(asyncio.run(measure(given)), given.out)


if __name__ == "__main__":
    main()
