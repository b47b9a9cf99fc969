"""A verb that raises has changed nothing: whichever statement of it the database refuses."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from memorist.config import Settings
from memorist.errors import StoreError
from memorist.memory import Memory
from memorist.records.record import Draft
from memorist.testing import HashEmbedder

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = pytest.mark.anyio
TABLES = ("records", "changes", "indexed", "quotes", "walls", "words", "audit")
STATEMENTS = [(table, how, "") for table in TABLES for how in ("INSERT", "UPDATE", "DELETE")]
STATEMENTS.append(("records", "DELETE", "WHEN (old.kind = 'topic')"))  # a trace, which goes after what it quotes
Verb = Callable[[Memory], Awaitable[object]]


class SQLite:
    """A file beside which another connection makes statements fail."""

    def __init__(self, path: Path) -> None:
        self.url = str(path)

    def state(self) -> list[Any]:
        with closing(apsw.Connection(self.url)) as beside:
            return [
                list(beside.execute(f"SELECT * FROM {table} ORDER BY 1, 2")) for table in TABLES if table != "words"
            ]

    @contextmanager
    def failing(self, table: str, how: str, when: str) -> Iterator[None]:
        if table == "words":  # a virtual table takes no trigger
            yield
            return
        with closing(apsw.Connection(self.url)) as beside:
            beside.execute(f"CREATE TRIGGER fails AFTER {how} ON {table} {when} BEGIN SELECT RAISE(ABORT, 'no'); END")
            yield
            beside.execute("DROP TRIGGER fails")


class PostgreSQL:
    """A database in which triggers make statements fail."""

    def __init__(self, server: "Server") -> None:
        self._server, self.url = server, server.new_url()
        self._schema = self.url.partition("schema=")[2].partition("&")[0] or "memorist"

    def _run(self, *statements: str) -> list[Any]:
        with self._server.connect("app") as connection:
            connection.execute("SELECT set_config('memorist.everything', 'on', false)")
            found = [connection.execute(each.encode()) for each in statements]
            return [each.fetchall() if each.description else [] for each in found]

    def state(self) -> list[Any]:
        return self._run(*(f"SELECT t::text FROM {self._schema}.{table} AS t ORDER BY 1" for table in TABLES))

    @contextmanager
    def failing(self, table: str, how: str, when: str) -> Iterator[None]:
        name = f"{self._schema}.{table}"
        self._run(
            f"CREATE OR REPLACE FUNCTION {self._schema}.refuse() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
            f"CREATE TRIGGER fails AFTER {how} ON {name} FOR EACH ROW {when} EXECUTE FUNCTION {self._schema}.refuse()",
        )
        yield
        self._run(f"DROP TRIGGER fails ON {name}")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.postgres])])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> SQLite | PostgreSQL:
    if request.param == "sqlite":
        return SQLite(tmp_path / "memory.db")
    return PostgreSQL(request.getfixturevalue("server"))


async def restore(everyone: Memory) -> object:
    old = await everyone.scoped(user="alice").get("one")
    assert old is not None
    users = ("alice", "zoe", "bob")
    records = [replace(old, id=f"restored {user}", scope=replace(old.scope, user=user)) for user in users]
    report = await everyone.restore(records)
    if report.bad:  # it did not raise, and says what it did not store
        assert report.added + len(report.bad) == len(users)
        there = [await everyone.scoped(user=user).get(f"restored {user}") for user in users]
        assert [each is None for each in there] == [n + 1 in {bad.number for bad in report.bad} for n in range(3)]
    return report


def of(memory: Memory) -> Memory:
    return memory.scoped(user="alice")


VERBS: dict[str, Verb] = {
    "remember": lambda memory: of(memory).remember([Draft(content="new"), Draft(content="newer", kind="fact")]),
    "replace": lambda memory: of(memory).remember(
        Draft(content="new", id="one"), if_exists="replace", forgetting=["two"]
    ),
    "supersede": lambda memory: of(memory).remember(Draft(content="new", supersedes="one")),
    "revise": lambda memory: of(memory).revise("one", content="new"),
    "expire": lambda memory: of(memory).revise("one", expires_at="2099-01-01"),
    "rate": lambda memory: of(memory).rate("one", 1),
    "forget": lambda memory: of(memory).forget("one", "two"),
    "forget by a filter": lambda memory: of(memory).forget(kind="note"),
    "forget what was derived": lambda memory: of(memory).forget("one", derived=True),
    "restore": restore,
    "retain": lambda memory: memory.admin.retain([{"keep": "9d"}]),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_that_raises_has_changed_nothing(database: SQLite | PostgreSQL, verb: str) -> None:
    settings = Settings(audit="changes")
    async with Memory.open(database.url, embedder=HashEmbedder(), keep_traces="1d", settings=settings) as memory:
        await _fill(memory)
        raised = 0
        for table, how, when in STATEMENTS:
            before = database.state()
            with database.failing(table, how, when):
                try:
                    await VERBS[verb](memory)
                except StoreError:
                    raised += 1
                    assert database.state() == before, f"{how} {table} {when}"
            if database.state() != before:
                await _fill(memory)
        assert raised


async def _fill(memory: Memory) -> None:
    """Store what the verbs change, anew after one that was not refused."""
    alice = memory.scoped(user="alice")
    await alice.forget("one", "two", "drawn", "partly", "x")
    await alice.remember(
        [Draft(content="Likes mint tea", id="one"), Draft(content="Likes tea", id="two"), Draft(content="x", id="x")]
    )
    await alice.remember(Draft(content="Drinks tea", id="drawn", derived_from=["one"]))
    await alice.remember(Draft(content="Drinks a lot", id="partly", derived_from=["drawn", "x"]))
    for user in ("alice", "zoe", "bob"):
        await memory.scoped(user=user).forget(f"restored {user}")
    await alice.context("which tea does she like?", min_confidence=0)
    assert (await alice.admin.traces()).traces, "one quotes what is forgotten"
