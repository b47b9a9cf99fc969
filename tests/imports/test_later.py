"""What is stored to be embedded later is found by its words at once, and by its meaning in the end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from imported import Write
from memorist import Memory
from memorist.cli.serve import _embed_missing
from memorist.embedders import Role, Vectors
from memorist.errors import EmbedderUnavailableError
from memorist.imports import load
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder
from servers import running

pytestmark = pytest.mark.anyio


class Counting(HashEmbedder):
    """Counts the documents that it embeds, and is away after some."""

    def __init__(self, most: int = 10_000) -> None:
        super().__init__()
        self.embedded, self.most = 0, most

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        if role is Role.DOCUMENT:
            self.embedded += len(texts)
            if self.embedded > self.most:
                raise EmbedderUnavailableError("away")
        return await super().embed(texts, role)


def chat(write: Write, messages: int = 40) -> Path:
    lines = [f"31.12.23, 21:{number:02} - Anna: Number {number} is a violin\n" for number in range(messages)]
    return write("WhatsApp Chat with Bob.txt", "".join(lines))


async def test_words_find_them_at_once_and_meaning_later(tmp_path: Path, write: Write) -> None:
    embedder = Counting()
    async with Memory.open(tmp_path / "later.db", embedder=embedder) as memory:
        report = await load(memory, chat(write), embed="later")
        assert (report.added, embedder.embedded) == (40, 0)
        [hit, *_] = await memory.recall("which number is 7?", limit=1)
        assert hit.record.content == "Number 7 is a violin" and hit.similarity == 0
        await memory.remember("Number 7 again")  # embedded at once, beside what waits
        told: list[tuple[int, int]] = []
        assert await memory.admin.reindex(lambda done, total: told.append((done, total)), missing=True) == 40
        assert told[-1] == (40, 40) and embedder.embedded > 40
        [hit, *_] = await memory.recall("Number 7 is a violin", limit=1)
        assert hit.similarity == pytest.approx(1, abs=1e-3)
        assert await memory.admin.reindex(missing=True) == 0
        assert len(await memory.history(hit.record.id)) == 1


async def test_they_rank_then_as_if_they_had_been_embedded_at_once(tmp_path: Path, write: Write) -> None:
    found = []
    for embed in ("now", "later"):
        async with Memory.open(tmp_path / f"{embed}.db", embedder=HashEmbedder()) as memory:
            await load(memory, chat(write), embed=embed)
            await memory.admin.reindex(missing=True)
            hits = await memory.recall("the violin of number 12", limit=5)
            found.append([(hit.record.id, round(hit.score, 3), round(hit.similarity, 3)) for hit in hits])
    assert found[0] == found[1]


async def test_what_waits_is_embedded_after_a_failure_and_by_another_process(tmp_path: Path, write: Write) -> None:
    async with Memory.open(tmp_path / "later.db", embedder=Counting(0)) as memory:
        await load(memory, chat(write), embed="later")
        with pytest.raises(EmbedderUnavailableError):
            await memory.admin.reindex(missing=True)
        [record] = await memory.recent(1)
        await memory.forget(record.id)
    async with Memory.open(tmp_path / "later.db", embedder=HashEmbedder()) as memory:
        assert await memory.admin.reindex(missing=True) == 39


async def test_an_import_at_a_server_is_embedded_there(memory: Memory, write: Write) -> None:
    async with running(create_app(memory, open=True)) as url, Memory.connect(url) as client:
        assert (await load(client, chat(write), embed="later")).added == 40
        assert await client.admin.reindex(missing=True) == 40
        [hit] = await client.recall("Number 7 is a violin", limit=1)
        assert hit.similarity > 0.9


async def test_a_server_embeds_what_waits(memory: Memory, write: Write) -> None:
    await load(memory, chat(write), embed="later")
    going = asyncio.create_task(_embed_missing(memory))
    while not (found := await memory.recall("Number 7 is a violin", limit=1))[0].similarity:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    going.cancel()
    assert found[0].similarity > 0.9
