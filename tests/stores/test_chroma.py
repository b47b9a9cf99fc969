"""The Chroma store keeps the contract: in a folder, in memory, and on a real server."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("chromadb")

from memorist.config import Settings
from memorist.errors import (
    InvalidInputError,
    MissingExtraError,
    StoreBusyError,
    StoreUnavailableError,
)
from memorist.memory import Memory
from memorist.stores import Store, open_store
from memorist.stores.chroma import ChromaStore
from memorist.testing import HashEmbedder, StoreContract
from memorist.testing.contract.base import forgotten, make_record, put
from stores import logged_stores
from stores.chroma_server import free_port, running_server
from stores.logged_stores import ALICE, opened


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("server")) as url:
        yield url


class TestFolder(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "chroma"

    async def make_store(self) -> Store:
        return ChromaStore(self.path)

    async def another(self, store: Store) -> Store:
        return ChromaStore(self.path)


class TestInMemory(StoreContract):
    async def make_store(self) -> Store:
        return ChromaStore(None)


class TestServer(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, server: str) -> None:
        self.url = f"{server}?collection={uuid.uuid4().hex}"

    async def make_store(self) -> Store:
        return open_store(Settings(url=self.url))

    async def another(self, store: Store) -> Store:
        return open_store(Settings(url=self.url))


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("on_server", [False, True])
async def test_what_a_killed_process_had_logged_is_finished_by_the_next(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, on_server: bool
) -> None:
    settings = Settings(url=_place(tmp_path, request, on_server), busy_timeout=0.2)
    await logged_stores.finishes_what_a_killed_process_had_logged(lambda: open_store(settings), monkeypatch)


def _place(tmp_path: Path, request: pytest.FixtureRequest, on_server: bool) -> str:
    return f"{request.getfixturevalue('server')}?collection={uuid.uuid4().hex}" if on_server else f"chroma:{tmp_path}"


@pytest.mark.parametrize("on_server", [False, True])
async def test_what_was_logged_and_could_not_be_carried_out_is_stored_all_the_same(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, on_server: bool
) -> None:
    settings = Settings(url=_place(tmp_path, request, on_server))
    await logged_stores.keeps_what_was_logged_and_could_not_be_carried_out(lambda: open_store(settings), monkeypatch)


async def test_who_is_far_behind_reads_everything_anew(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.stores.logged.log._KEPT", 5)
    monkeypatch.setattr("memorist.stores.logged.log._TRIM_EVERY", 1)
    settings = Settings(url=f"{server}?collection={uuid.uuid4().hex}")
    one, two = await opened(open_store(settings)), await opened(open_store(settings))
    try:
        await one.write(ALICE, [put(make_record("first"))])
        for n in range(20):
            await two.write(ALICE, [put(make_record(f"n{n}"))])
        await two.write(ALICE, forgotten("first"))
        assert await one.write(ALICE, [put(make_record("last"))]) == [True]
        assert await one.get(ALICE, ["first"]) == []
        assert len(await two.get(ALICE, ["last", *(f"n{n}" for n in range(20))])) == 21
    finally:
        await one.close()
        await two.close()


async def test_a_folder_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    store = await opened(ChromaStore(tmp_path))
    code = (
        "import asyncio; from pathlib import Path; from memorist.stores.chroma import ChromaStore\n"
        f"asyncio.run(ChromaStore(Path({str(tmp_path)!r})).open())"
    )
    try:
        other = await asyncio.to_thread(_run, code)
    finally:
        await store.close()

    assert StoreBusyError.__name__ in other.stderr
    assert "chroma run" in other.stderr
    assert (await asyncio.to_thread(_run, code)).returncode == 0


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


async def test_a_memory_on_chroma_does_what_any_memory_does(tmp_path: Path) -> None:
    await logged_stores.keeps_a_memory(f"chroma:{tmp_path / 'memory'}")


async def test_what_lies_in_chroma_can_be_read_with_chromas_own_means(tmp_path: Path) -> None:
    import chromadb
    from chromadb.config import Settings as ChromaSettings

    async with Memory.open(f"chroma:{tmp_path}?collection=mine", embedder=HashEmbedder()) as memory:
        await memory.scoped(user="alice", session="monday").remember("Likes tea", id="r1")
        client = chromadb.PersistentClient(str(tmp_path), ChromaSettings(anonymized_telemetry=False))
        collection = client.get_collection("mine-vectors-0", embedding_function=None)
        [vector] = await HashEmbedder().embed(["Likes tea"])
        found = collection.query(query_embeddings=[list(map(float, vector))], n_results=1)
        client.close()

    assert found["documents"] == [["Likes tea"]]
    assert found["distances"][0][0] == pytest.approx(0, abs=1e-6)
    metadata = found["metadatas"][0][0]
    assert {name: metadata[name] for name in ("tenant", "user", "session", "id", "kind")} == {
        "tenant": "default", "user": "alice", "session": "monday", "id": "r1", "kind": "note",
    }  # fmt: skip


async def test_another_embedder_is_refused_and_a_reindex_changes_over(tmp_path: Path) -> None:
    await logged_stores.refuses_another_embedder_until_it_is_reindexed(f"chroma:{tmp_path}")


async def test_a_backup_is_a_sqlite_file_with_the_same_records_and_histories(tmp_path: Path) -> None:
    await logged_stores.backs_up_to_sqlite_with_the_histories(f"chroma:{tmp_path / 'chroma'}", tmp_path / "copy.db")


async def test_stores_in_memory_never_see_each_other() -> None:
    await logged_stores.never_see_each_other("chroma::memory:")


@pytest.mark.parametrize(
    "url",
    ["chroma:", "chroma:folder?what=1", "chroma:folder?collection=-", "chroma+http://", "chroma+ftp://host",
     "chroma+http://host:port", "chroma+http://host/path"],
)  # fmt: skip
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError):
        open_store(Settings(url=url))


def test_a_url_says_where_the_store_is(tmp_path: Path) -> None:
    def place(url: str) -> Any:
        store = open_store(Settings(url=url))
        assert isinstance(store, ChromaStore)
        return store.place, store.collection

    assert place(f"chroma:{tmp_path}") == (tmp_path, "memorist")
    assert place(f"chroma://{tmp_path}?collection=mine") == (tmp_path, "mine")
    assert place("chroma::memory:") == (None, "memorist")
    assert place("chroma+http://host") == ("http://host:8000", "memorist")
    assert place("chroma+https://host:1/?collection=a.b") == ("https://host:1", "a.b")


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1"):
        await open_store(Settings(url=f"chroma+http://127.0.0.1:{free_port()}")).open()


async def test_a_server_that_goes_and_comes_again(tmp_path: Path) -> None:
    port = free_port()
    with running_server(tmp_path, port) as url:
        store = await opened(open_store(Settings(url=url)))
        await store.write(ALICE, [put(make_record("one"))])
    try:
        with pytest.raises(StoreUnavailableError):
            await store.write(ALICE, [put(make_record("two"))])
        with pytest.raises(StoreUnavailableError):
            await store.get(ALICE, ["one"])
        with running_server(tmp_path, port):
            assert len(await store.get(ALICE, ["one", "two"])) == 1
            assert await store.write(ALICE, [put(make_record("two"))]) == [True]
    finally:
        await store.close()


async def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreUnavailableError, match="file"):
        await open_store(Settings(url=f"chroma:{tmp_path / 'file'}")).open()


async def test_without_chromadb_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtraError, match=r"memorist\[chroma\]"):
        await open_store(Settings(url="chroma::memory:")).open()


async def test_a_commit_larger_than_one_row_of_the_log(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(url=f"{server}?collection={uuid.uuid4().hex}")
    await logged_stores.takes_a_commit_larger_than_one_row_of_the_log(lambda: open_store(settings), monkeypatch)


async def test_others_may_look_into_the_folder_meanwhile(tmp_path: Path) -> None:
    import chromadb

    async with Memory.open(f"chroma:{tmp_path}", embedder=HashEmbedder()) as memory:
        await memory.remember("Likes tea")
        client = chromadb.PersistentClient(path=str(tmp_path))
        assert client.get_collection("memorist-vectors-0").count() == 1
        assert client.get_settings().anonymized_telemetry is False
        client.close()
        assert await memory.count() == 1


@pytest.mark.parametrize("place", ["folder", ":memory:"])
async def test_a_client_of_somebody_elses_is_no_hindrance(tmp_path: Path, place: str) -> None:
    code = (
        "import asyncio, os, chromadb\n"
        "os.environ['ANONYMIZED_TELEMETRY'] = 'True'\n"
        f"first = chromadb.PersistentClient({str(tmp_path)!r}), chromadb.EphemeralClient()\n"
        "del os.environ['ANONYMIZED_TELEMETRY']\n"
        "from memorist import Memory\n"
        "async def main():\n"
        f"    async with Memory.open('chroma:{tmp_path if place == 'folder' else place}', embedder='hash') as memory:\n"
        "        await memory.remember('Likes tea')\n"
        "        print(await memory.count())\n"
        "asyncio.run(main())\n"
    )
    done = await asyncio.to_thread(_run, code)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
