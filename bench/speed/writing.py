"""How long a durable write takes, beside a bare SQLite insert, and how many there are when 32 write at once.

    python bench/speed/writing.py [--writes 300] [--folder .]

Every call gives its vector of 384 dimensions and returns when the record is on disk. `bare insert` is the same row,
the same columns and the vector, into one table without an index or history: apsw, WAL, synchronous=FULL. `the same
bytes` inserts it with a blob that makes the log grow as Memorist's write does (its indexes, its text index and its
change log are pages, too). The rounds of all alternate, since a disk's mood changes: compare within a run. `fsync`
is the disk alone, one page written and flushed. `cpu_ms` is processor time, the median of the rounds: it hardly
depends on the disk. By default the files lie in the system's temporary folder; name a `--folder` on the disk in
question where that is a RAM disk.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import common
import numpy as np
from common import Floats, Memory, Times

ROUNDS = 5
AT_ONCE = 32
COLUMNS = 23
TOGETHER = f"remember, {AT_ONCE} at once"
PAGES = 15
"""Pages that one write of Memorist's adds to the log, the bare insert's two aside."""


def bare(path: Path, ballast: int = 0) -> Callable[[Floats, int], None]:
    connection = apsw.Connection(str(path))
    connection.execute(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON"
    ).fetchall()
    names = ", ".join(f"c{column}" for column in range(COLUMNS))
    connection.execute(f"CREATE TABLE records (number INTEGER PRIMARY KEY, {names}, vector BLOB, ballast BLOB)")
    insert = f"INSERT INTO records VALUES (NULL, {','.join('?' * (COLUMNS + 2))})"

    def write(vector: Floats, number: int) -> None:
        moment = time.time_ns() // 1000
        texts = (os.urandom(16).hex(), "note", common.text(number), "{}", "{}")
        numbers = (1, number, 0, moment, moment, moment, 1)
        nothing = (None,) * (COLUMNS - len(texts) - len(numbers))
        connection.execute(insert, (*texts, *numbers, *nothing, vector.tobytes(), bytes(ballast)))

    return write


def flushing(path: Path) -> Callable[[Floats, int], None]:
    file = os.open(path, os.O_CREAT | os.O_WRONLY)

    def write(_vector: Floats, _number: int) -> None:
        os.write(file, bytes(8192))
        os.fsync(file)

    return write


async def measure(folder: Path, writes: int) -> list[dict[str, Any]]:
    vectors = common.isotropic(writes)
    blocking = {
        "fsync of one page": flushing(folder / "page"),
        "bare insert": bare(folder / "bare.db"),
        "bare insert, the same bytes": bare(folder / "heavy.db", PAGES * 8192),
    }
    taken: dict[str, list[float]] = {name: [] for name in (*blocking, "remember", TOGETHER)}
    worked: dict[str, list[float]] = {name: [] for name in taken}

    @contextmanager
    def working(name: str, writes: int) -> Iterator[None]:
        start = time.process_time()
        yield
        worked[name].append((time.process_time() - start) / writes * 1e3)

    async with Memory.open(folder / "memorist.db", embedder=common.embedder()) as memory:
        alice = memory.scoped(user="alice")
        await common.fill(alice, common.isotropic(1000, 1))

        async def some(mine: range) -> None:
            for number in mine:
                await alice.remember(common.text(number), vector=vectors[number])

        share = writes // ROUNDS
        for turn in range(ROUNDS):
            numbers = range(turn * share, (turn + 1) * share)
            for name, write in blocking.items():
                with working(name, share):
                    for number in numbers:
                        start = time.perf_counter()
                        write(vectors[number], number)
                        taken[name].append(time.perf_counter() - start)
            with working("remember", share):
                for number in numbers:
                    start = time.perf_counter()
                    await some(range(number, number + 1))
                    taken["remember"].append(time.perf_counter() - start)
            start = time.perf_counter()
            with working(TOGETHER, share * AT_ONCE):
                await asyncio.gather(*(some(numbers) for _ in range(AT_ONCE)))
            taken[TOGETHER].append((time.perf_counter() - start) / len(numbers) / AT_ONCE)
    return [_row(name, seconds, worked[name], taken["remember"]) for name, seconds in taken.items()]


def _row(name: str, seconds: list[float], worked: list[float], alone: list[float]) -> dict[str, Any]:
    mean = float(np.mean(seconds))
    row: dict[str, Any] = {
        "write": name,
        "writes/s": 1 / mean,
        "cpu_ms": float(np.median(worked)),
        "mean_ms": mean * 1e3,
    }
    if name == TOGETHER:
        return row | {"x one at a time": float(np.mean(alone)) / mean}
    return row | Times(seconds).plain()


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="where the files are made, and removed again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder, ignore_cleanup_errors=True) as folder:
        common.report(asyncio.run(measure(Path(folder), given.writes)), given.out)


if __name__ == "__main__":
    main()
