"""What runs inside a system's own environment: it needs the standard library and the system's file alone.

    python worker.py SYSTEM.py JOB.json OUT.json

JOB names what is done: `answer` stores rows and asks questions; `cost` stores rows one by one and asks; `write` stores
rows one by one and prints each id when it is acknowledged; `list` prints what is there; `delete` deletes rows.
"""

import importlib.util
import itertools
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import vectors

DEEPEST = 60
ACKNOWLEDGED = "stored "
Job = dict[str, Any]


def load(path: Path) -> ModuleType:
    """Return a system's file as a module."""
    spec = importlib.util.spec_from_file_location(f"arena_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(f"there is no system at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(system: ModuleType, job: Job, embed: Any) -> Any:
    """Return, question by question, the ids found and, of a system that makes contexts, the text for each budget."""
    found = []
    for number, (name, rows) in enumerate(job["groups"].items()):
        folder = Path(job["folder"]) / str(number)
        folder.mkdir()
        memory = system.Memory(str(folder), embed)
        memory.add(rows)
        for asked in job["questions"]:
            if asked["of"] != name:
                continue
            hits = memory.search(asked["question"], min(DEEPEST, len(rows)), asked["when"])
            each = {"key": asked["key"], "ids": list(dict.fromkeys(id for id, _ in hits))}
            if hasattr(memory, "context"):
                budgets = job["budgets"] if asked["own"] else job["budgets"][-1:]
                each["told"] = {str(b): memory.context(asked["question"], b, asked["when"]) for b in budgets}
            found.append(each)
        memory.close()
    return found


def cost(system: ModuleType, job: Job, embed: Any) -> Any:
    """Return what storing rows one after the other takes, and a question then."""
    memory = system.Memory(job["folder"], embed)
    warm, rest = job["rows"][:1], job["rows"][1:]
    memory.add(warm)  # the first loads models and makes tables
    start, clock = _cpu(embed), time.perf_counter()
    for first in range(0, len(rest), job["batch"]):
        memory.add(rest[first : first + job["batch"]])
    memory.search("Is it ready?", 10, None)  # some make their index at the first question
    stored, waited = _cpu(embed) - start, time.perf_counter() - clock
    took = []
    for number, question in enumerate(job["questions"]):
        begin = time.perf_counter()
        memory.search(question, 10, None)
        if number >= 2:
            took.append(1000 * (time.perf_counter() - begin))
    memory.close()
    size = sum(file.stat().st_size for file in Path(job["folder"]).rglob("*") if file.is_file())
    return {"cpu": stored, "seconds": waited, "bytes": size, "ms": sorted(took)[len(took) // 2], "rows": len(rest)}


def _cpu(embed: Any) -> float:
    return time.process_time() + (embed.cpu if embed else 0.0)


def write(system: ModuleType, job: Job, embed: Any) -> Any:
    """Store rows, over and over under new ids, until the process is killed; print each id when it is acknowledged."""
    memory = system.Memory(job["folder"], embed)
    for turn in itertools.count():
        for row in job["rows"]:
            new = {**row, "id": f"{turn}:{row['id']}", "text": f"{row['text']} {turn}", "said": f"{row['said']} {turn}"}
            memory.add([new])
            print(f"{ACKNOWLEDGED}{new['id']}", flush=True)


def list_(system: ModuleType, job: Job, embed: Any) -> Any:
    """Return the ids of all that is stored."""
    memory = system.Memory(job["folder"], embed)
    ids = sorted(memory.ids())
    memory.close()
    return ids


def delete(system: ModuleType, job: Job, embed: Any) -> Any:
    """Store rows, delete some of them, and close."""
    memory = system.Memory(job["folder"], embed)
    memory.add(job["rows"])
    for id in job["delete"]:
        memory.delete(id)
    left = sorted(memory.ids() & set(job["delete"]))
    memory.close()
    return left


JOBS = {"answer": answer, "cost": cost, "write": write, "list": list_, "delete": delete}


def main() -> None:
    path, job_file, out = map(Path, sys.argv[1:4])
    job = json.loads(job_file.read_text(encoding="utf-8"))
    os.chdir(job["folder"])  # what a system writes where it stands
    embed = vectors.Connected(job["embed"]) if job["embed"] else None
    result = JOBS[job["do"]](load(path.resolve()), job, embed)
    out.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
