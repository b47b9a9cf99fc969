"""The Qdrant store keeps the contract in the client's local mode, in a folder and in memory, and on a server.

A real server is tested where one is reachable: MEMORIST_TEST_QDRANT names it, as in ``qdrant://127.0.0.1:6333``.
"""

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")

from memorist.config import Settings
from memorist.errors import (
    InvalidInputError,
    MissingExtraError,
    StoreBusyError,
    StoreFullError,
    StoreUnavailableError,
)
from memorist.memory import Memory
from memorist.stores import Store, open_store
from memorist.stores.qdrant import QdrantStore
from memorist.sync import Memory as BlockingMemory
from memorist.testing import HashEmbedder, StoreContract
from memorist.testing.contract.base import make_record, put
from stores import logged_stores
from stores.logged_stores import ALICE, opened
from stores.qdrant_http import running_server

pytestmark = pytest.mark.anyio

SERVER = os.environ.get("MEMORIST_TEST_QDRANT", "")


class TestFolder(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "qdrant"

    async def make_store(self) -> Store:
        return QdrantStore(self.path)

    async def another(self, store: Store) -> Store:
        return QdrantStore(self.path)


class TestInMemory(StoreContract):
    async def make_store(self) -> Store:
        return QdrantStore(None)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_server() as server:
        yield server.url


class TestOverHTTP(StoreContract):
    """On what stands in for a server; see `qdrant_http`."""

    @pytest.fixture(autouse=True)
    def place(self, server: str) -> None:
        self.url = _fresh(server)

    async def make_store(self) -> Store:
        return open_store(Settings(url=self.url))

    async def another(self, store: Store) -> Store:
        return open_store(Settings(url=self.url))


@pytest.mark.skipif(not SERVER, reason="MEMORIST_TEST_QDRANT names no server")
class TestServer(TestOverHTTP):
    """On a real server."""

    @pytest.fixture(autouse=True)
    def place(self) -> None:
        self.url = _fresh(SERVER)


def _fresh(server: str) -> str:
    return f"{server}?collection={uuid.uuid4().hex}"


async def test_a_memory_in_a_folder(tmp_path: Path) -> None:
    await logged_stores.keeps_a_memory(f"qdrant:{tmp_path / 'memory'}")


async def test_stores_in_memory_never_see_each_other() -> None:
    await logged_stores.never_see_each_other("qdrant::memory:")


async def test_what_lies_in_qdrant_can_be_read_with_qdrants_own_means(tmp_path: Path) -> None:
    from qdrant_client import QdrantClient, models

    async with Memory.open(f"qdrant:{tmp_path}?collection=mine", embedder=HashEmbedder()) as memory:
        await memory.scoped(user="alice", session="monday").remember("Likes tea", id="r1")
        await memory.scoped(user="bob").remember("Likes coffee")
    client = QdrantClient(path=str(tmp_path))
    [vector] = await HashEmbedder().embed(["Likes tea"])
    alice = models.Filter(must=[models.FieldCondition(key="user", match=models.MatchValue(value="alice"))])
    [found] = client.query_points("mine-vectors-0", list(map(float, vector)), query_filter=alice).points
    distance = client.get_collection("mine-vectors-0").config.params.vectors.distance
    client.close()

    assert distance == models.Distance.COSINE
    assert found.score == pytest.approx(1, abs=1e-6)
    assert {name: found.payload[name] for name in ("tenant", "user", "session", "id", "kind", "_text")} == {
        "tenant": "default", "user": "alice", "session": "monday", "id": "r1", "kind": "note", "_text": "Likes tea",
    }  # fmt: skip


def test_a_folder_that_another_process_has_open(tmp_path: Path) -> None:
    url = f"qdrant:{tmp_path / 'memory'}"
    program = f"from memorist.sync import Memory\nMemory.open({url!r}, embedder='hash').close()"
    with BlockingMemory.open(url, embedder="hash") as memory:
        memory.remember("Tea")
        refused = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert StoreBusyError.__name__ in refused.stderr
    assert "run a server" in refused.stderr
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).returncode == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client leaves its lock file open
async def test_a_folder_that_a_client_of_qdrant_has_open(tmp_path: Path) -> None:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(tmp_path))
    with pytest.raises(StoreBusyError, match="run a server"):
        await QdrantStore(tmp_path).open()
    client.close()
    await (await opened(QdrantStore(tmp_path))).close()


def test_a_process_killed_in_mid_write_leaves_nothing_half(tmp_path: Path) -> None:
    url = f"qdrant:{tmp_path / 'memory'}"
    program = (
        "from memorist.sync import Memory\n"
        f"memory = Memory.open({url!r}, embedder='hash', user='alice')\n"
        "for turn in range(10_000):\n"
        "    memory.remember([f'{turn} {n}' for n in range(5)])\n"
        "    print(turn, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == 7:
                break
        child.kill()
    with BlockingMemory.open(url, embedder="hash", user="alice") as alice:
        assert alice.count() >= 8 * 5
        assert alice.count() % 5 == 0
        assert len(alice.recall("3", limit=1000)) > 0


async def test_what_a_killed_process_had_logged_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await logged_stores.finishes_what_a_killed_process_had_logged(partial(QdrantStore, tmp_path), monkeypatch)


async def test_what_was_logged_and_could_not_be_carried_out_is_stored_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = partial(QdrantStore, tmp_path)
    await logged_stores.keeps_what_was_logged_and_could_not_be_carried_out(make, monkeypatch)


async def test_a_commit_larger_than_one_row_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = partial(QdrantStore, tmp_path)
    await logged_stores.takes_a_commit_larger_than_one_row_of_the_log(make, monkeypatch)


async def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qdrant_client.local.persistence import CollectionPersistence

    def full(*_: object) -> None:
        raise RuntimeError("database or disk is full")

    store = await opened(QdrantStore(tmp_path))
    try:
        with monkeypatch.context() as broken:
            broken.setattr(CollectionPersistence, "persist", full)
            with pytest.raises(StoreFullError):
                await store.write(ALICE, [put(make_record("one"))])
        assert await store.get(ALICE, ["one"]) == []
        assert await store.write(ALICE, [put(make_record("one"))]) == [True]
    finally:
        await store.close()


async def test_a_purge_leaves_no_byte_in_the_folder(tmp_path: Path) -> None:
    async with Memory.open(f"qdrant:{tmp_path}", embedder="hash") as memory:
        for user in ("alice-of-oslo", "bob"):
            person = memory.scoped(user=user)
            await person.remember([f"{user} keeps bees, hive {n}" for n in range(50)])
            await person.topics.set("language", f"{user} speaks Norwegian")
        assert await memory.scoped(user="alice-of-oslo").purge() == 51
        left = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
        assert b"alice-of-oslo" not in left
        assert b"bob keeps bees" in left
        assert await memory.scoped(user="bob").count() == 51


async def test_another_embedder_is_refused_and_a_reindex_changes_over(tmp_path: Path) -> None:
    await logged_stores.refuses_another_embedder_until_it_is_reindexed(f"qdrant:{tmp_path}")


async def test_a_backup_is_a_sqlite_file_with_the_same_records_and_histories(tmp_path: Path) -> None:
    await logged_stores.backs_up_to_sqlite_with_the_histories(f"qdrant:{tmp_path / 'qdrant'}", tmp_path / "copy.db")


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(StoreUnavailableError, match="check the host and the port"):
        await open_store(Settings(url="qdrant://127.0.0.1:1")).open()


async def test_a_server_that_is_too_old_is_told_by_its_version() -> None:
    too_old = pytest.raises(StoreUnavailableError, match=r"Qdrant 1\.16\.3; this store needs 1\.17")
    with running_server(version="1.16.3") as server, too_old:
        await open_store(Settings(url=server.url)).open()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_a_server_wants_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "wrong")
    with running_server(api_key="secret", version="1.20.1-dev") as server:
        with pytest.raises(StoreUnavailableError, match="QDRANT_API_KEY"):
            await open_store(Settings(url=server.url)).open()
        await (await opened(open_store(Settings(url=server.url.replace("//", "//:secret@"))))).close()


async def test_on_a_server_a_wall_is_the_tenant_of_its_indexes() -> None:
    with running_server() as server:
        store = await opened(open_store(Settings(url=server.url)))
        await store.write(ALICE, [put(make_record("one"))])
        await store.close()

    assert sorted(server.made) == ["memorist-changes", "memorist-log", "memorist-records", "memorist-vectors-0"]
    vectors = server.made["memorist-vectors-0"]
    assert (vectors.vectors.size, vectors.vectors.distance) == (8, "Cosine")
    assert (vectors.hnsw_config.m, vectors.hnsw_config.payload_m) == (0, 16)
    for indexes in server.indexes.values():
        [wall] = [index.field_schema for index in indexes if index.field_name == "wall"]
        assert wall.is_tenant
    asked = {index.field_name for index in server.indexes["memorist-records"]}
    assert asked == {"wall", "tenant", "epoch", "number", "expires_at"}


async def test_a_process_that_is_killed_on_a_server(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = partial(open_store, Settings(url=_fresh(server), busy_timeout=0.2))
    await logged_stores.finishes_what_a_killed_process_had_logged(make, monkeypatch)


async def test_a_server_that_goes() -> None:
    with running_server() as server:
        store = await opened(open_store(Settings(url=server.url)))
        await store.write(ALICE, [put(make_record("one"))])
    try:
        with pytest.raises(StoreUnavailableError, match="check the host and the port"):
            await store.write(ALICE, [put(make_record("two"))])
        with pytest.raises(StoreUnavailableError):
            await store.get(ALICE, ["one"])
    finally:
        await store.close()


async def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreUnavailableError, match="file"):
        await open_store(Settings(url=f"qdrant:{tmp_path / 'file'}")).open()


@pytest.mark.parametrize(
    "url",
    ["qdrant:", "qdrant:folder?colour=red", "qdrant://host:port", "qdrant://host/folder", "qdrant:f?collection=a/b",
     "qdrant+ftp://host", "qdrant://me:key@host", "qdrant+https://"],
)  # fmt: skip
def test_a_url_that_is_wrong(url: str) -> None:
    with pytest.raises(InvalidInputError):
        open_store(Settings(url=url))


def test_a_url_says_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)

    def place(url: str) -> Any:
        store = open_store(Settings(url=url))
        assert isinstance(store, QdrantStore)
        assert "secret" not in repr(store)
        return store.place, store.collection, store.api_key

    assert place(f"qdrant:{tmp_path}") == (tmp_path, "memorist", None)
    assert place("qdrant::memory:?collection=mine") == (None, "mine", None)
    assert place("qdrant://host") == ("http://host:6333", "memorist", None)
    assert place("qdrant+https://:secret%2F1@host:1/?collection=a.b") == ("https://host:1", "a.b", "secret/1")
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    assert place("qdrant+https://host") == ("https://host:6333", "memorist", "secret")


def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(MissingExtraError, match=r"memorist\[qdrant\]"):
        open_store(Settings(url="qdrant::memory:"))


async def test_calls_at_the_same_time_from_several_threads(tmp_path: Path) -> None:
    store = await opened(QdrantStore(tmp_path))
    try:
        await asyncio.gather(*(store.write(ALICE, [put(make_record(f"n{n}"))]) for n in range(20)))
        assert len(await store.get(ALICE, [f"n{n}" for n in range(20)])) == 20
    finally:
        await store.close()
