"""Compare memories on the same rows, each in an environment of its own, with exact evidence and no judge.

    python bench/arena/run.py [--quick] [--systems NAME|FILE.py …] [--data FOLDER …] [--work FOLDER] [--here]

Every system is a file in `systems/`, or one of yours. Each runs by its own documented default where that works without
a key, and once with our embedder. Without `--data` the data sets of bench/data are asked. WORK, by default
`build/arena`, keeps environments, vectors and each cell with the versions that made it: a run that was stopped goes on
where it was, and only what changed is measured again. `--here` uses this Python's environment for all.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import report
from environments import Environment
from measure import BUDGETS, Data, scores
from systems_of import System, systems
from vectors import Vectors
from worker import ACKNOWLEDGED

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = "zanzibarquartz"
ENGLISH = "now_more"
"""Whose messages are stored where it is measured what that takes."""


@dataclass(frozen=True)
class Size:
    """How much is measured: quick is for a look, whole is what the README shows."""

    rows: int
    asked: int
    kills: int
    many: int
    seconds: int
    data: tuple[str, ...]
    cached: bool

    @property
    def measured(self) -> list[int]:
        """What changes a cell; a longer time limit does not."""
        return [self.rows, self.asked, self.kills, self.many]


QUICK = Size(200, 12, 3, 0, 300, ("now_more", "polyglot_more"), True)
WHOLE = Size(1000, 52, 20, 100_000, 1800, ("now_more", "polyglot_more", "now_dev", "polyglot_dev"), False)


class Arena:
    """Measures cell by cell, and keeps each."""

    def __init__(self, work: Path, size: Size, vectors: Vectors, every: int = 1) -> None:
        self.work, self.size, self.every = work, size, every
        self._vectors = vectors
        (work / "cells").mkdir(parents=True, exist_ok=True)

    def measure(self, system: System, place: Environment, data: Sequence[Data]) -> Iterator[tuple[str, str, Any]]:
        """Yield variant, name and result of each cell of a system."""
        yield "", "install", self._kept(system, place, "", "install", {}, lambda: self._first(system, place))
        for variant in system.variants:
            for name, job in self._jobs(system, place, variant, data).items():
                about = {"questions": self.every, "data": _digest(data) if name.startswith("answer") else ""}
                yield variant, name, self._kept(system, place, variant, name, about, job)

    def _jobs(self, system: System, place: Environment, variant: str, data: Sequence[Data]) -> dict[str, Any]:
        """Return what measures each cell of a variant, by the cell's name."""
        messages = self._messages(data)
        jobs: dict[str, Any] = {f"answer {each.name}": partial(self._answer, place, variant, each) for each in data}
        jobs["cost"] = partial(self._cost, place, variant, messages[: self.size.rows], 1)
        if self.size.many:
            jobs["many"] = partial(self._many, place, variant)
        if system.deletes:
            jobs["delete"] = partial(self._delete, place, variant, system.keeps)
        if system.keeps and system.lists:
            jobs["kills"] = partial(self._kills, place, variant, messages)
        return jobs

    def _kept(self, system: System, place: Environment, variant: str, name: str, about: Any, job: Any) -> Any:
        """Return a cell that was measured with the same versions, adapter and size, else measure it and keep it.

        What went wrong is tried again, but not what took longer than it may take now.
        """
        made_by = {"versions": place.versions(), "adapter": system.digest, "size": self.size.measured, **about}
        file = self.work / "cells" / f"{system.name}.{variant or 'any'}.{name.replace(' ', '.')}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"made_by": None}
        if kept["made_by"] == made_by and kept["result"].get("error") in (None, self._too_slow):
            return kept["result"]
        start = time.perf_counter()
        try:
            result = job()
        except WorkerError as error:
            result = {"error": str(error)}
        took = time.perf_counter() - start
        text = json.dumps({"made_by": made_by, "seconds": took, "result": result}, ensure_ascii=False)
        file.write_text(text + "\n", encoding="utf-8")
        print(f"{system.name:18}{variant:6}{name:24}{took:7.1f} s  {_brief(result)}", file=sys.stderr, flush=True)
        return result

    def _first(self, system: System, place: Environment) -> Any:
        """Return what was installed, and the seconds from the start of that to the first answer."""
        start = time.perf_counter()
        row = {"id": "a", "text": "She is allergic to nuts.", "said": "She is allergic to nuts.", "speaker": "user",
               "session": "s", "timestamp": "2025-01-01T10:00:00"}  # fmt: skip
        asked = [{"question": "What can she not eat?", "when": None, "key": "q", "of": "g", "own": True}]
        job = {"do": "answer", "groups": {"g": [row]}, "questions": asked, "budgets": [150]}
        self._run(place, "made_up" if "own" not in system.variants else "own", job)
        return {**place.weight(), "seconds": place.seconds + time.perf_counter() - start}

    def _answer(self, place: Environment, variant: str, data: Data) -> Any:
        questions = data.asked(self.every)
        groups = {name: rows for name, rows in data.groups.items() if any(each["of"] == name for each in questions)}
        job = {"do": "answer", "groups": groups, "questions": questions, "budgets": BUDGETS}
        return scores(data, self._run(place, variant, job))

    def _cost(self, place: Environment, variant: str, rows: Sequence[Any], batch: int, kind: str = "fresh") -> Any:
        questions = [
            f"What do you know about {row['said'][:60]}?" for row in rows[:: max(len(rows) // self.size.asked, 1)]
        ]
        job = {"do": "cost", "rows": rows, "batch": batch, "questions": questions[: self.size.asked]}
        return self._run(place, variant if variant == "own" else kind, job)

    def _many(self, place: Environment, variant: str) -> Any:
        """Return the same of made-up rows; their vectors mean nothing and cost next to nothing."""
        return self._cost(place, variant, list(_made_up(self.size.many)), 1000, "made_up")

    def _delete(self, place: Environment, variant: str, keeps: bool) -> Any:
        """Return how many of the deleted texts are still answered, and how many are left in the files."""
        rows = [
            {**row, "text": f"{MARK}{n} lives here", "said": f"{MARK}{n} lives here"}
            for n, row in enumerate(_made_up(60))
        ]
        gone = [row["id"] for row in rows[::3]]
        with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as folder:
            there = self._run(place, variant if variant == "own" else "made_up",
                              {"do": "delete", "rows": rows, "delete": gone}, folder)  # fmt: skip
            stored = b"\0".join(file.read_bytes() for file in (Path(folder) / "memory").rglob("*") if file.is_file())
        left = sum(f"{row['said'].split()[0]} ".encode() in stored for row in rows[::3])
        return {"deleted": len(gone), "answered": len(there), "left": left if keeps else None}

    def _kills(self, place: Environment, variant: str, rows: Sequence[Any]) -> Any:
        """Return how many acknowledged messages were gone after kills amid writing."""
        acknowledged, lost, chance = 0, 0, random.Random(0)
        kind = variant if variant == "own" else "made_up"
        for _ in range(self.size.kills):
            with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as folder:
                process = self._start(place, kind, {"do": "write", "rows": rows}, folder)
                lines = [process.stdout.readline()]
                until = time.monotonic() + chance.uniform(0.05, 0.8)
                while process.poll() is None and time.monotonic() < until:
                    lines.append(process.stdout.readline())
                ended = process.poll() is not None
                process.kill()
                rest, errors = process.communicate()
                if ended:
                    raise WorkerError(_last(errors))
                lines += rest.splitlines(keepends=True)
                told = {
                    line[len(ACKNOWLEDGED) : -1] for line in lines if line.startswith(ACKNOWLEDGED) and line[-1] == "\n"
                }
                there = set(self._run(place, kind, {"do": "list"}, folder))
                acknowledged, lost = acknowledged + len(told), lost + len(told - there)
        return {"kills": self.size.kills, "acknowledged": acknowledged, "lost": lost}

    @property
    def _too_slow(self) -> str:
        return f"not done within {self.size.seconds} s"

    def _run(self, place: Environment, variant: str, job: Mapping[str, Any], folder: str | None = None) -> Any:
        with tempfile.TemporaryDirectory(dir=self.work, ignore_cleanup_errors=True) as own:
            process = self._start(place, variant, job, folder or own)
            try:
                _, errors = process.communicate(timeout=self.size.seconds)
            except subprocess.TimeoutExpired as error:
                process.kill()
                process.communicate()
                raise WorkerError(self._too_slow) from error
            if process.returncode:
                raise WorkerError(_last(errors))
            return json.loads((Path(folder or own) / "arena-out.json").read_text(encoding="utf-8"))

    def _start(self, place: Environment, variant: str, job: Mapping[str, Any], folder: str) -> "subprocess.Popen[str]":
        embed = {"own": None, "ours": "ours"}.get(variant, variant)
        whole = Path(folder)
        given, out = whole / "arena-job.json", whole / "arena-out.json"
        (whole / "memory").mkdir(exist_ok=True)
        given.write_text(json.dumps({**job, "embed": embed, "folder": str(whole / "memory")}), encoding="utf-8")
        command = [place.python, str(HERE / "worker.py"), str(place.system.path), str(given), str(out)]
        environment = os.environ | self._vectors.environment | {"PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
        given_pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=environment, **given_pipes)

    @staticmethod
    def _messages(data: Sequence[Data]) -> list[Any]:
        chosen = next((each for each in data if each.name == ENGLISH), data[0])
        rows = [row for rows in chosen.groups.values() for row in rows]
        many = [dict(row, id=f"{turn}-{n}") for turn in range(1 + 1000 // len(rows)) for n, row in enumerate(rows)]
        return [row | {"text": f"{row['text']} ({row['id']})", "said": f"{row['said']} ({row['id']})"} for row in many]


class WorkerError(Exception):
    """A system did not do what was asked; the text says why."""


def _made_up(count: int) -> Iterator[dict[str, str]]:
    words = "coffee train garden sister budget deploy violin harbour recipe meeting winter lantern paper bridge".split()
    chance = random.Random(0)
    for number in range(count):
        said = f"message {number}: " + " ".join(chance.choices(words, k=12))
        yield {"id": str(number), "said": said, "text": said, "speaker": "user", "session": f"s{number // 50}",
               "timestamp": f"2025-{1 + number * 11 // count:02}-01T10:00:00"}  # fmt: skip


def _last(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it ended without a word"


def _brief(result: Any) -> str:
    if "error" in result:
        return f"not had: {result['error']}"
    return "" if all(isinstance(each, dict) for each in result.values()) else json.dumps(result)


def _digest(data: Sequence[Data]) -> str:
    return hashlib.sha256(repr([(each.groups, each.questions) for each in data]).encode()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything, under ten minutes")
    parser.add_argument(
        "--systems", nargs="+", metavar="NAME", help="names in systems/, or files; Memorist is always asked"
    )
    parser.add_argument("--data", type=Path, nargs="+", help="folders with corpus.jsonl and queries.jsonl")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every Nth question")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "arena")
    parser.add_argument("--here", action="store_true", help="install nothing: all are in this Python's environment")
    parser.add_argument("--write", action="store_true", help="write the tables and plots into the README")
    given = parser.parse_args()
    size = QUICK if given.quick else WHOLE
    data = [Data.read(folder) for folder in given.data or [HERE.parent / "data" / name for name in size.data]]
    work, results, start = given.work.resolve(), {}, time.perf_counter()
    work.mkdir(parents=True, exist_ok=True)
    with Vectors(work / "vectors") as vectors:
        arena = Arena(work, size, vectors, given.every)
        for system in systems(given.systems):
            try:
                place = Environment(system, work, here=given.here, cached=size.cached)
            except subprocess.CalledProcessError as error:
                results[system.name] = (system, {("", "install"): {"error": error.stderr.strip().splitlines()[-1]}})
                continue
            cells = {(variant, name): result for variant, name, result in arena.measure(system, place, data)}
            results[system.name] = (system, cells)
    whole = report.Report(results, data, size, time.perf_counter() - start)
    print(whole.tables())
    if given.write:
        whole.write(HERE / "README.md", ROOT / "docs" / "images" / "arena.png")
    print(whole.summary())


if __name__ == "__main__":
    main()
