"""A function whose vectors have another length than the stored ones: an error when it opens, reads or writes."""

from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from memorist import Memory
from memorist.config import Settings
from memorist.embedders import CallableEmbedder
from memorist.errors import EmbedderError, EmbedderMismatchError

pytestmark = pytest.mark.anyio


class Model:
    """A function whose vectors may change their length, as where another model answers at the same address."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.fails = False

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise OSError("away")
        return [[1.0, float(len(text)), *[0.5] * (self.length - 2)] for text in texts]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    async with Memory.open(tmp_path / "m.db", embedder=Model(8)) as memory:
        await memory.remember("Tea")
    return tmp_path / "m.db"


async def test_a_function_with_longer_vectors_is_refused_when_it_opens(path: Path) -> None:
    with pytest.raises(EmbedderMismatchError, match=r"vectors of 8 numbers.*gives 16 now.*memorist reindex"):
        async with Memory.open(path, embedder=Model(16)):
            pass
    async with Memory.open(path, embedder=Model(8)) as memory:
        assert [hit.record.content for hit in await memory.recall("Tea")] == ["Tea"]


async def test_one_that_fails_while_it_opens_is_refused_when_it_is_used(path: Path) -> None:
    model = Model(16)
    model.fails = True
    async with Memory.open(path, embedder=model) as memory:
        assert await memory.count() == 1
        model.fails = False
        for call in (memory.recall("Tea"), memory.remember("Milk"), memory.conversation("s").append("Milk")):
            with pytest.raises(EmbedderMismatchError, match="gives 16 now"):
                await call
        assert await memory.count() == 1
        assert await memory.admin.check() == []


async def test_a_function_that_changes_while_it_is_open_stores_nothing(path: Path) -> None:
    model = Model(8)
    async with Memory.open(path, embedder=model) as memory:
        model.length = 16
        for call in (memory.recall("Coffee"), memory.remember("Milk")):
            with pytest.raises(EmbedderError, match="16 dimensions, expected 8"):
                await call
        assert await memory.count() == 1


async def test_a_store_with_vectors_of_two_lengths_says_so_and_is_mended_by_a_reindex(path: Path) -> None:
    async with Memory.open(path, embedder=Model(8)) as memory:
        await memory.remember("Milk")
    with apsw.Connection(str(path)) as connection:  # as an earlier version let it come
        connection.execute("UPDATE indexed SET vector = zeroblob(64) WHERE number = 1")
        connection.execute("DELETE FROM segments")
        connection.execute("DELETE FROM kept_indexes")
    async with Memory.open(path, embedder=Model(8)) as memory:
        with pytest.raises(EmbedderMismatchError, match=r"a vector of 16 numbers.*memorist reindex"):
            await memory.recall("Tea")
        assert await memory.admin.check() == ["1 vectors are not as long as the embedder's; run: memorist reindex"]
        await memory.admin.reindex()
        assert len(await memory.recall("Tea")) == 2
        assert await memory.admin.check() == []


async def test_a_reindex_takes_the_new_length(path: Path) -> None:
    model = CallableEmbedder(Model(16), fingerprint=CallableEmbedder(Model(8)).fingerprint)
    settings = replace(Settings.load().with_given(url=str(path)), embedder=model, reindexing=True)
    async with Memory.open(path, embedder=Model(8)) as old, Memory.open(settings=settings) as memory:
        await memory.admin.reindex()
        assert [hit.record.content for hit in await memory.recall("Tea")] == ["Tea"]
        for call in (old.remember("Milk"), old.recall("Tea")):  # another process that has it open
            with pytest.raises(EmbedderMismatchError, match="vectors of 16 numbers"):
                await call
        await memory.remember("Milk")
        assert len(await memory.recall("Tea")) == 2
