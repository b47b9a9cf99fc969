"""The second wall, what a purge leaves where, and copies."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memorist.memory import Memory
from memorist.records.scope import Wall
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.testing.contract.base import ALICE, BOB, DIMENSIONS, FINGERPRINT, SHARED, make_record, put

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

OTHER = Wall("other", "alice")
TABLES = ("walls", "records", "indexed", "changes", "words_of_wall")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(parse_url(url))
    await store.open()
    try:
        await store.bind(FINGERPRINT, DIMENSIONS)
        for wall in (ALICE, BOB, SHARED, OTHER):
            await store.write(wall, [put(make_record("one", wall, content=f"of {wall}"))])
        yield store
    finally:
        await store.close()


async def test_a_query_that_forgets_the_wall_sees_no_other(server: "Server") -> None:
    async with opened(server.new_url()) as store:
        connections, schema = store._connections, store.options.schema
        for wall in (ALICE, BOB, SHARED, OTHER):
            for table in TABLES:
                query = (f"SELECT DISTINCT tenant, user_name FROM {schema}.{table}", ())
                [rows] = await connections.run(lambda query=query, wall=wall: connections.read(wall.reach, query))  # type: ignore[misc]
                assert rows == [(wall.tenant, wall.user or "")], table


async def test_row_level_security_holds_for_the_tables_owner(server: "Server") -> None:
    import psycopg

    async with opened(server.new_url()) as store:
        schema = store.options.schema
        with server.connect("app") as connection:

            def seen(table: str) -> Any:
                return connection.execute(
                    f"SELECT DISTINCT tenant, user_name FROM {schema}.{table}".encode()
                ).fetchall()

            def say(tenant: str, users: list[str] | None) -> None:
                connection.execute("SELECT set_config('memorist.tenant', %s, false)", (tenant,))
                connection.execute("SELECT set_config('memorist.users', %s, false)", (json.dumps(users),))

            for table in TABLES:
                assert seen(table) == []  # who says nothing sees nothing
            assert sum(len(seen(f"records_{part}")) for part in range(2)) == 0  # nor in the parts
            say("acme", ["alice", ""])
            assert sorted(seen("records")) == [("acme", ""), ("acme", "alice")]
            say("acme", None)
            assert len(seen("records")) == 3
            say("other", ["bob"])
            assert seen("records") == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"INSERT INTO {schema}.walls VALUES ('acme', 'eve', 1, 0)".encode())
            assert connection.execute(f"DELETE FROM {schema}.records".encode()).rowcount == 0


async def test_nothing_of_a_wall_stays_with_the_connection(server: "Server") -> None:
    async with opened(server.new_url(pool_size=1)) as store:
        connections = store._connections

        async def left_over() -> Any:
            async with connections._lent() as connection:
                names = ("tenant", "users", "everything")
                cursors = [
                    await connection.execute("SELECT current_setting(%s, true)", (f"memorist.{name}",))
                    for name in names
                ]
                return [(await cursor.fetchall())[0][0] or "" for cursor in cursors]

        await store.get(ALICE, ["one"])
        assert await connections.run(left_over) == ["", "", ""]


async def test_every_key_and_index_holds_tenant_and_user(server: "Server") -> None:
    async with opened(server.new_url()) as store:
        with server.connect() as connection:
            indexes = connection.execute(
                "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = %s AND tablename <> 'meta'",
                (store.options.schema,),
            ).fetchall()
    lacking = [name for name, text in indexes if "tenant, user_name" not in text]
    assert len(indexes) > 20
    # In words a lexeme stands for both; the log of a store is one chain, in the order of its numbers; what quotes a
    # record is found by the wall and the number of the record that quotes.
    assert {name.partition("_")[0] for name in lacking} == {"words", "audit", "quotes"}


def words_left(server: "Server", start: str) -> int:
    """Count the words with this start and three digits that are in the files of tables and indexes."""
    with server.connect() as connection:
        connection.execute("CHECKPOINT")
    found: set[bytes] = set()
    for file in (server.data / "base").rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # a session that begins renames a file of its own
            found.update(re.findall(rf"{start}\d{{3}}".encode(), file.read_bytes()))
    return len(found)


@pytest.mark.parametrize("purge", ["vacuum", "full"])
async def test_what_a_purge_leaves_where(server: "Server", purge: str) -> None:
    start = f"xq{purge}"
    async with Memory.open(server.new_url(purge=purge), embedder="hash") as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        for number in range(100):
            await alice.remember(f"The word is {start}{number:03}")
            await bob.remember("Something else altogether")
        assert words_left(server, start) == 100

        assert (await alice.purge()).purged == 100

        if purge == "full":  # the tables are files of their own again, with what is left
            assert words_left(server, start) == 0
        assert await alice.count() == 0
        assert await bob.count() == 100


async def test_a_purge_renews_the_planners_samples(server: "Server") -> None:
    url = server.new_url()
    schema = url.partition("schema=")[2].partition("&")[0]
    sampled = "SELECT tablename, attname FROM pg_stats WHERE schemaname = %s AND strpos(pg_stats::text, 'xqsample') > 0"
    async with Memory.open(url, embedder="hash") as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        await alice.remember([f"The word is xqsample{number:03}" for number in range(20)])
        await bob.remember([f"Something else, {number}" for number in range(20)])
        with server.connect() as connection:
            connection.execute("ANALYZE")
            assert ("records", "content") in connection.execute(sampled, (schema,)).fetchall()
            receipt = await alice.purge()
            assert connection.execute(sampled, (schema,)).fetchall() == []
        assert any("statistics of tables that are empty" in copy for copy in receipt.statement["copies"])


async def test_a_backup_is_a_file_that_opens_anywhere(server: "Server", tmp_path: Path) -> None:
    async with Memory.open(server.new_url(), embedder="hash") as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        record = await alice.remember("Tea \0 with \1 milk", metadata={"n": [1, 2.5, "\0", 2**70]}, id="tea")
        await alice.rate(record.id, 0.5)
        await bob.remember("Coffee")
        await bob.forget((await bob.remember("Cocoa", id="cocoa")).id)
        copy = await memory.admin.backup(tmp_path / "copy.db")
        async with Memory.open(copy, embedder="hash") as restored:
            theirs, his = restored.scoped(user="alice"), restored.scoped(user="bob")
            assert await theirs.get("tea") == await alice.get("tea")
            assert await theirs.history("tea") == await alice.history("tea")
            assert await his.history("cocoa") == await bob.history("cocoa")
            assert [hit.record.id for hit in await theirs.recall("tea")] == ["tea"]
            assert await restored.admin.users() == await memory.admin.users()
            await his.remember("Milk")


async def test_a_dump_by_the_owner_holds_everything_if_it_says_so(server: "Server", tmp_path: Path) -> None:
    url = server.new_url()
    schema = parse_url(url).schema
    async with opened(url) as store:
        plain = server.url()
        dumped = server.run(
            "pg_dump", "--enable-row-security", "-n", schema, plain, env={"PGOPTIONS": "-c memorist.everything=on"}
        )
        everything = server.run("pg_dump", "-n", schema, server.url(user="postgres"))
        for text in (dumped, everything):
            assert all(f"of {wall}" in text for wall in (ALICE, BOB, SHARED, OTHER))
        before = await store.get(ALICE, ["one"])
    script = server.folder / f"{schema}.sql"
    script.write_text(dumped)
    script.chmod(0o644)
    with server.connect(database="postgres") as connection:
        connection.execute("CREATE DATABASE restored OWNER app")
    environment = {"PGOPTIONS": "-c memorist.everything=on"}
    server.run("psql", "-v", "ON_ERROR_STOP=1", "-f", str(script), server.url(database="restored"), env=environment)
    restored = PostgresStore(parse_url(url.replace("/memory?", "/restored?")))
    await restored.open()
    try:
        assert await restored.get(ALICE, ["one"]) == before
        await restored.bind(FINGERPRINT, DIMENSIONS)
        await restored.write(ALICE, [put(make_record("two"))])
    finally:
        await restored.close()
