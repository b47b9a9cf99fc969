"""What the speed benchmarks share: made-up records, a clock, tables, and one thread for the linear algebra."""

import asyncio
import json
import os
import platform
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import blas  # noqa: F401  # before numpy
import numpy as np
from numpy.typing import NDArray

from memorist import Memory
from memorist.records.record import Draft
from memorist.testing import HashEmbedder

Floats = NDArray[np.float32]
DIMENSIONS = 384
BATCH = 4000
_WORDS = "coffee train garden sister budget deploy violin harbour recipe meeting winter lantern paper bridge".split()


def isotropic(rows: int, seed: int = 0, dimensions: int = DIMENSIONS) -> Floats:
    """Unit vectors in every direction alike: the hardest for codes, since nothing stands out."""
    vectors = np.random.default_rng(seed).standard_normal((rows, dimensions), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def clustered(rows: int, seed: int = 0, centres: int = 1000) -> Floats:
    """Unit vectors around a thousand centres, as topics make them: cosine about 0.5 within one."""
    around = isotropic(centres, seed + 1)[np.random.default_rng(seed + 2).integers(centres, size=rows)]
    vectors = around + isotropic(rows, seed)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def near(vectors: Floats, count: int, seed: int = 3) -> Floats:
    """Queries: stored vectors, chosen at random and disturbed."""
    chosen = vectors[np.random.default_rng(seed).integers(len(vectors), size=count)]
    queries = chosen + isotropic(count, seed + 1, vectors.shape[1])
    return queries / np.linalg.norm(queries, axis=1, keepdims=True)


def text(number: int) -> str:
    """A short text for a record."""
    return " ".join(_WORDS[(number * step + step) % len(_WORDS)] for step in (1, 3, 5, 9)) + f" {number}"


def embedder(dimensions: int = DIMENSIONS) -> HashEmbedder:
    """An embedder that is never asked: every vector is given."""
    return HashEmbedder(dimensions)


async def fill(memory: Memory, vectors: Floats, first: int = 0) -> None:
    """Remember one note for each vector, in batches."""
    for start in range(0, len(vectors), BATCH):
        some = enumerate(vectors[start : start + BATCH], first + start)
        await memory.remember([Draft(content=text(number), vector=vector) for number, vector in some])


def exact(vectors: Floats, queries: Floats, count: int = 10) -> NDArray[np.intp]:
    """The true nearest rows of each query, in no order."""
    return np.stack([np.argpartition(vectors @ query, -count)[-count:] for query in queries])


class Times:
    """Milliseconds of some calls."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self.p50, self.p99 = (float(each) for each in np.percentile(np.asarray(seconds) * 1e3, (50, 99)))

    def plain(self) -> dict[str, float]:
        return {"p50_ms": round(self.p50, 4), "p99_ms": round(self.p99, 4)}


async def clock_async(call: Callable[[int], Awaitable[Any]], times: int = 200, seconds: float = 8.0) -> Times:
    """Time a call of the n-th argument, after three to warm up, for at most so long."""
    for turn in range(3):
        await call(turn)
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < times and (len(taken) < 5 or time.perf_counter() < end):
        start = time.perf_counter()
        await call(len(taken))
        taken.append(time.perf_counter() - start)
    return Times(taken)


def clock(call: Callable[[int], Any], times: int = 200, seconds: float = 8.0) -> Times:
    """Time a blocking call in the same way."""

    async def calling(turn: int) -> None:
        call(turn)

    return asyncio.run(clock_async(calling, times, seconds))


def resident_mb(kind: str = "VmRSS") -> float:
    """Memory that this process holds now; of the kind RssAnon its own, without the pages of mapped files."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    [line] = [each for each in status.read_text().splitlines() if each.startswith(kind)]
    return int(line.split()[1]) / 1024


def parser(description: str | None) -> ArgumentParser:
    """A command line with what every benchmark takes."""
    made = ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--out", type=Path, help="also write the results here, as JSON")
    return made


def report(rows: Sequence[Mapping[str, Any]], out: Path | None) -> None:
    """Print a table, and write it where `out` says."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(_shown(row.get(name)) for name in columns) + " |")
    if out is not None:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "machine": platform.machine()}
        out.write_text(json.dumps({"machine": machine, "rows": list(rows)}, indent=1) + "\n")


def draw(lines: Iterable[tuple[Any, Mapping[str, Any]]], image: Path, *, title: str, x: str, y: str) -> None:
    """Draw lines of points on logarithmic axes; each comes with its look, as Matplotlib's `plot` takes it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    figure, axes = plt.subplots(figsize=(8, 5), dpi=150)
    for points, look in lines:
        if points:
            axes.plot(*zip(*sorted(points), strict=True), **look)
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.set_title(title, loc="left")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    image.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image)
    Image.open(image).convert("RGB").quantize(32).save(image, optimize=True)  # a quarter of the bytes


def look(label: str, color: str, linestyle: str, marker: str) -> dict[str, Any]:
    """How a line is drawn."""
    return {"label": label, "color": color, "linestyle": linestyle, "marker": marker}


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)
