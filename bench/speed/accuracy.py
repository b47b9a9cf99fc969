"""How often recall over a large scope finds the true ten nearest, and how fast beside a NumPy float32 scan.

    python bench/speed/accuracy.py [--rows 100000] [--data corpus.jsonl ... | --vectors vectors.npz ...]

Two sets of vectors of one scope: isotropic ones, the hardest for codes, and real embeddings. The real ones are made
by the default embedder from the "text" of each line of `--data`, or read from the first matrix of the `.npz` files
given. Where these are fewer than `--rows`, mixtures of two that follow each other (0.8 and 0.2) are added: they lie
where the texts lie. Questions are every so many-th vector, disturbed. A scope of more than 32,768 rows is kept as
one-byte codes, so this is the test of their guarantee; the scan runs on one thread and has no texts to fetch.
"""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Floats, Memory, clock, clock_async

from memorist.embedders import open_embedder

COUNT = 10
ASKED = 200


async def embedded(files: list[Path], most: int) -> Floats:
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [spoken for line in lines if (spoken := json.loads(line)["text"]).strip()]
    return await open_embedder().embed(texts[:most])


def read(files: list[Path]) -> Floats:
    matrices = []
    for file in files:
        with np.load(file) as arrays:
            matrices.append(next(arrays[name] for name in arrays.files if arrays[name].ndim == 2))
    joined: Floats = np.unique(np.concatenate(matrices).astype(np.float32), axis=0)
    return joined[np.random.default_rng(0).permutation(len(joined))]


def grown(vectors: Floats, rows: int) -> Floats:
    """As many rows as asked, mixtures after the real ones."""
    parts, have, step = [vectors[:rows]], min(len(vectors), rows), 1
    while have < rows:
        mixed = 0.8 * vectors + 0.2 * np.roll(vectors, step, axis=0)
        parts.append((mixed / np.linalg.norm(mixed, axis=1, keepdims=True))[: rows - have].astype(np.float32))
        have, step = have + len(parts[-1]), step + 1
    return np.concatenate(parts)


async def measure(name: str, vectors: Floats, folder: Path) -> dict[str, Any]:
    queries = vectors[:: max(len(vectors) // ASKED, 1)] + 0.5 * common.isotropic(1, 9, vectors.shape[1])
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    truth = common.exact(vectors, queries)
    async with Memory.open(folder / "memorist.db", embedder=common.embedder(vectors.shape[1])) as memory:
        scope = memory.scoped(user="whole")
        await common.fill(scope, vectors)

        async def call(turn: int) -> Any:
            return await scope.recall("x", vector=queries[turn % len(queries)], mode="dense", limit=COUNT)

        right = 0
        for turn, true in enumerate(truth):
            found = {int(hit.record.content.split()[-1]) for hit in await call(turn)}
            right += len(found & set(true.tolist()))
        ours = await clock_async(call)
    return {"vectors": name, "rows": len(vectors), "recall@10": right / COUNT / len(truth), "p50_ms": ours.p50}


def scanned(vectors: Floats) -> float:
    queries = common.near(vectors, ASKED)

    def call(turn: int) -> Any:
        scores = vectors @ queries[turn % ASKED]
        return np.argpartition(scores, -COUNT)[-COUNT:]

    return clock(call).p50


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--data", type=Path, nargs="+", help="lines of JSON with a text each")
    parser.add_argument("--vectors", type=Path, nargs="+", help=".npz files, instead of --data")
    given = parser.parse_args()
    sets = {"isotropic": common.isotropic(given.rows)}
    if given.vectors or given.data:
        real = read(given.vectors) if given.vectors else asyncio.run(embedded(given.data, given.rows))
        sets[f"real ({len(real):,} texts)"] = grown(real, given.rows)
    rows = []
    for name, vectors in sets.items():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            row = asyncio.run(measure(name, vectors, Path(folder)))
        row["numpy scan ms"] = scanned(vectors)
        rows.append(row | {"x faster": row["numpy scan ms"] / row["p50_ms"]})
    common.report(rows, given.out)


if __name__ == "__main__":
    main()
