"""Qdrant, Chroma and an index of one's own keep the contract of an index."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from memorist.config import Settings
from memorist.errors import InvalidInputError, StoreBusyError, StoreUnavailableError
from memorist.indexes import Index, indexed, open_index
from memorist.stores import open_store
from memorist.stores.base import Store
from memorist.stores.sqlite import SQLiteStore
from memorist.testing import IndexContract

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from own_index import OwnIndex

pytestmark = pytest.mark.slow


class TestOwn(IndexContract):
    def make_index(self) -> Index:
        return OwnIndex()

    def another(self, index: Index) -> Index:
        return index


class TestQdrantFolder(IndexContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
        self.folder = tmp_path

    def make_index(self) -> Index:
        return open_index(f"qdrant:{self.folder}")

    def another(self, index: Index) -> Index:
        return self.make_index()


# The client is right to warn of a key over plain http://, as long as the server is on another machine.
@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection:UserWarning")
class TestQdrantRest(IndexContract):
    """The requests, over HTTP, to a stand-in for a server."""

    @pytest.fixture(autouse=True)
    def place(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        qdrant = pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
        from qdrant_http import running_server

        # By itself the client gives up after 5 seconds, which the stand-in may need for many points.
        monkeypatch.setattr(qdrant, "QdrantClient", partial(qdrant.QdrantClient, timeout=60))
        with running_server(api_key="secret") as server:
            self.url = server.url.replace("qdrant://", "qdrant://:secret@")
            yield

    def make_index(self) -> Index:
        return open_index(self.url)

    def another(self, index: Index) -> Index:
        return self.make_index()

    def test_a_wrong_key_is_told(self) -> None:
        with pytest.raises(StoreUnavailableError, match="QDRANT_API_KEY"):
            open_index(self.url.replace("secret", "wrong")).open()


class TestChromaFolder(IndexContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        pytest.importorskip("chromadb", reason="the extra chroma is not installed")
        self.folder = tmp_path

    def make_index(self) -> Index:
        return open_index(f"chroma:{self.folder}")

    def another(self, index: Index) -> Index:
        return self.make_index()


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Chroma server."""
    pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    from chroma_server import running_server

    with running_server(tmp_path_factory.mktemp("chroma")) as url:
        yield url


class TestChromaServer(IndexContract):
    urls = iter(range(999))

    @pytest.fixture(autouse=True)
    def place(self, chroma: str) -> None:
        self.url = f"{chroma}?collection=test-{next(self.urls)}"

    def make_index(self) -> Index:
        return open_index(self.url)

    def another(self, index: Index) -> Index:
        return self.make_index()


@pytest.mark.parametrize(
    "url",
    ["agent.db", "qdrant:", "chroma:// ", "qdrant://host:port", "qdrant://host/path", "chroma:folder?other=1",
     "qdrant:folder?collection=a/b", "pinecone://host", "qdrant+ftp://host", "qdrant://key@host"],
)  # fmt: skip
def test_a_wrong_url_is_told(url: str) -> None:
    with pytest.raises(InvalidInputError):
        open_index(url)


def test_the_key_is_not_shown() -> None:
    index = open_index("qdrant+https://:secret@example.com")
    assert index.name == "qdrant https://example.com:6333"


@pytest.mark.parametrize("url", ["qdrant://127.0.0.1:9", "chroma://127.0.0.1:9"])
def test_a_server_that_is_away_is_told(url: str) -> None:
    pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
    pytest.importorskip("chromadb", reason="the extra chroma is not installed")
    with pytest.raises(StoreUnavailableError, match="cannot be used"):
        open_index(url).open()


def test_a_folder_of_qdrant_is_for_one_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
    first = open_index(f"qdrant:{tmp_path}")
    first.open()
    try:
        with pytest.raises(StoreBusyError, match="server"):
            open_index(f"qdrant:{tmp_path}").open()
    finally:
        first.close()


def test_an_index_beside_a_store_that_finds_no_candidates_is_refused() -> None:
    class Plain(SQLiteStore):
        candidates = Store.candidates  # as a store that does not override it

    with pytest.raises(InvalidInputError, match="does not support one"):
        indexed(Plain(None), OwnIndex())


@pytest.mark.parametrize("url", ["qdrant://host", "chroma:folder"])
def test_an_index_is_not_taken_for_a_store(url: str) -> None:
    with pytest.raises(InvalidInputError, match="index="):
        open_store(Settings(url=url))
