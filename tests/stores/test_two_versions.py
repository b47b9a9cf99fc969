"""Two versions on one store: the older one, which has it open, stores nothing more after an upgrade."""

import json
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist.errors import SchemaError
from memorist.memory import Memory
from memorist.stores.postgres.schema import MIGRATIONS as POSTGRES_MIGRATIONS
from memorist.stores.sqlite.schema import MIGRATIONS
from memorist.testing import HashEmbedder
from opening import connect_to, undo_latest

pytestmark = pytest.mark.anyio
Verb: TypeAlias = Callable[[Memory], Awaitable[object]]

VERBS: dict[str, Verb] = {
    "remember": lambda memory: memory.remember("Coffee"),
    "revise": lambda memory: memory.revise("tea", content="Coffee"),
    "rate": lambda memory: memory.rate("tea", 1),
    "forget": lambda memory: memory.forget("tea"),
    "forget by a filter": lambda memory: memory.forget(kind="note"),
    "purge": lambda memory: memory.purge(user="alice"),
    "append": lambda memory: memory.conversation("s").append({"role": "user", "content": "Hello"}),
    "retain": lambda memory: memory.admin.retain([{"keep": "9d"}]),
    "reindex": lambda memory: memory.admin.reindex(),
}


class Database:
    """A store below the verbs: in which statements are run."""

    def __init__(self, url: str, request: pytest.FixtureRequest) -> None:
        self.url = url
        self.is_file = "://" not in url
        self._server = None if self.is_file else request.getfixturevalue("server")
        self.schema = "main" if self.is_file else url.partition("schema=")[2].partition("&")[0]

    def run(self, *statements: str) -> list[Any]:
        if self._server is None:
            with closing(connect_to(Path(self.url))) as file:
                return [list(file.execute(each)) for each in statements]
        with self._server.connect() as connection:
            connection.execute("SELECT set_config('memorist.everything', 'on', false)")
            done = [connection.execute(each.encode()) for each in statements]
            return [each.fetchall() if each.description else [] for each in done]

    def set_version(self, version: int) -> None:
        if self.is_file:
            self.run(f"PRAGMA user_version = {version}")
        else:
            self.run(f"UPDATE {self.schema}.meta SET value = '{version}' WHERE name = 'version'")

    def undo_latest(self) -> None:
        """Make the tables those of schema 7."""
        if self.is_file:
            with closing(connect_to(Path(self.url))) as file:
                undo_latest(file)
        else:
            self.run(f"DROP INDEX {self.schema}.indexed_later")
            self.run(f"ALTER TABLE {self.schema}.records DROP COLUMN happened_offset")
            self.set_version(7)

    @property
    def latest(self) -> int:
        return len(MIGRATIONS if self.is_file else POSTGRES_MIGRATIONS)


@pytest.fixture
def database(url: str, request: pytest.FixtureRequest) -> Database:
    return Database(url, request)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_process_stores_nothing_once_another_version_has_upgraded_the_store(
    database: Database, verb: str
) -> None:
    async with Memory.open(database.url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("Tea", id="tea")
        record = await alice.get("tea")
        database.set_version(database.latest + 1)
        before = database.run(*(f"SELECT * FROM {database.schema}.{table}" for table in ("records", "changes", "meta")))
        with pytest.raises(SchemaError, match=f"schema {database.latest + 1}.*Stop this process"):
            await VERBS[verb](memory if verb in ("purge", "retain", "reindex") else alice)
        after = database.run(*(f"SELECT * FROM {database.schema}.{table}" for table in ("records", "changes", "meta")))
        assert after == before
        assert await alice.get("tea") == record, "it can still be read"
        database.set_version(database.latest)
        await alice.remember("Coffee")


async def test_the_upgrade_removes_what_an_older_process_left_of_forgotten_records(database: Database) -> None:
    async with Memory.open(database.url, embedder=HashEmbedder(), keep_traces="1d") as memory:
        alice = memory.scoped(user="alice")
        kept, forgotten = await alice.remember(["Likes mint tea", "Likes ginger tea"])
        for question in ("mint tea?", "ginger tea?", "did she like the ginger?", "did she like the mint?"):
            assert (await alice.context(question, min_confidence=0)).items
        assert len((await alice.admin.traces()).traces) == 4
    # An older process kept the last two, by its own notes in the metadata, and forgot a record without looking further.
    schema, by = database.schema, "by" if database.is_file else "number"
    for question, record in (("did she like the ginger?", forgotten), ("did she like the mint?", kept)):
        of = f"SELECT number FROM {schema}.records WHERE content = '{question}'"
        database.run(
            f"DELETE FROM {schema}.quotes WHERE {by} IN ({of})",
            f"UPDATE {schema}.records SET metadata = '{json.dumps({'own': [record.id]})}' WHERE content = '{question}'",
        )
    database.run(
        f"DELETE FROM {schema}.quotes WHERE id = '{forgotten.id}' AND"
        f" {by} IN (SELECT number FROM {schema}.records WHERE content = 'mint tea?')",
        f"DELETE FROM {schema}.records WHERE id = '{forgotten.id}'",
        *(
            f"DELETE FROM {schema}.{table} WHERE number NOT IN (SELECT number FROM {schema}.records)"
            for table in (("indexed",) if database.is_file else ("indexed", "words"))
        ),
    )
    database.undo_latest()

    async with Memory.open(database.url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        questions = {trace.question for trace in (await alice.admin.traces()).traces}
        assert questions == {"mint tea?", "did she like the mint?"}
        await alice.forget(kept)
        assert (await alice.admin.traces()).traces == []
    for table in ("records", "changes") if database.is_file else ("records", "indexed", "words", "changes"):
        [rows] = database.run(f"SELECT * FROM {schema}.{table}")
        assert "ginger" not in repr(rows), table
