"""How long the first answer of a process takes, against the rows behind one wall, and those after it.

    python bench/speed/first.py [--rows 1000 10000 100000] [--chroma] [--runs 5] [--out first.json] [--image first.png]

Each answer is that of a new process on a finished file: ten records with their texts, by a vector that is given, so
that no embedder is loaded; the imports are over before the clock starts. "built" is from a file in which no index is
kept, "kept" from one in which it is. Processor time depends less on what else the machine does than the clock.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw
import common
import numpy as np
from common import Memory

ASKED = 20
LINES = (
    ("chroma first_cpu_ms", "Chroma's first", "#e15759", "-", "s"),
    ("built first_cpu_ms", "first, the index built from the records", "#9c9c9c", "-", "x"),
    ("kept first_cpu_ms", "first, the index read", "#1f6f8b", "-", "o"),
    ("kept later_cpu_ms", "later", "#1f6f8b", "--", "o"),
)


async def fill(path: Path, rows: int) -> None:
    async with Memory.open(path, embedder=common.embedder()) as memory:
        await common.fill(memory, common.clustered(rows))


async def read(path: Path, queries: common.Floats) -> dict[str, float]:
    """Open the file and recall; run in a process of its own."""
    import simsimd  # noqa: F401

    async with Memory.open(path, embedder=common.embedder()) as memory:
        await memory.count()
        times = []
        for query in queries:
            start, cpu = time.perf_counter(), time.process_time()
            await memory.recall("x", vector=query, mode="dense", limit=10)
            times.append((time.perf_counter() - start, time.process_time() - cpu))
        measured = {"rss_mb": common.resident_mb()}
    return measured | _summary(times)


def read_chroma(folder: Path, queries: common.Floats) -> dict[str, float]:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    collection = client.get_collection("notes", embedding_function=None)
    times = []
    for query in queries:
        start, cpu = time.perf_counter(), time.process_time()
        collection.query(query[None], n_results=10)
        times.append((time.perf_counter() - start, time.process_time() - cpu))
    return _summary(times)


def _summary(times: list[tuple[float, float]]) -> dict[str, float]:
    """Return the first answer's time on the clock and processor time, and the medians of the later ones."""
    first, later = times[0], np.median(times[1:], axis=0)
    names = ("first_ms", "first_cpu_ms", "later_ms", "later_cpu_ms")
    return {name: float(value) * 1e3 for name, value in zip(names, (*first, *later), strict=True)}


def fill_chroma(folder: Path, rows: int) -> None:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    collection = client.create_collection("notes", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    vectors = common.clustered(rows)
    for start in range(0, rows, 1000):
        some = range(start, min(start + 1000, rows))
        collection.add([str(n) for n in some], vectors[start : start + 1000], documents=[common.text(n) for n in some])


def asked(reader: str, path: Path, queries: Path, runs: int) -> dict[str, float]:
    """Return the medians over some processes."""
    command = [sys.executable, __file__, "--read", reader, str(path), str(queries)]
    found = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs)]
    return {name: float(np.median([each[name] for each in found])) for name in found[0]}


def forget_index(path: Path) -> None:
    with apsw.Connection(str(path)) as connection:
        connection.execute("DELETE FROM segments; DELETE FROM kept_indexes").fetchall()


def measure(rows: int, runs: int, chroma: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"rows": rows}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path, queries = Path(name) / "first.db", Path(name) / "queries.npy"
        np.save(queries, common.near(common.clustered(rows), ASKED))
        asyncio.run(fill(path, rows))
        built = []
        for _ in range(runs):
            forget_index(path)
            built.append(asked("memorist", path, queries, 1))
        row |= {f"built {name}": float(np.median([each[name] for each in built])) for name in built[0]}
        row |= {f"kept {name}": value for name, value in asked("memorist", path, queries, runs).items()}
        row["file MB"] = path.stat().st_size / 1e6
        if chroma:
            fill_chroma(Path(name) / "chroma", rows)
            found = asked("chroma", Path(name) / "chroma", queries, runs)
            row |= {f"chroma {name}": value for name, value in found.items()}
    return row


def draw(rows: list[dict[str, Any]], image: Path) -> None:
    lines = [
        ([(row["rows"], row[column]) for row in rows if column in row], common.look(*look)) for column, *look in LINES
    ]
    title = "The first answer of a process, and those after it"
    common.draw(lines, image, title=title, x="rows behind one wall", y="processor time, ms (median)")


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000])
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--chroma", action="store_true")
    arguments.add_argument("--image", type=Path)
    arguments.add_argument("--read", nargs=3)
    given = arguments.parse_args()
    if given.read is not None:
        reader, path, queries = given.read
        vectors = np.load(queries)
        found = read_chroma(Path(path), vectors) if reader == "chroma" else asyncio.run(read(Path(path), vectors))
        print(json.dumps(found))
        return
    rows = [measure(count, given.runs, given.chroma) for count in given.rows]
    common.report(rows, given.out)
    if given.image is not None:
        draw(rows, given.image)


if __name__ == "__main__":
    main()
