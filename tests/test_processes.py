import asyncio
import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import apsw
import pytest

from children import (
    Program,
    finish,
    fork_and_open,
    hold_locked,
    hold_open,
    open_and_store,
    open_memory,
    purge_user,
    reindex,
    revise_often,
    start,
    write_and_read,
)
from locks import LOCKS
from memorist.errors import EmbedderMismatchError, StoreBusyError
from memorist.memory import Memory
from opening import connect_to, store_at

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def together(count: int, program: Program, path: Path, *arguments: object) -> list[list[str]]:
    """Run a program several times at once, each with a name of its own, from when all are ready."""
    named = [(f"p{n}", *arguments) for n in range(count)] if arguments else [()] * count
    processes = [start(program, path, *given) for given in named]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        tell(process, "go")
    return [finish(process) for process in processes]


def tell(process: "Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def answer(process: "Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


async def test_processes_write_and_read_at_once(path: Path) -> None:
    assert together(3, write_and_read, path, 40) == [["done"]] * 3
    async with open_memory(path) as memory:
        assert await memory.count() == 120


async def test_processes_open_a_new_file_at_once(path: Path) -> None:
    for turn in range(2):
        new = path.with_name(f"{turn}.db")
        assert together(4, open_and_store, new) == [["done"]] * 4
        async with open_memory(new) as memory:
            assert await memory.count() == 4


async def test_a_new_file_that_another_process_is_making_is_waited_for(path: Path) -> None:
    other = connect_to(path)
    other.execute("BEGIN IMMEDIATE")  # SQLite itself refuses at once here, whatever its time-out
    done = threading.Timer(0.3, other.close)
    done.start()
    async with open_memory(path) as memory:
        assert await memory.remember("Tea")
    done.join()


async def test_a_new_file_that_another_process_never_finishes_is_given_up(path: Path) -> None:
    with closing(connect_to(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="locked by another process"):
            await store_at(path, busy_timeout=0.1).open()


@pytest.mark.posix
@pytest.mark.parametrize("load", [False, True])
async def test_a_forked_child_that_opens_the_file_anew_has_locks_of_its_own(path: Path, load: bool) -> None:
    answers = finish(start(fork_and_open, path, int(load)))
    assert answers[:2] == ["locked by the child", "stored by the child"]
    assert answers[2:] == ["locked by the parent"]
    async with open_memory(path) as memory:
        assert sorted({record.content for record in await memory.recent(1000)})[-3:] == [
            "By another process", "By the child, afterwards", "By the parent"
        ]  # fmt: skip


async def test_a_long_wait_says_what_is_waited_for(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.stores.sqlite.waiting._SILENCE", 0.05)
    async with open_memory(path) as memory:
        holder = start(hold_locked, path)
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "locked\n"
        writing = asyncio.create_task(memory.remember("Tea"))
        while not caplog.records:  # noqa: ASYNC110  # it is logged by a thread
            await asyncio.sleep(0.01)
        [told] = caplog.records
        assert f"waiting up to 30 seconds for {path}" in told.getMessage()
        assert not LOCKS.exists() or told.getMessage().endswith(f"locked by process {holder.pid}")
        holder.stdin.write("end\n")
        holder.stdin.flush()
        assert (await writing).content == "Tea"
        finish(holder)
        await memory.remember("Milk")
        assert len(caplog.records) == 1


async def test_the_command_says_on_stderr_what_it_waits_for(path: Path) -> None:
    holder = start(hold_locked, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    command = [sys.executable, "-m", "memorist", "--db", str(path), "--embedder", "hash", "remember", "Tea"]
    environment = {**os.environ, "MEMORIST_BUSY_TIMEOUT": "2"}
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, env=environment)
    first, *_, last = done.stderr.splitlines()
    assert "waiting up to 2 seconds" in first and str(path) in first
    assert "locked by another process for too long" in last
    finish(holder)


async def test_a_purge_waits_while_another_process_copies_the_log(path: Path) -> None:
    waiting, over = threading.Event(), threading.Event()

    def busy(_turn: int) -> bool:
        waiting.set()
        return over.wait(60)

    async with open_memory(path) as memory:
        await memory.remember("Tea")
        with closing(connect_to(path)) as reader, closing(connect_to(path)) as other:
            reader.execute("BEGIN; SELECT count(*) FROM records")
            await memory.remember("Milk")  # which cannot all be copied while the reader reads what was before
            other.execute("SELECT count(*) FROM records").fetchall()  # only now it knows of the log
            other.set_busy_handler(busy)
            copying = threading.Thread(target=other.wal_checkpoint, kwargs={"mode": apsw.SQLITE_CHECKPOINT_RESTART})
            copying.start()
            assert waiting.wait(60)

            def end() -> None:
                reader.close()
                over.set()

            done = threading.Timer(0.3, end)
            done.start()
            gone = await memory.purge(shared=True)  # SQLite itself refuses at once here, whatever its time-out
            assert gone.purged == 2
            done.join()
            copying.join()


async def test_an_opening_that_is_cancelled_leaves_nothing_open(path: Path) -> None:
    other = connect_to(path)
    other.execute("BEGIN IMMEDIATE")
    before = set(threading.enumerate())
    memory = open_memory(path)
    opening = asyncio.create_task(memory.__aenter__())
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.sleep(0)
    opening.cancel()
    other.close()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "memorist-write"]
    async with open_memory(path) as memory:
        assert await memory.remember("Tea")


async def test_processes_revise_one_record_at_once(path: Path) -> None:
    async with open_memory(path) as memory:
        record = await memory.remember("Tea")
        processes = [start(revise_often, path, record.id, f"p{n}", 40) for n in range(3)]
        for process in processes:
            answer(process)
        for process in processes:
            tell(process, "go")
        for n in range(20):
            await memory.revise(record.id, metadata={"n": n}, source=f"here.{n}")
        assert [finish(process) for process in processes] == [["done"]] * 3

        last = await memory.get(record.id)
        assert last is not None
        assert last.version == 1 + 3 * 40 + 20
        assert last.metadata == {"n": 19}
        sources = {change.source for change in await memory.history(record.id)}
        assert sources >= {f"p{n}.{m}" for n in range(3) for m in range(40)} | {f"here.{n}" for n in range(20)}


async def test_one_process_sees_at_once_what_another_wrote(path: Path) -> None:
    async with open_memory(path) as memory:
        alice = memory.scoped(user="alice")
        process = start(hold_open, path, "alice")
        assert answer(process) == "0"
        for n in range(5):
            record = await alice.remember(f"secret {n}")
            tell(process, "secret")
            assert answer(process) == str(n + 1)
        await alice.forget(record.id)
        tell(process, "secret")
        assert answer(process) == "4"
        process.communicate()


async def test_a_purge_empties_the_caches_of_other_processes(path: Path) -> None:
    async with open_memory(path) as memory:
        alice = memory.scoped(user="alice")
        await alice.remember(["secret one", "secret two"])
        assert len(await alice.recall("secret")) == 2
        held = start(hold_open, path, "alice")
        assert answer(held) == "2"

        assert finish(start(purge_user, path, "alice")) == ["2"]

        assert await alice.recall("secret") == []
        tell(held, "secret")
        assert answer(held) == "0"
        await alice.remember("secret three")
        tell(held, "secret")
        assert answer(held) == "1"
        held.communicate()


async def test_after_a_reindex_elsewhere_the_old_embedder_is_refused(path: Path) -> None:
    async with open_memory(path) as memory:
        record = await memory.remember("secret")
        assert len(await memory.recall("secret")) == 1

        assert finish(start(reindex, path, 32)) == ["1"]

        for call in (memory.remember("another"), memory.recall("secret"), memory.revise(record.id, content="other")):
            with pytest.raises(EmbedderMismatchError, match="hash-32"):
                await call
        assert await memory.get(record.id) == record
        assert await memory.count() == 1
        await memory.rate(record.id, 1)  # needs no vector
    with pytest.raises(EmbedderMismatchError):
        async with open_memory(path):
            pass


async def test_two_memories_on_one_file_in_one_process(path: Path) -> None:
    async with open_memory(path) as one, open_memory(path) as two:
        record = await one.remember("Tea")
        assert [hit.record for hit in await two.recall("tea")] == [record]
        await two.revise(record.id, content="Milk")
        [hit] = await one.recall("milk")
        assert hit.record.content == "Milk"
        await one.forget(record.id)
        assert await two.recall("milk") == []
        assert isinstance(one, Memory)
