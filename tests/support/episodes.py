"""Episodes for tests, and programs that write them in processes of their own."""

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from memorist.adapters.llm_agents import Episode, JSONMemoryStore, Task, TaskResult

NOON = datetime(2026, 5, 30, 12, 0, 0)


def episode(instruction: str, result: str | None = "done", *, minutes: int = 0, **fields: Any) -> Episode:
    task = Task(id_=f"task of {instruction[:30]}", instruction=instruction)
    given = {
        "rollout": f"thought about {instruction[:30]}",
        "completed_at": NOON + timedelta(minutes=minutes),
        **fields,
    }
    ended = None if result is None else TaskResult(task_id=task.id_, content=result)
    return Episode(task=task, result=ended, **given)


def instructions(found: list[Episode]) -> list[str]:
    return [each.task.instruction for each in found]


def start(program: str, folder: Path) -> "Popen[str]":
    return Popen([sys.executable, __file__, program, str(folder)], stdout=PIPE, text=True)


async def write_for_ever(store: JSONMemoryStore) -> None:
    """Write, update and delete, and say each as it is acknowledged."""
    n = 0
    while True:
        made = episode(f"task {n} " + "x" * (n % 40) ** 2, id_=f"e{n}")
        await store.write(made)
        print("written", made.id_, flush=True)
        if n % 7 == 3:
            made.metadata["seen"] = "twice"
            await store.update(made)
            print("updated", made.id_, flush=True)
        if n % 5 == 4:
            await store.delete(made.id_)
            print("deleted", made.id_, flush=True)
        n += 1


def held(store: JSONMemoryStore) -> list[Episode]:
    """Return what a store holds in memory, oldest first."""
    return store._episodes


async def write_until_full(store: JSONMemoryStore) -> None:
    """Write, rewrite and delete where the file may not grow beyond 10,000 bytes; then check memory against file."""
    import resource  # of POSIX systems

    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    failures = 0
    for n in range(20):
        for work in (store.write, store.update):
            before = [each.model_dump_json() for each in held(store)]
            content = store.path.read_bytes() if store.path.exists() else b""
            try:
                await work(
                    episode(f"task {n}", "y" * 400, id_=f"e{n}", metadata={"by": work.__name__, "pad": "z" * 100})
                )
            except OSError:
                failures += 1
                assert store.path.read_bytes() == content
                assert [each.model_dump_json() for each in held(store)] == before
            except LookupError:
                pass
            except Exception as error:  # an update of what could not be written
                assert "not found" in str(error)
            in_file = held(JSONMemoryStore(store.path.parent))
            assert [each.model_dump_json() for each in in_file] == [each.model_dump_json() for each in held(store)]
    await store.delete("e0")  # there is room for less
    assert sorted(each.name for each in store.path.parent.iterdir()) == ["episodes.jsonl"]
    print(failures, await store.count(), flush=True)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](JSONMemoryStore(Path(sys.argv[2]))))
