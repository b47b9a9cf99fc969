"""Programs that tests run in processes of their own: each takes a file's path and what it needs."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from inside import core_of
from locks import locked
from memorist.errors import FormatError, NotFoundError, StoreError, WaitingError
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.testing import HashEmbedder
from opening import KEY, KEY_FROM, connect_to

BATCH = 7
Program = Callable[..., Awaitable[None]]


def start(program: Program, path: Path, *arguments: object) -> "Popen[str]":
    """Run one of these programs; it says what it does line by line."""
    command = [sys.executable, __file__, program.__name__, str(path), *map(str, arguments)]
    return Popen(command, stdin=PIPE, stdout=PIPE, text=True)


def finish(process: "Popen[str]") -> list[str]:
    """Wait for a program's end and return what it said."""
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, f"exit status {process.returncode}"
    return out.splitlines()


def open_memory(path: str | Path, **given: Any) -> Memory:
    return Memory.open(path, embedder=HashEmbedder(), **given)


def say(*words: object) -> None:
    print(*words, flush=True)


async def write_for_ever(path: str, name: str) -> None:
    """Store singles, batches and revisions, and say each as it is acknowledged."""
    async with open_memory(path) as memory:
        say("open")

        async def singles(lane: int) -> None:
            n = 0
            while True:
                record = await memory.remember(f"{name} {lane} {n} " + "x" * (n % 50) ** 2)
                say("single", record.id)
                if n % 3 == 0:
                    await memory.revise(record.id, content=f"revised {name} {lane} {n}")
                    say("revised", record.id)
                if n % 5 == 0:
                    await memory.forget(record.id)
                    say("forgotten", record.id)
                n += 1

        async def batches() -> None:
            n = 0
            while True:
                drafts = [Draft(content=f"{name} batch {n}.{m}", key=f"{name}.{n}.{m}") for m in range(BATCH)]
                await memory.remember(drafts)
                say("batch", f"{name}.{n}")
                n += 1

        await asyncio.gather(singles(0), singles(1), batches())


async def write_and_read(path: str, name: str, count: str) -> None:
    """Store notes and find each again at once, while others do likewise."""
    async with open_memory(path) as memory:
        say("open")
        sys.stdin.readline()
        for n in range(int(count)):
            record = await memory.remember(f"{name} note {n}")
            hits = await memory.recall(f"{name} note {n}", limit=1000)
            assert record.id in {hit.record.id for hit in hits}
    say("done")


async def revise_often(path: str, id: str, name: str, count: str) -> None:
    """Revise one record again and again."""
    async with open_memory(path) as memory:
        say("open")
        sys.stdin.readline()
        for n in range(int(count)):
            await memory.revise(id, content=f"{name} {n}", source=f"{name}.{n}")
    say("done")


async def hold_open(path: str, user: str) -> None:
    """Keep the file open and what was read of it in mind; tell on demand what is to be found."""
    async with open_memory(path, user=user) as memory:
        hits = await memory.recall("secret", limit=100)
        say(len(hits))
        while line := sys.stdin.readline():
            hits = await memory.recall(line, limit=100)
            say(len(hits))


async def do_as_told(path: str) -> None:
    """Carry out each word of the standard input, and say when it is done: purge, dry, import, store."""
    from memorist.imports import load

    async with open_memory(path) as memory:
        await memory.remember("Tea")
        say("open")
        while word := sys.stdin.readline().strip():
            if word in ("purge", "dry"):
                await memory.purge(user="alice", dry_run=word == "dry")
                say(word)
            elif word == "import":
                with suppress(FormatError):  # nothing but the database is there
                    await load(memory, Path(path).parent)
                say(word)
            else:
                say((await memory.remember(f"Note {word}")).id)


async def store_and_close(path: str, count: str) -> None:
    """Store notes and close, as a short command does."""
    async with open_memory(path) as memory:
        for n in range(int(count)):
            say((await memory.remember(f"From another process {n}")).id)


async def write_and_purge(path: str, name: str, seed: str) -> None:
    """Store for ever, with a purge of a user of its own, a recall, a backup or an import now and then.

    Each record is said when it is acknowledged, and each purge before it begins: what it takes away is not missed.
    """
    from memorist.imports import load

    chance = random.Random(f"{name} {seed}")
    async with open_memory(path) as memory:
        say("open")
        for turn in range(1_000_000):
            user = f"{name}-{seed}-{turn}"
            victim = memory.scoped(user=user)
            for n in range(chance.randrange(1, 8)):
                say("kept", (await memory.remember(f"{name} {seed} {turn}.{n} " + "x" * chance.randrange(3000))).id)
                say("victims", user, (await victim.remember(f"{user} {n}")).id)
            await asyncio.gather(memory.recall("x"), *(memory.remember(f"{user} together {n}") for n in range(3)))
            if (what := chance.randrange(6)) < 3:
                say("purging", user)
                await memory.purge(user=user, dry_run=what == 0)
                if what:
                    say("purged", user)
            elif what == 3:
                with suppress(FormatError):
                    await load(memory, Path(path).parent)


async def fork_and_open(path: str, load: str) -> None:
    """Fork with the memory open, perhaps while it reads and writes; the child opens it anew and outlives the parent's.

    Meanwhile another process comes and goes, which would delete the log if the child had no locks.
    """
    import threading

    async with open_memory(path) as memory:
        await memory.remember("By the parent")
        working = [asyncio.create_task(memory.remember(f"And {n}")) for n in range(500 * int(load))]
        await asyncio.sleep(0.01)
        told, telling = os.pipe()
        if (child := os.fork()) == 0:
            done = threading.Thread(target=_in_the_child, args=(path, told))  # where no event loop runs
            done.start()
            done.join()
            os._exit(0)
        await asyncio.gather(*working)
    await asyncio.to_thread(subprocess.run, [sys.executable, __file__, "store_one", path], check=True)
    os.write(telling, b"x")
    await asyncio.to_thread(os.waitpid, child, 0)
    async with open_memory(path):
        say("locked by the parent" if locked(Path(path)) else "not locked by the parent")


def _in_the_child(path: str, told: int) -> None:
    async def work() -> None:
        async with open_memory(path) as memory:
            say("locked by the child" if locked(Path(path)) else "not locked by the child")
            await memory.count()
            os.read(told, 1)  # the parent has closed the memory, and another process has used it
            await memory.remember("By the child, afterwards")
            say("stored by the child")
            os._exit(0)  # as if killed

    asyncio.run(work())


async def store_one(path: str) -> None:
    async with open_memory(path) as memory:
        await memory.remember("By another process")


async def hold_locked(path: str) -> None:
    """Keep others from writing, until the standard input ends."""
    async with open_memory(path):
        connection = connect_to(path)
        connection.execute("BEGIN IMMEDIATE")
        say("locked")
        sys.stdin.readline()
        connection.close()


async def purge_user(path: str, user: str) -> None:
    async with open_memory(path) as memory:
        say((await memory.purge(user=user)).purged)


async def purge_until_killed(path: str, user: str, step: str, where: str) -> None:
    """Purge, and end as if killed in the step of that number, before its commit or after it; say how many there are.

    With `where` "hold" it waits there until it is told to go on, and says so.
    """
    from memorist.stores.sqlite import purging
    from memorist.stores.sqlite.connections import Connections

    purging.BATCH_ROWS, purging.MERGED_PAGES = 20, 1
    write, left, steps = Connections.write_now, int(step), 0

    def counted(connections: Connections, work: Callable[[Any], Any], *, alone: bool = False) -> Any:
        nonlocal steps
        steps += 1
        if steps != left:
            return write(connections, work, alone=alone)
        if where == "hold":
            say("held")
            sys.stdin.readline()
            return write(connections, work, alone=alone)
        if where == "before":
            return write(connections, lambda connection: (work(connection), os._exit(0)), alone=alone)
        write(connections, work, alone=alone)
        os._exit(0)

    Connections.write_now = counted  # type: ignore[method-assign, assignment]
    async with open_memory(path) as memory:
        say("purging")
        await memory.purge(user=user)
        say("purged")


async def reindex(path: str, dimensions: str) -> None:
    from memorist.config import Settings

    settings = Settings(url=path, embedder=HashEmbedder(int(dimensions)), reindexing=True, key_from=KEY_FROM)
    async with Memory.open(settings=settings) as memory:
        say(await memory.admin.reindex())


async def open_and_store(path: str) -> None:
    """Wait for the word, and then open a file that is not there yet."""
    say("ready")
    sys.stdin.readline()
    async with open_memory(path) as memory:
        await memory.remember("Tea")
    say("done")


async def grow(path: str, most: str) -> None:
    """Store until no file may grow any more, then be allowed to and go on."""
    import resource  # of POSIX systems, as the signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with open_memory(path) as memory:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), resource.RLIM_INFINITY))
        try:
            while True:
                say("stored", (await memory.remember("x" * 20_000)).id)
        except StoreError as error:
            say("refused", type(error).__name__)
        assert await memory.count() > 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        say("stored", (await memory.remember("y" * 20_000)).id)


async def approve_when_told(path: str, *ids: str) -> None:
    """Approve what waits in the inbox, while another process does, and say what was stored."""
    async with open_memory(path) as memory:
        say("open")
        sys.stdin.readline()
        for id in ids:
            with suppress(NotFoundError):  # the other was faster
                say(*(each.id for each in await memory.admin.approve(id)))


async def approve_until_killed(path: str, id: str, writes: str, user: str | None = None) -> None:
    """Approve what waits in the inbox, and end as if killed after so many writes."""
    async with open_memory(path, user=user) as memory:
        store = core_of(memory).store
        write, left = store.write, int(writes)

        async def counted(*given: Any, **more: Any) -> Any:
            nonlocal left
            done, left = await write(*given, **more), left - 1
            if left == 0:
                os._exit(0)
            return done

        store.write = counted  # type: ignore[method-assign]
        await memory.admin.approve(id)


async def ask_for_ever(path: str, name: str) -> None:
    """Let an agent ask, and the user keep, change nothing, or drop, and say each as it is acknowledged."""
    async with open_memory(path, confirm=True) as memory:
        say("open")
        for n in range(1_000_000):
            with suppress(WaitingError):
                await memory.remember(f"{name} {n}", proposed=True)
            say("waits", name, n)
            if n % 3:
                [*_, last] = await memory.admin.inbox()
                await (memory.admin.approve(last.id) if n % 3 == 1 else memory.admin.reject(last.id))
                say("approved" if n % 3 == 1 else "rejected", name, n)


async def keep_for_ever(path: str) -> None:
    """Store, revise and forget, and ask after each, with an index that is kept every few records."""
    from memorist.recall import persistence

    persistence.KEPT_FROM, persistence.SEGMENT_ROWS = 5, 16
    while True:
        async with open_memory(path) as memory:
            say("open")
            for n in range(8):
                records = await memory.remember([f"coffee train {n} {m}" for m in range(20)])
                await memory.recall("coffee")
                await memory.revise(records[3].id, content=f"garden {n}")
                await memory.forget(records[5].id)
                await memory.recall("train")


async def migrate_when_told(path: str) -> None:
    import apsw

    from memorist.stores.sqlite.schema import MIGRATIONS, migrate

    def add(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE added (x)")
        say("migrating")
        sys.stdin.readline()

    connection = connect_to(path)
    connection.set_busy_timeout(120_000)
    say("ready")
    sys.stdin.readline()
    migrate(connection, Path(path), [*MIGRATIONS, add], key=KEY)
    say(connection.pragma("user_version"))
    connection.close()


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
