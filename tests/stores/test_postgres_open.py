"""What is wrong with a database is said when it is opened, with what to do about it."""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

from inside import core_of
from memorist.config import Settings
from memorist.errors import (
    EmbedderMismatchError,
    InvalidInputError,
    MemoristError,
    MissingExtraError,
    SchemaError,
    StoreBusyError,
    StoreUnavailableError,
    upgrade_advice,
)
from memorist.memory import Memory
from memorist.records.origins import Author, Origin
from memorist.records.record import Draft
from memorist.stores import open_store
from memorist.stores.postgres import PostgresStore, preparing
from memorist.testing import HashEmbedder

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


async def opening(url: str, embedder: Any = "hash", busy_timeout: float = 120.0) -> MemoristError:
    """Return the error of opening a memory, and see that it keeps the password to itself.

    `busy_timeout` is given where the server is waited for.
    """
    with pytest.raises(MemoristError) as raised:
        async with Memory.open(settings=Settings(url=url, busy_timeout=busy_timeout), embedder=embedder):
            pass
    assert "s3cret" not in str(raised.value)
    return raised.value


async def test_a_memory_in_postgres(server: "Server") -> None:
    url = server.new_url()
    async with Memory.open(url, user="alice", embedder="hash") as alice:
        await alice.remember("Prefers homestays when she travels")
        await alice.topics.set("language", "Elixir")
    async with Memory.open(url, embedder="hash") as memory:
        [hit] = await memory.scoped(user="alice").recall("homestays", limit=1)
        assert hit.record.content == "Prefers homestays when she travels"
        assert await memory.scoped(user="alice").topics.get("language") == "Elixir"
        assert await memory.scoped(user="bob").recall("homestays") == []


def test_both_names_of_the_scheme_and_no_password_to_be_seen(server: "Server") -> None:
    for url in (server.url(), server.url().replace("postgresql:", "postgres:")):
        store = open_store(Settings(url=url))
        assert isinstance(store, PostgresStore)
        assert "s3cret" not in repr(store)
        assert repr(store) == f"PostgresStore('postgresql://app@127.0.0.1:{server.port}/memory')"


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("colour=red", "colour"), ("schema=Möbel", "schema must be a name"), ("schema=pg_catalog", "schema must be"),
        ("pool_size=0", "pool_size must be a whole number, 1 or more"), ("pool_size=many", "pool_size must be a"),
        ("prepare_threshold=-1", "prepare_threshold must be"), ("partitions=x", "partitions must be"),
        ("rls=maybe", "rls must be on or off"), ("hnsw=1", "hnsw must be on or off"),
        ("purge=all", "purge must be one"),
        ("sslmode=perhaps", "sslmode"),
    ],
)  # fmt: skip
async def test_a_url_that_is_wrong(server: "Server", query: str, says: str) -> None:
    error = await opening(f"{server.url()}?{query}")
    assert isinstance(error, InvalidInputError | StoreUnavailableError)
    assert says in str(error)


async def test_no_url_at_all(server: "Server") -> None:
    assert "looks like postgresql://USER" in str(await opening("postgresql://host:port/memory"))
    assert "not a URL" in str(await opening("postgresql://[::1/memory"))


async def test_the_extra_is_missing(server: "Server", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgvector", None)
    error = await opening(server.url())
    assert isinstance(error, MissingExtraError)
    assert "[postgres]'" in str(error)


async def test_who_or_where_is_wrong(server: "Server") -> None:
    for url, says in (
        (server.url(password="wrong"), "the right password"),
        (server.url(user="nemo"), "the right password"),
        (server.url(database="nowhere"), "createdb"),
    ):
        error = await opening(url)
        assert isinstance(error, StoreUnavailableError), url
        assert says in str(error)
    for there, elsewhere, says in (
        (str(server.port), "1", "check the host and the port"),
        ("127.0.0.1", "no-such-host.invalid", "check the host's name"),
    ):
        error = await opening(server.url().replace(there, elsewhere), busy_timeout=0.1)
        assert isinstance(error, StoreUnavailableError), elsewhere
        assert says in str(error)


async def test_a_server_without_tls_is_refused_where_the_url_requires_it(server: "Server") -> None:
    for mode in ("require", "verify-full"):
        error = await opening(server.url(sslmode=mode))
        assert isinstance(error, StoreUnavailableError)
        assert "check sslmode and the certificates" in str(error)


async def test_no_connection_is_left(server: "Server") -> None:
    with server.connect() as connection:
        connection.execute("CREATE ROLE narrow LOGIN PASSWORD 's3cret word' CONNECTION LIMIT 0")
    error = await opening(server.url(user="narrow"), busy_timeout=0.1)
    assert isinstance(error, StoreBusyError)
    assert "lower pool_size" in str(error)


async def test_a_server_that_is_too_old(server: "Server", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "OLDEST", 990_000)
    assert "it takes 99 or later" in str(await opening(server.new_url()))


async def test_a_server_without_pgvector(server: "Server") -> None:
    with server.connect(database="postgres") as connection:
        connection.execute("CREATE DATABASE without OWNER app TEMPLATE template0")
        assert "CREATE EXTENSION vector" in str(await opening(server.new_url(database="without")))
        connection.execute("ALTER DATABASE without SET extension_control_path = '/nowhere'")
        error = await opening(server.new_url(database="without", user="postgres"))
        assert isinstance(error, StoreUnavailableError)
        assert "install it on the server" in str(error)


async def test_a_role_that_may_not_make_tables_or_use_them(server: "Server") -> None:
    with server.connect() as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 's3cret word'")
    assert "grant it" in str(await opening(server.new_url(user="guest")))
    url = server.new_url()
    async with Memory.open(url, embedder="hash"):
        pass
    error = await opening(url.replace("app:", "guest:"))
    assert isinstance(error, StoreUnavailableError)
    assert "grant" in str(error)


async def test_a_server_that_only_reads(server: "Server") -> None:
    for asked in ("any", "read-write"):
        url = server.new_url(options="-cdefault_transaction_read_only=on", target_session_attrs=asked)
        error = await opening(url, busy_timeout=0.1)
        assert isinstance(error, StoreUnavailableError)
        assert "the primary server" in str(error)


async def test_tables_of_a_newer_version_and_of_another_program(server: "Server") -> None:
    url = server.new_url()
    async with Memory.open(url, embedder="hash"):
        pass
    name = url.partition("schema=")[2].partition("&")[0]
    with server.connect() as connection:
        connection.execute(f"UPDATE {name}.meta SET value = '99' WHERE name = 'version'".encode())
        error = await opening(url)
        assert isinstance(error, SchemaError)
        assert upgrade_advice() in str(error)
        connection.execute("CREATE SCHEMA theirs AUTHORIZATION app")
        connection.execute("CREATE TABLE theirs.records (title text)")
        error = await opening(server.url(schema="theirs"))
        assert isinstance(error, SchemaError)
        assert "?schema=NAME" in str(error)


async def test_a_database_of_another_embedder(server: "Server") -> None:
    url = server.new_url()
    async with Memory.open(url, embedder=HashEmbedder(dimensions=64)) as memory:
        await memory.remember("Tea")
    error = await opening(url, embedder=HashEmbedder(dimensions=32))
    assert isinstance(error, EmbedderMismatchError)
    assert "memorist reindex" in str(error)


async def test_opened_by_many_at_once_the_tables_are_made_once(server: "Server") -> None:
    url = server.new_url(pool_size=1)
    memories = [Memory.open(url, embedder="hash") for _ in range(6)]
    await asyncio.gather(*(memory.__aenter__() for memory in memories))
    await asyncio.gather(*(memory.remember(f"Note {n}") for n, memory in enumerate(memories)))
    assert await memories[0].count() == 6
    for memory in memories:
        await memory.close()


async def test_a_new_database_is_opened_by_many_at_once_for_several_schemas(server: "Server") -> None:
    with server.connect(database="postgres") as connection:
        connection.execute("CREATE DATABASE fresh TEMPLATE template0")
    urls = [server.new_url(user="postgres", database="fresh", pool_size=1) for _ in range(4)]
    memories = [Memory.open(url, embedder="hash") for url in urls]
    await asyncio.gather(*(memory.__aenter__() for memory in memories))
    for memory in memories:
        await memory.close()


async def test_a_database_that_isolates_its_transactions_by_default(server: "Server") -> None:
    url = server.new_url(options="-cdefault_transaction_isolation=serializable", pool_size=2)
    memories = [Memory.open(url, embedder="hash") for _ in range(4)]
    await asyncio.gather(*(memory.__aenter__() for memory in memories))
    record = await memories[0].remember("Tea")
    await asyncio.gather(*(memory.rate(record.id, 1) for memory in memories for _ in range(5)))
    assert len(await memories[0].history(record.id)) == 21
    for memory in memories:
        await memory.close()


async def test_tables_of_the_version_before_are_brought_up_to_date(server: "Server") -> None:
    from memorist.stores.postgres import PostgresStore, parse_url

    url = server.new_url(hnsw="on")
    async with Memory.open(url, embedder="hash") as memory:
        wall = memory.scoped(user="alice").scope.wall
        said = Draft(content="I had tea yesterday", kind="message", session="s", payload={"speaker": "Zoë"})
        await memory.scoped(user="alice").remember([said, "Milk", "Lemon cake"])
        await memory.remember("Bread", id="shared")
        store = core_of(memory).store
        assert isinstance(store, PostgresStore)
        before = await store.outline(wall, 0)
        assert before is not None and before.rows == 3 and list(before.speakers) == ["Zoë"]
        entries = {entry.number: entry for entry in (await store.entries(wall, None, 0)).entries}
        [number] = [number for number, entry in entries.items() if entry.marks]
        assert entries[number].marks == {"tells", "timed", "day:-1"}
    schema = parse_url(url).schema
    with server.connect() as connection:
        for statement in (
            f"DROP INDEX {schema}.indexed_later",
            f"DROP VIEW {schema}.words_of_wall",
            *(f"DROP POLICY walls ON {schema}.{table}" for table in ("words", "words_0", "words_1")),
            f"DROP TABLE {schema}.audit, {schema}.quotes",
            f"ALTER TABLE {schema}.records DROP COLUMN speaker",
            f"ALTER TABLE {schema}.walls DROP COLUMN entries, DROP COLUMN length",
            f"ALTER TABLE {schema}.records DROP COLUMN authors, DROP COLUMN door, DROP COLUMN derived_from,"
            " DROP COLUMN happened_offset",
            f"ALTER TABLE {schema}.indexed DROP COLUMN marks",
            f"ALTER TABLE {schema}.staged DROP COLUMN marks",
            # Marks stood behind the terms, and were counted as such.
            f"UPDATE {schema}.indexed SET terms = terms || ' ! ~ @-1' WHERE number = {number}",
            f"UPDATE {schema}.words SET length = length + 3, terms = terms || $$'!' '~' '@-1'$$::tsvector"
            f" WHERE number = {number}",
            f"UPDATE {schema}.meta SET value = '1' WHERE name = 'version'",
        ):
            connection.execute(statement.encode())
    async with Memory.open(url, embedder="hash") as memory:
        store = core_of(memory).store
        assert isinstance(store, PostgresStore)
        assert await store.outline(wall, 0) == before
        shared = await memory.get("shared")
        assert shared is not None and shared.origin == Origin(authors=Author.USER | Author.PEER)
        migrated = {entry.number: entry for entry in (await store.entries(wall, None, 0)).entries}
        assert {n: (each.terms, each.marks) for n, each in migrated.items()} == {
            n: (each.terms, each.marks) for n, each in entries.items()
        }
        assert await store.search_words(wall, ["!", "~", "@-1"], 9) == []
        assert [found for found, _ in await store.search_words(wall, ["tea"], 9)] == [number]
