"""How each verb grows with the records behind one wall, as an exponent: 0 is flat, 1 grows as the records do.

    python bench/speed/growth.py [--rows 1000 10000 100000] [--before SRC] [--runs 3] [--out growth.json]
        [--image growth.png]

Each column is a store of so many notes with vectors, filled by the process that is measured; a new process opens it
and calls each verb. Times are processor time of the whole process, medians, but for `another's longest wait`, which is
on the clock: while a purge runs, another user stores one note after the other. `--before` names the `src` folder of
another version, whose processes take turns with this one's; "times less" compares the largest stores. A verb that grows
faster than it must is marked.
"""

import asyncio
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import common
from common import Draft, Memory

LINEAR = {"export", "purge", "browse(where)", "changes", "recall, first", "recall", "stored"}
"""What may grow as the records do: it reads or writes all of them, or may have to."""
_SLACK = 0.3
"""By how much an exponent may exceed what it must be: caches, the depth of trees, and noise."""
_WAIT = "another's longest wait"
Call = Callable[[int], Awaitable[Any]]


async def fill(path: Path, rows: int) -> float:
    """Store the records; return the seconds of processor time."""
    vectors = common.isotropic(4000)
    begin = time.process_time()
    async with Memory.open(path, embedder=common.embedder()) as memory:
        alice = memory.scoped(user="alice")
        for start in range(0, rows, common.BATCH):
            numbers = range(start, min(start + common.BATCH, rows))
            drafts = [
                Draft(content=common.text(n), vector=vectors[n % 4000], id=f"n{n}", metadata={"n": n}) for n in numbers
            ]
            await alice.remember(drafts)
        await alice.remember(
            [Draft(content=f"drawn {n}", vector=vectors[n], derived_from=[f"n{n}"], id=f"d{n}") for n in range(20)]
        )
        await alice.topics.set("topic", "a value")
    return time.process_time() - begin


async def measure(path: Path, rows: int) -> dict[str, float]:
    """Return the milliseconds of each verb in a store that is filled; the store is used up."""
    times: dict[str, float] = {}
    vectors = common.isotropic(4000)

    async def clock(name: str, call: Call, count: int = 9) -> None:
        taken = []
        for turn in range(count):
            begin = time.process_time()
            await call(turn)
            taken.append(time.process_time() - begin)
        times[name] = median(taken) * 1e3

    begin = time.process_time()
    async with Memory.open(path, embedder=common.embedder()) as memory:
        times["open"] = (time.process_time() - begin) * 1e3
        alice = memory.scoped(user="alice")
        calls: list[tuple[str, Call, int]] = [
            ("recall, first", lambda turn: alice.recall("x", vector=vectors[7], mode="dense"), 1),
            ("recall", lambda turn: alice.recall("violin", vector=vectors[turn]), 9),
            ("get", lambda turn: alice.get(f"n{turn * 17}"), 9),
            ("lookup", lambda turn: alice.lookup("topic"), 9),
            ("recent", lambda turn: alice.recent(10), 9),
            ("browse", lambda turn: alice.browse(limit=50), 9),
            ("browse(where)", lambda turn: alice.browse(where={"n": 5}), 3),
            ("count", lambda turn: alice.count(), 9),
            ("users", lambda turn: memory.admin.users(), 9),
            ("history", lambda turn: alice.history(f"n{turn}"), 9),
            ("derived", lambda turn: alice.derived(f"n{turn}"), 9),
            ("changes", lambda turn: alice.changes(limit=10), 1),
            ("remember", lambda turn: alice.remember(Draft(content=f"tea {turn}", vector=vectors[turn])), 9),
            ("revise", lambda turn: alice.revise(f"n{turn + 100}", metadata={"n": -1}), 9),
            ("rate", lambda turn: alice.rate(f"n{turn + 200}", 1), 9),
            ("forget", lambda turn: alice.forget(f"n{turn + 300}"), 9),
            ("forget(derived)", lambda turn: alice.forget(f"n{turn}", derived=True), 9),
            ("sweep", lambda turn: memory.admin.sweep(), 9),
        ]
        for name, call, count in calls:
            await clock(name, call, count)
        begin = time.process_time()
        lines = [line async for line in alice.export()]
        times["export"] = (time.process_time() - begin) * 1e3
        assert len(lines) > rows - 100
        times.update(await _purged(memory, vectors))
    return times


async def _purged(memory: Memory, vectors: common.Floats) -> dict[str, float]:
    """Purge, while another user stores; return the purge's processor time and the longest wait of the other."""
    other, waits = memory.scoped(user="bob"), [0.0]
    begin, spent = time.process_time(), 0.0
    purge = asyncio.create_task(memory.purge(user="alice"))
    while not purge.done():
        start = time.perf_counter()
        await other.remember(Draft(content="milk", vector=vectors[0]))
        waits.append(time.perf_counter() - start)
        await asyncio.sleep(0.05)
    await purge
    spent = time.process_time() - begin
    return {"purge": spent * 1e3, _WAIT: max(waits) * 1e3}


def run(source: Path, rows: int, runs: int, folder: Path) -> dict[str, float]:
    """Return the medians over some processes of one version."""
    path = folder / "growth.db"

    def child(*words: object) -> Any:
        environment = os.environ | {"PYTHONPATH": str(source)}
        command = [sys.executable, __file__, "--child", *map(str, words)]
        return json.loads(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

    stored = child("fill", path, rows)
    found = []
    for _ in range(runs):
        copy = folder / "copy.db"
        shutil.copy(path, copy)
        found.append(child("measure", copy, rows))
        for left in folder.glob("copy.db*"):
            left.unlink()
    for left in folder.glob("growth.db*"):
        left.unlink()
    return {"stored": stored * 1e3} | {name: median([each[name] for each in found]) for name in found[0]}


def exponent(times: dict[int, float]) -> float:
    """Return the slope between the smallest and the largest store, on logarithmic axes."""
    least, most = min(times), max(times)
    return math.log(times[most] / times[least]) / math.log(most / least)


def measure_all(given: Namespace) -> dict[str, dict[int, dict[str, float]]]:
    """Return the milliseconds of each version, number of records and verb."""
    versions = {"before": given.before, "now": Path(__file__).parents[2] / "src"}
    found: dict[str, dict[int, dict[str, float]]] = {name: {} for name, source in versions.items() if source}
    for rows in given.rows:
        for name in found:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True, dir=given.folder) as folder:
                found[name][rows] = run(versions[name].resolve(), rows, given.runs, Path(folder))
    return found


def table(found: dict[str, dict[int, dict[str, float]]]) -> list[dict[str, Any]]:
    lines = []
    most = max(found["now"])
    for verb in found["now"][most]:
        line: dict[str, Any] = {"verb": verb}
        for name, by_rows in found.items():
            line |= {f"{name}, {rows:,}": by_rows[rows][verb] for rows in by_rows}
        slope = exponent({rows: each[verb] for rows, each in found["now"].items()})
        line["exponent"] = round(slope, 2)
        if "before" in found:
            line["times less"] = round(found["before"][most][verb] / found["now"][most][verb], 1)
        must = 1 if verb in LINEAR else 0
        line["too fast"] = "!" if slope > must + _SLACK else ""
        lines.append(line)
    return lines


def picture(found: dict[str, dict[int, dict[str, float]]], image: Path) -> None:
    shown = ("purge", "export", "changes", "recall, first", "recall", "count", "forget", "derived", "get")
    colors = ("#e15759", "#f28e2b", "#b07aa1", "#1f6f8b", "#76b7b2", "#59a14f", "#edc948", "#9c755f", "#9c9c9c")
    lines = []
    for name, style in (("before", ":"), ("now", "-")):
        for verb, color in zip(shown, colors, strict=True):
            points = [(rows, each[verb]) for rows, each in found.get(name, {}).items()]
            label = verb if name == "now" else "_before"
            lines.append((points, common.look(label, color, style, "o")))
    common.draw(
        lines, image, title="Verbs against records (dotted: before)", x="records of the user", y="processor time, ms"
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        path, rows = Path(sys.argv[3]), int(sys.argv[4])
        print(json.dumps(asyncio.run((fill if sys.argv[2] == "fill" else measure)(path, rows))))
        return
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--before", type=Path, help="the folder `src` of another version")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the stores are made; the system's for temporary files")
    parser.add_argument("--image", type=Path, help="draw the table here")
    given = parser.parse_args()
    found = measure_all(given)
    common.report(table(found), given.out)
    if given.image is not None:
        picture(found, given.image)


if __name__ == "__main__":
    main()
