"""A lock between event loops, and the adapters that need one."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memorist import Memory
from memorist.adapters.agentscope import Msg, ReMePersonalLongTermMemory
from memorist.system.locks import Lock
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def test_tasks_of_several_loops_enter_one_at_a_time() -> None:
    lock, inside, most = Lock(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            async with lock:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

    def of_one_loop() -> None:
        async def several() -> None:
            await asyncio.gather(work(), work())

        asyncio.run(several())

    with ThreadPoolExecutor(3) as threads:
        await asyncio.gather(*(asyncio.wrap_future(threads.submit(of_one_loop)) for _ in range(3)))
    assert (inside, most) == (0, 1)


async def test_the_first_to_come_is_the_first_to_enter_and_one_that_is_cancelled_stops_nobody() -> None:
    lock, entered = Lock(), list[int]()

    async def enter(number: int) -> None:
        async with lock:
            entered.append(number)

    async with lock:
        tasks = [asyncio.create_task(enter(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait([tasks[1]])
        assert entered == []
    await asyncio.gather(tasks[0], *tasks[2:])
    assert entered == [0, 2, 3]


async def test_agents_on_several_loops_record_in_one_memory(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    begun = threading.Barrier(3)
    async with (
        Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory,
        ReMePersonalLongTermMemory(user_name="alice", memory=memory) as personal,
    ):

        async def record(number: int) -> None:
            begun.wait(60)
            for each in range(3):
                await personal.record([Msg("alice", f"I like the tea {number} of shop {each}", "user")])

        with ThreadPoolExecutor(3) as threads:
            await asyncio.gather(
                *(asyncio.wrap_future(threads.submit(asyncio.run, record(number))) for number in range(3))
            )
        assert await memory.scoped(user="alice").count() == 9
    assert not [each for each in recwarn if "Error recording" in str(each.message)]
