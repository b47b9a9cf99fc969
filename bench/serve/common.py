"""A server in a process of its own, as users run it."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "from memorist.cli import main; main()"]
EMBEDDER = "hash"
"""So that what is measured is the way there and back, not a model."""


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    pid: int

    def cpu(self) -> float:
        """Return how many milliseconds of a processor it has used; to some ten, and only on Linux."""
        stat = Path("/proc", str(self.pid), "stat")
        if not stat.exists():
            return float("nan")
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(path: Path, *options: str, embedder: str = EMBEDDER) -> Iterator[Served]:
    """Run `memorist serve` on a file."""
    env = os.environ | {"MEMORIST_DB": str(path), "MEMORIST_EMBEDDER": embedder}
    command = [*COMMAND, "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().split()[2], process.pid)
        finally:
            process.terminate()
            process.wait()


async def clocked(call: Callable[[], Awaitable[Any]]) -> float:
    """Return how many milliseconds a call takes."""
    start = time.perf_counter()
    await call()
    return (time.perf_counter() - start) * 1000


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def show(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table as Markdown has them."""
    texts = [[f"{cell:,.2f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in [list(head), *texts]) for place in range(len(head))]
    lines = [head, ["-" * width for width in widths], *texts]
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
