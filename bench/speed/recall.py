"""How long vector recall takes, beside Chroma, Qdrant's local mode and a scan with NumPy.

    python bench/speed/recall.py [--rows 1000 10000 100000] [--peers chroma qdrant numpy] [--out recall.json]

Each store gets the same rows: N of one scope ("whole") and, between them, N/100 of one user ("one"), with a vector
of 384 dimensions and a short text. The peers search the whole without a filter and the one with theirs. Asked are the
ten nearest, texts and metadata fetched, through the public call: `recall(..., vector=..., mode="dense")`,
`collection.query(query_embeddings=..., where=...)`, `client.query_points(..., query_filter=...)`. Memorist runs in a
process of its own on the finished file, so that neither its memory nor its first answer owes anything to the loading.
Qdrant holds its points in memory, which is kinder to it: its files are flushed point by point. `numpy` is a float32
matrix on one thread with `argpartition`, texts in a list: the least that an exact answer takes without codes. `r@10`
is the share of the true ten that were found, `x ours` how many times longer a peer takes.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Floats, Memory, Times, clock, clock_async

Queries = Mapping[str, Floats]
COUNT = 10
ASKED = 50
BETWEEN = 50
"""In so many places the user's rows lie between the others."""


def pieces(whole: Floats, one: Floats) -> Iterator[tuple[str, int, Floats]]:
    """Yield (user, number of the first, vectors) in the order of storing."""
    for piece in range(BETWEEN):
        for user, vectors in (("whole", whole), ("one", one)):
            first, last = (len(vectors) * step // BETWEEN for step in (piece, piece + 1))
            if last > first:
                yield user, first, vectors[first:last]


class Result:
    """What was measured of one engine."""

    def __init__(self, engine: str, rows: int) -> None:
        self.row: dict[str, Any] = {"engine": engine, "rows": rows}

    def add(self, scope: str, times: Times, found: list[list[int]], truth: Any) -> None:
        right = [len(set(some) & set(map(int, true))) / COUNT for some, true in zip(found, truth, strict=True)]
        self.row |= {f"{scope} {name}": value for name, value in times.plain().items()}
        self.row[f"{scope} r@10"] = round(float(np.mean(right)), 4)


async def fill_memorist(path: Path, whole: Floats, one: Floats) -> float:
    start = time.perf_counter()
    async with Memory.open(path, embedder=common.embedder()) as memory:
        for user, first, vectors in pieces(whole, one):
            await common.fill(memory.scoped(user=user), vectors, first)
    return time.perf_counter() - start


async def read_memorist(path: Path, queries: Queries) -> dict[str, Any]:
    """Open the finished file and recall; run in a process of its own."""
    before = common.resident_mb()
    start = time.perf_counter()
    memory = await Memory.open(path, embedder=common.embedder())
    measured: dict[str, Any] = {"open_ms": (time.perf_counter() - start) * 1e3}
    for user in ("one", "whole"):
        scope = memory.scoped(user=user)

        async def call(turn: int, scope: Memory = scope, asked: Floats = queries[user]) -> Any:
            return await scope.recall("x", vector=asked[turn % len(asked)], mode="dense", limit=COUNT)

        start = time.perf_counter()
        await call(0)
        first = (time.perf_counter() - start) * 1e3
        found = [[int(hit.record.content.split()[-1]) for hit in await call(turn)] for turn in range(ASKED)]
        times = await clock_async(call, 300)
        measured[user] = {"first_ms": first, "found": found, "p50": times.p50, "p99": times.p99}
    measured["rss_mb"], measured["rss_before_mb"] = common.resident_mb(), before
    await memory.close()
    return measured


def memorist(whole: Floats, one: Floats, queries: Queries, truth: dict[str, Any], folder: Path) -> dict[str, Any]:
    path, asked = folder / "memorist.db", folder / "queries.npz"
    seconds = asyncio.run(fill_memorist(path, whole, one))
    np.savez(asked, **queries)
    child = subprocess.run(
        [sys.executable, __file__, "--read", path, asked], capture_output=True, text=True, check=True
    )
    measured = json.loads(child.stdout)
    result = Result("memorist", len(whole))
    for user in ("one", "whole"):
        times = Times([measured[user]["p50"] / 1e3])
        times.p99 = measured[user]["p99"]
        result.add(user, times, measured[user]["found"], truth[user])
        result.row[f"{user} first_ms"] = measured[user]["first_ms"]
    result.row |= {"load rows/s": (len(whole) + len(one)) / seconds, "open_ms": measured["open_ms"]}
    result.row |= {"rss_mb": measured["rss_mb"], "of it at start": measured["rss_before_mb"]}
    result.row["file MB"] = path.stat().st_size / 1e6
    return result.row


def chroma(whole: Floats, one: Floats, queries: Queries, truth: dict[str, Any], folder: Path) -> dict[str, Any]:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
    collection = client.create_collection("notes", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    start = time.perf_counter()
    for user, first, vectors in pieces(whole, one):
        for at in range(0, len(vectors), 1000):
            some = range(first + at, first + at + len(vectors[at : at + 1000]))
            collection.add(
                [f"{user}{number}" for number in some],
                vectors[at : at + 1000],
                [{"user": user, "number": number} for number in some],
                [common.text(number) for number in some],
            )
    seconds = time.perf_counter() - start

    def call(user: str, turn: int) -> Any:
        query = queries[user][turn % ASKED][None]
        return collection.query(query, n_results=COUNT, where={"user": user} if user == "one" else None)

    def numbers(user: str, turn: int) -> list[int]:
        return [each["number"] for each in call(user, turn)["metadatas"][0] if each["user"] == user]

    return _peer("Chroma", whole, one, truth, seconds, call, numbers)


def qdrant(whole: Floats, one: Floats, queries: Queries, truth: dict[str, Any], folder: Path) -> dict[str, Any]:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=whole.shape[1], distance=models.Distance.COSINE)
    client.create_collection("notes", vectors_config=size)
    start, identity = time.perf_counter(), 0
    for user, first, vectors in pieces(whole, one):
        points = [
            models.PointStruct(
                id=identity + place,
                vector=vector.tolist(),
                payload={"user": user, "number": first + place, "text": common.text(first + place)},
            )
            for place, vector in enumerate(vectors)
        ]
        client.upsert("notes", points)
        identity += len(points)
    seconds = time.perf_counter() - start
    condition = models.FieldCondition(key="user", match=models.MatchValue(value="one"))

    def call(user: str, turn: int) -> Any:
        chosen = models.Filter(must=[condition]) if user == "one" else None
        query = queries[user][turn % ASKED].tolist()
        return client.query_points("notes", query, query_filter=chosen, limit=COUNT).points

    def numbers(user: str, turn: int) -> list[int]:
        return [each.payload["number"] for each in call(user, turn) if each.payload["user"] == user]

    return _peer("Qdrant local", whole, one, truth, seconds, call, numbers)


def numpy(whole: Floats, one: Floats, queries: Queries, truth: dict[str, Any], folder: Path) -> dict[str, Any]:
    matrices = {"whole": whole, "one": one}
    texts = {user: [common.text(number) for number in range(len(matrix))] for user, matrix in matrices.items()}

    def call(user: str, turn: int) -> Any:
        scores = matrices[user] @ queries[user][turn % ASKED]
        nearest = np.argpartition(scores, -COUNT)[-COUNT:]
        return [(texts[user][number], scores[number]) for number in nearest[np.argsort(-scores[nearest])]]

    def numbers(user: str, turn: int) -> list[int]:
        return [int(content.split()[-1]) for content, _ in call(user, turn)]

    return _peer("numpy float32 scan", whole, one, truth, None, call, numbers)


def _peer(
    name: str, whole: Floats, one: Floats, truth: dict[str, Any], seconds: float | None,
    call: Callable[[str, int], Any], numbers: Callable[[str, int], list[int]],
) -> dict[str, Any]:  # fmt: skip
    result = Result(name, len(whole))
    for user in ("one", "whole"):
        # The answers of a slow engine are checked on fewer questions.
        times = clock(lambda turn, user=user: call(user, turn), 100)  # type: ignore[misc]
        checked = ASKED if times.p50 < 50 else 5
        found = [numbers(user, turn) for turn in range(checked)]
        result.add(user, times, found, truth[user][:checked])
    if seconds is not None:
        result.row["load rows/s"] = (len(whole) + len(one)) / seconds
    return result.row


def measure(rows: int, peers: list[str]) -> list[dict[str, Any]]:
    whole, one = common.clustered(rows), common.clustered(max(rows // 100, COUNT), seed=50)
    queries = {"whole": common.near(whole, ASKED), "one": common.near(one, ASKED)}
    truth = {"whole": common.exact(whole, queries["whole"]), "one": common.exact(one, queries["one"])}
    known = {"memorist": memorist, "chroma": chroma, "qdrant": qdrant, "numpy": numpy}
    measured = []
    for name in ["memorist", *peers]:
        print(f"{name}, {rows:,} rows", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            measured.append(known[name](whole, one, queries, truth, Path(folder)))
    ours = measured[0]
    for row in measured[1:]:
        for user in ("one", "whole"):
            row[f"{user} x ours"] = row[f"{user} p50_ms"] / ours[f"{user} p50_ms"]
    return measured


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--peers", nargs="*", default=["chroma", "qdrant", "numpy"])
    parser.add_argument("--read", type=Path, nargs=2, help="of a child process: a file and its queries")
    given = parser.parse_args()
    if given.read:
        print(json.dumps(asyncio.run(read_memorist(given.read[0], dict(np.load(given.read[1]))))))
        return
    common.report([row for rows in given.rows for row in measure(rows, given.peers)], given.out)


if __name__ == "__main__":
    main()
