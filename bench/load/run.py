"""Load on a memory of your own choice, and what came of it: calls a second, milliseconds, errors, nothing lost.

    python bench/load/run.py [URL] [--processes 2] [--lanes 8] [--users 100] [--seconds 20] [--mix 70,20,5,5]
                             [--vectors 384] [--zipf 1.2]

URL is whatever `Memory.open` takes: a file (the default: a temporary one), postgresql://…. Each process
opens it and keeps so many lanes busy; each lane picks a user (few are asked often, as Zipf has it) and an operation:
remember, recall, lookup by id, revise, in these shares of a hundred. Vectors are made up, so that no embedder is
measured. At the end every record whose `remember` returned is read back. What is stored stays there, under the tenant
that `--tenant` names.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from memorist import Memory
from memorist.errors import ConflictError, MemoristError, NotFoundError
from memorist.records.record import Draft
from memorist.testing import HashEmbedder

OPERATIONS = ("remember", "recall", "get", "revise")
_WORDS = "coffee train garden sister budget deploy violin harbour recipe meeting winter lantern paper bridge".split()


class Lanes:
    """What one process does, and what it has seen."""

    def __init__(self, given: Namespace, process: int) -> None:
        self.given = given
        self.process = process
        self.chance = random.Random(process)
        self.numbers = np.random.default_rng(process)
        self.milliseconds: dict[str, list[float]] = {name: [] for name in OPERATIONS}
        self.errors: Counter[str] = Counter()
        self.stored: list[tuple[str, str]] = []
        shares = np.arange(1, given.users + 1, dtype=float) ** -given.zipf
        self.shares = shares / shares.sum()

    async def run(self) -> dict[str, Any]:
        async with Memory.open(
            self.given.url, embedder=HashEmbedder(self.given.vectors), tenant=self.given.tenant
        ) as memory:
            self.end = time.perf_counter() + self.given.seconds
            await asyncio.gather(*(self._lane(memory, lane) for lane in range(self.given.lanes)))
            lost = await self._lost(memory)
        return {"ms": self.milliseconds, "errors": self.errors, "lost": lost, "stored": len(self.stored)}

    async def _lane(self, memory: Memory, lane: int) -> None:
        turn = 0
        while time.perf_counter() < self.end:
            turn += 1
            user = f"user-{self.numbers.choice(self.given.users, p=self.shares)}"
            [operation] = self.chance.choices(OPERATIONS, self.given.mix)
            start = time.perf_counter()
            try:
                await self._do(memory, user, operation, f"{self.process}.{lane}.{turn}.{self.given.run}")
            except (ConflictError, NotFoundError):
                self.errors["conflict"] += 1
            except MemoristError as error:
                self.errors[type(error).__name__] += 1
            else:
                self.milliseconds[operation].append((time.perf_counter() - start) * 1e3)

    async def _do(self, memory: Memory, user: str, operation: str, name: str) -> None:
        text = " ".join(self.chance.choices(_WORDS, k=6)) + f" {name}"
        vector = self.numbers.standard_normal(self.given.vectors).astype(np.float32)
        if operation == "remember" or not self.stored:
            await memory.scoped(user=user).remember(Draft(content=text, vector=vector, id=name))
            self.stored.append((user, name))
        elif operation == "recall":
            await memory.scoped(user=user).recall(text, vector=vector, limit=5)
        else:
            owner, id = self.chance.choice(self.stored)
            if operation == "get":
                await memory.scoped(user=owner).get(id)
            else:
                await memory.scoped(user=owner).revise(id, metadata={"turn": name})

    async def _lost(self, memory: Memory) -> int:
        lost = 0
        for user, id in self.stored:
            lost += await memory.scoped(user=user).get(id) is None
        return lost


def one_process(given: Namespace, process: int) -> dict[str, Any]:
    return asyncio.run(Lanes(given, process).run())


def report(given: Namespace, seen: list[dict[str, Any]]) -> dict[str, Any]:
    rows = []
    for name in OPERATIONS:
        taken = np.array([value for each in seen for value in each["ms"][name]])
        if len(taken):
            p50, p95, p99 = np.percentile(taken, (50, 95, 99))
            rows.append({"operation": name, "calls": len(taken), "a second": len(taken) / given.seconds,
                         "p50_ms": p50, "p95_ms": p95, "p99_ms": p99})  # fmt: skip
    errors = sum((each["errors"] for each in seen), Counter[str]())
    print("| operation | calls | a second | p50 ms | p95 ms | p99 ms |\n|---|---|---|---|---|---|")
    for row in rows:
        print("| {operation} | {calls} | {a second:.0f} | {p50_ms:.1f} | {p95_ms:.1f} | {p99_ms:.1f} |".format(**row))
    stored, lost = (sum(each[name] for each in seen) for name in ("stored", "lost"))
    print(f"\n{stored} acknowledged, {lost} of them lost; errors: {dict(errors) or 'none'}")
    return {"rows": rows, "stored": stored, "lost": lost, "errors": dict(errors)}


def main() -> int:
    parser = ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--mix", type=lambda text: [float(part) for part in text.split(",")], default=[70, 20, 5, 5])
    parser.add_argument("--vectors", type=int, default=384, help="their dimensions")
    parser.add_argument("--zipf", type=float, default=1.2, help="0: every user is asked as often")
    parser.add_argument("--tenant", default="load")
    parser.add_argument("--out", type=Path, help="also write the results here, as JSON")
    given = parser.parse_args()
    given.run = f"{time.time_ns():x}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        given.url = given.url or str(Path(folder) / "load.db")
        with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
            seen = list(pool.map(one_process, [given] * given.processes, range(given.processes)))
    result = report(given, seen)
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
