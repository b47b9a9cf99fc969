"""Every engine keeps the contract of a memory: local, at a server, and traced."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memorist.engine.traced import Watch
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder, MemoryContract
from servers import running


class TestLocal(MemoryContract):
    @asynccontextmanager
    async def memory(self) -> AsyncIterator[Memory]:
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            yield memory


class TestTraced(MemoryContract):
    @asynccontextmanager
    async def memory(self) -> AsyncIterator[Memory]:
        async with Memory.open(":memory:", embedder=HashEmbedder()).traced(Watch(None)) as memory:
            yield memory


class TestRemote(MemoryContract):
    @asynccontextmanager
    async def memory(self) -> AsyncIterator[Memory]:
        async with (
            Memory.open(":memory:", embedder=HashEmbedder()) as stored,
            running(create_app(stored, open=True)) as url,
            Memory.connect(url) as memory,
        ):
            yield memory
