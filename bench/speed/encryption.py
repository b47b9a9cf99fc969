"""What encryption costs: the same work on a plain and on an encrypted file, in turn.

    python bench/speed/encryption.py [--rows 10000] [--runs 5] [--out encryption.json]

It needs apsw-sqlite3mc in apsw's place (see docs/encryption.md). Vectors are given, so that no embedder hides the
difference. Medians; processor time depends less on what else the machine does than the clock.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import common
from common import Memory

from memorist.stores.keys import new_key

FILES = ("plain", "encrypted")
_AT_A_TIME = 200


async def measure(path: Path, key_from: str | None, vectors: common.Floats) -> dict[str, float]:
    times = {}

    def lap(name: str, since: tuple[float, float], calls: int = 1) -> tuple[float, float]:
        clock, cpu = time.perf_counter(), time.process_time()
        times[f"{name}, ms"] = (clock - since[0]) * 1000 / calls
        times[f"{name}, CPU ms"] = (cpu - since[1]) * 1000 / calls
        return time.perf_counter(), time.process_time()

    queries = common.near(vectors, _AT_A_TIME)
    async with Memory.open(path, key_from=key_from, embedder=common.embedder()) as memory:
        start = time.perf_counter(), time.process_time()
        await common.fill(memory, vectors)
        start = lap(f"storing {len(vectors):,} in batches", start)
        for number in range(_AT_A_TIME):
            await memory.remember(common.text(number), vector=vectors[number])
        start = lap("remember", start, _AT_A_TIME)
        await memory.recall("x", vector=queries[0], mode="dense", limit=10)
        start = time.perf_counter(), time.process_time()
        for query in queries:
            await memory.recall("x", vector=query, mode="dense", limit=10)
        lap("recall", start, _AT_A_TIME)
    start = time.perf_counter(), time.process_time()
    async with Memory.open(path, key_from=key_from, embedder=common.embedder()) as memory:
        start = lap("opening", start)
        await memory.recall("x", vector=queries[0], mode="dense", limit=10)
        lap("first recall", start)
    return times | {"file, MB": path.stat().st_size / 1e6}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    os.environ["BENCH_KEY"] = new_key()
    vectors = common.clustered(arguments.rows)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in FILES}
    for run in range(arguments.runs):
        for name in FILES if run % 2 else reversed(FILES):
            with tempfile.TemporaryDirectory() as folder:
                key_from = "env:BENCH_KEY" if name == "encrypted" else None
                runs[name].append(asyncio.run(measure(Path(folder) / "memory.db", key_from, vectors)))
    rows = []
    for what in runs["plain"][0]:
        plain, encrypted = (median(each[what] for each in runs[name]) for name in FILES)
        rows.append({"what": what, "plain": plain, "encrypted": encrypted, "ratio": encrypted / plain})
    common.report(rows, arguments.out)


if __name__ == "__main__":
    main()
