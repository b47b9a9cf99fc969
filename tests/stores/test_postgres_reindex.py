"""A reindex beside purges, removals and another reindex: each waits for the other, and nothing is left or mixed."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from memorist.records.times import now
from memorist.stores.base import Staged
from memorist.stores.postgres import PostgresStore, parse_url, reindexing, writes
from memorist.stores.postgres.libpq import Connection
from memorist.testing.contract.base import ALICE, ALL, DIMENSIONS, FINGERPRINT, NOON, make_record, put, vector_of

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

NEXT, OTHER = "next-v1", "other-v1"


@asynccontextmanager
async def two_clients(server: "Server") -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Open two stores on the same five records."""
    url = server.new_url(pool_size=2, purge="delete")
    one, two = (PostgresStore(parse_url(url)) for _ in range(2))
    try:
        for each in (one, two):
            await each.open()
            await each.bind(FINGERPRINT, DIMENSIONS)
        await one.write(ALICE, [put(make_record(f"{n}")) for n in range(5)])
        yield one, two
    finally:
        for each in (one, two):
            await each.close()


async def staged(store: PostgresStore, fingerprint: str) -> list[Staged]:
    """Return new vectors for every record that has none, with more terms than before."""
    rows = await store.to_reembed(fingerprint, 9)
    return [Staged(ALICE, number, version, vector_of("x"), "a b c d e f") for number, version, _ in rows]


async def beside(
    server: "Server", store: PostgresStore, work: Callable[[Connection], Awaitable[Any]], call: Awaitable[Any]
) -> None:
    """Run `work` in a transaction that is committed only when the call, begun meanwhile, is done or waits for it."""
    worked, called = threading.Event(), threading.Event()

    async def held(connection: Connection) -> None:
        await work(connection)
        await (await connection.execute("SELECT 1")).fetchone()  # all of it has been carried out
        worked.set()
        with server.connect() as other:
            while not called.is_set() and other.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
                pass

    holding = asyncio.create_task(store._upkeep(held))
    await asyncio.to_thread(worked.wait)
    await call
    called.set()
    await holding


def rows_in(server: "Server", store: PostgresStore, query: str) -> list[tuple[Any, ...]]:
    with server.connect() as connection:
        return connection.execute(query.format(s=store.options.schema).encode()).fetchall()


async def test_what_is_purged_meanwhile_is_not_staged(server: "Server") -> None:
    async with two_clients(server) as (one, two):
        rows = await staged(two, NEXT)
        schema = one.options.schema
        await beside(
            server, one, lambda it: writes.purge(it, schema, ALICE, None, now, named=True), two.stage(NEXT, rows)
        )
        assert rows_in(server, one, "SELECT * FROM {s}.staged") == []


async def test_what_is_removed_meanwhile_is_counted_off_as_it_was_counted(server: "Server") -> None:
    async with two_clients(server) as (one, two):
        await one.stage(NEXT, await staged(one, NEXT))
        schema = one.options.schema
        await beside(
            server, one, lambda it: reindexing.adopt(it, schema, NEXT, DIMENSIONS), two.remove(ALICE, ALL, at=NOON)
        )
        assert rows_in(server, one, "SELECT entries, length FROM {s}.walls") == [(0, 0)]


async def test_another_reindex_does_not_take_vectors_staged_meanwhile_for_its_own(server: "Server") -> None:
    async with two_clients(server) as (one, two):
        rows = await staged(one, NEXT)
        schema = one.options.schema
        await beside(server, one, lambda it: reindexing.stage(it, schema, NEXT, rows), two.to_reembed(OTHER, 9))
        assert await two.left_to_reembed(OTHER) == 5
        assert await two.adopt(OTHER, DIMENSIONS) is False
