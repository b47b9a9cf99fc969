"""How PostgreSQL can carry out every statement of every verb: none must read a table, but for a reason."""

import re
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.record import Draft, Record
from memorist.testing import HashEmbedder

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

REASONS = {
    "strpos(": "a purge searches everything for what may be left",
}
"""What statements that read all of a table have in common, and why they do."""
OF_A_WALL = {
    ".walls WHERE": "a wall has one row there",
    "AS ids(id)": "what is derived is few, and has an index of its own",
}
"""Likewise of those that are about named records, and read all of a wall."""
_STATEMENT = re.compile(rb"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_WHOLE = re.compile(r"Seq Scan on (?:\w+\.)?(?:records|indexed|words|changes|quotes|walls|staged)")
_WALL_ALONE = re.compile(r"Index Cond: \(\(tenant = '[^']*'::text\) AND \(user_name = '[^']*'::text\)\)")


class Asked:
    """The statements that were run, with the values of the first time."""

    def __init__(self) -> None:
        self.values: dict[bytes, Any] = {}

    def plans(self, server: "Server", url: str) -> dict[str, str]:
        """Return how each is carried out where PostgreSQL reads a whole table only if it must."""
        from pgvector.psycopg import register_vector

        found = {}
        with server.connect(database=urlsplit(url).path.strip("/")) as connection:
            register_vector(connection)
            connection.execute("ANALYZE")
            connection.execute("SET enable_seqscan = off")
            for query, values in self.values.items():
                lines = connection.execute(b"EXPLAIN " + query, values).fetchall()
                found[query.decode()] = "\n".join(line for (line,) in lines)
        return found


@pytest.fixture
async def database(server: "Server") -> str:
    return server.new_url()


@pytest.fixture
async def memory(database: str) -> AsyncIterator[Memory]:
    async with Memory.open(database, embedder=HashEmbedder(), keep_traces="7d") as opened:
        await opened.scoped(user="bob").remember([Draft(content=f"milk {n}") for n in range(2000)])
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Asked:
    """Note what is asked from now on."""
    import psycopg

    noted, execute = Asked(), psycopg.AsyncCursor.execute

    async def noting(cursor: Any, query: Any, params: Any = None, **how: Any) -> Any:
        if isinstance(query, bytes) and _STATEMENT.match(query):
            noted.values.setdefault(query, params)
        return await execute(cursor, query, params, **how)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", noting)
    return noted


def without_reason(plans: dict[str, str], reads: re.Pattern[str], reasons: Iterable[str]) -> dict[str, str]:
    return {
        query: plan
        for query, plan in plans.items()
        if reads.search(plan) and not any(reason in query for reason in reasons)
    }


async def said(memory: Memory) -> list[Record]:
    """Store messages of a conversation, and two notes that are drawn from the first."""
    talk = [
        Draft(content=f"tea {n}", kind="message", session="s", payload={"role": "user"}, metadata={"n": n})
        for n in range(300)
    ]
    records = await memory.remember(talk)
    await memory.remember([Draft(content=f"drawn {n}", derived_from=[records[0].id]) for n in range(2)])
    return records


async def test_what_is_named_is_found_without_reading_its_wall(
    server: "Server", database: str, memory: Memory, asked: Asked
) -> None:
    alice = memory.scoped(user="alice")
    records = await said(alice)
    asked.values.clear()
    assert await alice.get(records[3].id)
    assert await alice.history(records[3].id)
    assert len((await alice.derived(records[0].id)).alone) == 2
    await alice.revise(records[1].id, content="milk")
    await alice.rate(records[1].id, 1)
    assert (await alice.browse(session="s", limit=3)).records
    assert (await alice.browse(limit=3)).next
    assert await memory.admin.sweep() == 0
    assert await alice.forget(records[4].id) == 1
    plans = asked.plans(server, database)
    assert len(plans) > 10
    assert without_reason(plans, _WALL_ALONE, OF_A_WALL) == {}
    assert without_reason(plans, _WHOLE, ()) == {}


async def test_a_statement_that_reads_all_of_a_table_has_a_reason(
    server: "Server", database: str, memory: Memory, asked: Asked
) -> None:
    alice = memory.scoped(user="alice")
    records = await said(alice)
    await alice.remember(Draft(content="new", supersedes=records[2].id))
    await alice.topics.set("k", "v")
    await alice.lookup("k")
    narrowings: list[dict[str, Any]] = [{}, {"session": "s"}, {"from_source": "x"}]
    for narrowed in narrowings:
        await alice.recall("tea", **narrowed)
        await alice.count(**narrowed)
        await alice.browse(**narrowed)
    await alice.context("tea")
    await alice.changes()
    await alice.why(records[0].id)
    await memory.browse(everyone=True, order="key")
    await alice.browse(order="oldest", limit=1)
    await memory.admin.users()
    assert (await alice.admin.traces()).traces
    await alice.ask(requests.Remember(records=(Draft(content="later"),), embed="later"))
    await memory.admin.reindex(missing=True)
    await alice.forget(records[0].id, derived=True)
    await alice.forget(key_prefix="k", kind="topic")
    await memory.purge(user="alice")
    plans = asked.plans(server, database)
    assert len(plans) > 40
    assert without_reason(plans, _WHOLE, REASONS) == {}
    assert all(any(reason in query for query in plans) for reason in REASONS)
