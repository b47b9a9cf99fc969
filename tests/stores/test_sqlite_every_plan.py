"""How SQLite carries out every statement of every verb: no statement reads a wall or a table, but for a reason."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.record import Draft, Record
from memorist.stores.sqlite.connections import Connections
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

REASONS = {
    "sqlite_schema": "its tables are few",
    "FROM purges": "one row for each purge that is under way",
    "json_each(metadata": "a condition on metadata names fields that no index has",
    "instr(": "a purge searches everything for what may be left",
    "LEFT JOIN records USING (wall, number)": "a check reads everything",
    "length(vector)": "a check reads everything",
    "EXCEPT": "a check counts everything",
    "staged": "a reindex reads everything",
    "ORDER BY key": "keys of several kinds are sorted: one index would be written for each record with a key",
    "substr(source": "a source is compared by its beginning, up to a colon",
    "LEFT JOIN indexed AS i": "an index of a wall is made of all of its records, once",
}
"""What statements that read all of something have in common, and why they do."""
_STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_READS_ALL = re.compile(
    r"SCAN (?!CONSTANT|sqlite_sequence|walls$|\w+ (?:EXISTS )?VIRTUAL|\(subquery|\w+ USING INDEX indexed_later)"
    r"|SEARCH (?:records|indexed|changes|r|i) USING"
    r" (?:PRIMARY KEY|INDEX records_by_epoch|INDEX changes_by_record) \(wall=\?\)"
)


class Plans:
    """The steps of each statement that was run, by its text."""

    def __init__(self) -> None:
        self.of: dict[str, list[str]] = {}

    def watch(self, connection: apsw.Connection) -> None:
        def explain(cursor: apsw.Cursor, query: str, bindings: Any) -> bool:
            if _STATEMENT.match(query) and "sqlite_stat1" not in query:
                steps = cursor.connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)
                self.of.setdefault(re.sub(r"(\?,)+", "?,", query), [str(step[-1]) for step in steps])
            return True

        connection.exec_trace = explain

    def reading_all(self) -> dict[str, list[str]]:
        """Return the statements that read all of something, with their steps."""
        return {query: steps for query, steps in self.of.items() if any(map(_READS_ALL.search, steps))}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), keep_traces="7d") as opened:
        yield opened


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Plans:
    """Watch what is read and written from now on."""
    watched = Plans()

    def watching(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(connections: Connections, work: Any, **how: Any) -> Any:
            def seen(connection: apsw.Connection) -> Any:
                watched.watch(connection)
                return work(connection)

            return read(connections, seen, **how)

        return reading

    carry_out = Connections._attempt

    def attempt(connections: Connections, job: Any, **how: Any) -> Any:
        watched.watch(connections._writing)
        return carry_out(connections, job, **how)

    for name in ("read", "_read_apart"):
        monkeypatch.setattr(Connections, name, watching(getattr(Connections, name)))
    monkeypatch.setattr(Connections, "_attempt", attempt)
    return watched


async def said(memory: Memory) -> list[Record]:
    """Store messages of a conversation, and two notes that are drawn from the first."""
    talk = [
        Draft(content=f"tea {n}", kind="message", session="s", payload={"role": "user"}, metadata={"n": n})
        for n in range(20)
    ]
    records = await memory.remember(talk)
    await memory.remember([Draft(content=f"drawn {n}", derived_from=[records[0].id]) for n in range(2)])
    return records


async def test_what_is_named_is_found_without_reading_its_wall(memory: Memory, plans: Plans) -> None:
    alice = memory.scoped(user="alice")
    records = await said(alice)
    assert await alice.get(records[3].id)
    assert await alice.history(records[3].id)
    assert await alice.count() == 22
    assert await alice.count(kind="note") == 2
    assert len((await alice.derived(records[0].id)).alone) == 2
    assert (await alice.browse(session="s", limit=3)).records
    assert (await alice.browse(limit=3)).next
    assert await memory.admin.users() == {"alice": 22}
    assert await memory.admin.sweep() == 0
    assert await alice.forget(records[4].id) == 1
    assert await alice.forget(records[0].id, derived=True) == 3
    assert len(plans.of) > 20
    assert plans.reading_all() == {}


async def test_a_statement_that_reads_all_of_a_wall_has_a_reason(memory: Memory, plans: Plans) -> None:
    alice = memory.scoped(user="alice")
    records = await said(alice)
    await alice.revise(records[1].id, content="milk")
    await alice.rate(records[1].id, 1)
    await alice.remember(Draft(content="new", supersedes=records[2].id))
    await alice.topics.set("k", "v")
    await alice.lookup("k")
    for narrowed in ({}, {"where": {"n": 3}}, {"session": "s"}, {"from_source": "x"}):
        await alice.recall("tea", **narrowed)
        await alice.count(**narrowed)
        await alice.browse(**narrowed)
    await alice.context("tea")
    await alice.changes()
    await alice.why(records[0].id)
    await memory.browse(everyone=True, order="key")
    await alice.browse(order="oldest", limit=1)
    assert [line async for line in alice.export()]
    assert (await alice.admin.traces()).traces
    await alice.ask(requests.Remember(records=(Draft(content="later"),), embed="later"))
    await memory.admin.reindex(missing=True)
    await memory.admin.reindex()
    assert await memory.admin.check() == []
    await alice.forget(key_prefix="k", kind="topic")
    await memory.purge(user="alice")
    without = {query for query in plans.reading_all() if not any(reason in query for reason in REASONS)}
    assert without == set()
    used = {reason for reason in REASONS if any(reason in query for query in plans.of)}
    assert used >= REASONS.keys() - {"sqlite_schema"}
