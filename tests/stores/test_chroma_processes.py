"""The Chroma store under other processes: killed in the middle of writing, and writing at the same time."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("chromadb")

from memorist.memory import Memory
from memorist.testing import HashEmbedder
from stores.chroma_server import running_server

pytestmark = pytest.mark.anyio

WRITER = """
import asyncio, sys
from memorist import Memory

async def main(url):
    async with Memory.open(url, embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        for n in range(10_000):
            await alice.remember([f"first of {n}", f"second of {n}"], metadata={"n": n})
            print(n, flush=True)

asyncio.run(main(sys.argv[1]))
"""
REVISER = """
import asyncio, sys
from memorist import Memory

async def main(url, name):
    async with Memory.open(url, embedder="hash") as memory:
        for n in range(15):
            await memory.revise("counter", content=f"by {name}, {n}")
            await memory.remember(f"of {name}, {n}")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("server")) as url:
        yield url


def start(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def killed_after(lines: int, url: str) -> list[int]:
    """Run a writer, kill it, and return what it said was stored."""
    writer = start(WRITER, url)
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(lines)]
    writer.kill()
    said += [int(line) for line in writer.stdout if line.endswith("\n")]
    writer.wait(30)
    writer.stdout.close()
    return said


@pytest.mark.parametrize("lines", [1, 4, 9])
async def test_a_kill_loses_nothing_acknowledged_and_leaves_nothing_half(tmp_path: Path, lines: int) -> None:
    url = f"chroma:{tmp_path}"
    said = await asyncio.to_thread(killed_after, lines, url)

    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        stored = [record.metadata["n"] for record in (await alice.browse(order="oldest", limit=1000)).records]
        assert set(said) <= set(stored)
        assert stored == sorted([*set(stored), *set(stored)])  # both of each batch
        [hit] = await alice.recall(f"second of {said[-1]}", limit=1)
        assert hit.similarity == pytest.approx(1, abs=1e-5)
        await alice.remember("and on it goes")


async def test_processes_that_write_at_once_lose_nothing(server: str) -> None:
    url = f"{server}?collection={uuid.uuid4().hex}"
    async with Memory.open(url, embedder=HashEmbedder()) as memory:
        await memory.remember("a counter", id="counter")
        revisers = [start(REVISER, url, name) for name in "ab"]
        for reviser in revisers:
            await asyncio.to_thread(reviser.communicate, timeout=300)
            assert reviser.returncode == 0

        counter = await memory.get("counter")
        assert counter is not None
        assert counter.version == 31
        assert len(await memory.history("counter")) == 31
        assert await memory.count() == 31
        found = {hit.record.content for hit in await memory.recall("of a", limit=40)}
        assert {f"of a, {n}" for n in range(15)} <= found
