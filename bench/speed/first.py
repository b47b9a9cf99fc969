"""How long the first answer of a process takes, against the rows behind one wall, and those after it.

    python bench/speed/first.py [--rows 1000 10000 100000 1000000] [--vectors clustered] [--folder STORES] [--chroma]
        [--runs 5] [--out first.json] [--image first.png]

Each answer is that of a new process on a finished file: ten records with their texts, by a vector that is given, so
that no embedder is loaded; the imports are over before the clock starts. "built" is from a file in which no index is
kept, "kept" from one in which it is. Processor time depends less on what else the machine does than the clock. "own" is
the memory that is the process's own, without mapped files; "scan" is the least that an exact answer over one-byte codes
takes, the products of one vector with so many codes, measured in the same run. A store of so many rows is made in
`--folder`, or taken from there.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import apsw
import common
import numpy as np
from common import Draft, Memory

ASKED = 20
MOST_BUILT = 100_000
"""Of more rows an index is built once, and Chroma is left out."""
LINES = (
    ("chroma first_cpu_ms", "Chroma's first", "#e15759", "-", "s"),
    ("built first_cpu_ms", "first, the index built from the records", "#9c9c9c", "-", "x"),
    ("kept first_cpu_ms", "first, the index read", "#1f6f8b", "-", "o"),
    ("kept later_cpu_ms", "later", "#1f6f8b", "--", "o"),
    ("scan_cpu_ms", "the products with one-byte codes alone", "#c9c9c9", ":", "."),
)


async def fill(path: Path, vectors: common.Floats) -> None:
    async with Memory.open(path, embedder=common.embedder()) as memory:
        await common.fill(memory, vectors)


async def read(path: Path, queries: common.Floats) -> dict[str, Any]:
    """Open the file and recall; run in a process of its own."""
    import simsimd  # noqa: F401

    begin = time.perf_counter()
    async with Memory.open(path, embedder=common.embedder()) as memory:
        opened = time.perf_counter() - begin
        await memory.lookup("nothing")
        times, found = [], []
        for query in queries:
            start, cpu = time.perf_counter(), time.process_time()
            hits = await memory.recall("x", vector=query, mode="dense", limit=10)
            times.append((time.perf_counter() - start, time.process_time() - cpu))
            found.append([int(hit.record.content.split()[-1]) for hit in hits])
        measured = {"own_mb": common.resident_mb("RssAnon"), "open_ms": opened * 1e3}
        written = []
        for number, query in enumerate(queries):
            start = time.perf_counter()
            record = await memory.remember(Draft(content=common.text(number), vector=query))
            written.append(time.perf_counter() - start)
            await memory.forget(record.id)
        measured["remember_ms"] = float(np.median(written)) * 1e3
    return measured | _summary(times) | {"found": found}


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


def asked(reader: str, path: Path, queries: Path, runs: int) -> dict[str, Any]:
    """Return the medians over some processes, and what the last of them found."""
    command = [sys.executable, __file__, "--read", reader, str(path), str(queries)]
    found = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(runs)]
    right = found[-1].pop("found", [])
    return {name: float(np.median([each[name] for each in found])) for name in found[-1]} | {"found": right}


def scan(rows: int) -> float:
    """Return the processor time, in ms, of the products of one vector with so many one-byte codes."""
    from simsimd import cdist

    codes = np.random.default_rng(0).integers(-127, 127, (rows, common.DIMENSIONS), np.int8)
    taken = []
    for _ in range(9):
        start = time.process_time()
        for first in range(0, rows, 32_768):
            cdist(codes[:1], codes[first : first + 32_768], metric="dot", out_dtype="float32")
        taken.append(time.process_time() - start)
    return float(np.median(taken)) * 1e3


def forget_index(path: Path) -> None:
    with apsw.Connection(str(path)) as connection:
        connection.execute("DELETE FROM segments; DELETE FROM kept_indexes").fetchall()


def measure(rows: int, given: Namespace, folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"rows": rows}
    path, asking = folder / f"{given.vectors}-{rows}.db", folder / "queries.npy"
    vectors = getattr(common, given.vectors)(rows)
    queries = common.near(vectors, ASKED)
    np.save(asking, queries)
    if not path.exists():
        asyncio.run(fill(path, vectors))
    truth = common.exact(vectors, queries)
    del vectors
    built = []
    for _ in range(given.runs if rows <= MOST_BUILT else 1):
        forget_index(path)
        built.append(asked("memorist", path, asking, 1))
    kept = asked("memorist", path, asking, given.runs)
    pairs = zip(kept.pop("found"), truth.tolist(), strict=True)
    row["recall@10"] = sum(len(set(found) & set(true)) for found, true in pairs) / truth.size
    row |= {f"built {name}": float(np.median([each[name] for each in built])) for name in kept}
    row |= {f"kept {name}": value for name, value in kept.items()}
    row |= {"scan_cpu_ms": scan(rows), "file MB": path.stat().st_size / 1e6}
    if given.chroma and rows <= MOST_BUILT:
        peer = folder / f"chroma-{rows}"
        fill_chroma(peer, rows)
        found = asked("chroma", peer, asking, given.runs)
        row |= {f"chroma {name}": value for name, value in found.items() if name != "found"}
        shutil.rmtree(peer)
    return row | {"load": os.getloadavg()[0]}


def draw(rows: list[dict[str, Any]], image: Path) -> None:
    lines = [
        ([(row["rows"], row[column]) for row in rows if column in row], common.look(*look)) for column, *look in LINES
    ]
    title = "The first answer of a process, and those after it"
    common.draw(lines, image, title=title, x="rows behind one wall", y="processor time, ms (median)")


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    arguments.add_argument("--vectors", choices=("clustered", "isotropic"), default="clustered")
    arguments.add_argument("--folder", type=Path, help="where the stores are, and stay")
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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        rows = [measure(count, given, given.folder or Path(folder)) for count in given.rows]
    common.report(rows, given.out)
    if given.image is not None:
        draw(rows, given.image)


if __name__ == "__main__":
    main()
