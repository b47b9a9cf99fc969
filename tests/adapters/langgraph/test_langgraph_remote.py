"""The store and the checkpointer on a memory that is at a server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.graph")
pytest.importorskip("uvicorn")

from langgraph.checkpoint.base import empty_checkpoint

from memorist import Memory
from memorist.adapters.langgraph import MemoristSaver, MemoristStore
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder
from servers import running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def connected(tmp_path: Path) -> AsyncIterator[Memory]:
    async with (
        Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as stored,
        running(create_app(stored, open=True)) as url,
        Memory.connect(url, user="alice") as memory,
    ):
        yield memory


async def test_a_store_works_at_a_server(connected: Memory) -> None:
    store = MemoristStore(connected)
    await asyncio.gather(*(store.aput(("a", f"n{n}"), "k", {"text": f"homestay {n}", "n": n}) for n in range(5)))
    await store.aput(("a", "n1"), "k", {"text": "a fast red car"}, ttl=10)
    await store.adelete(("a", "n2"), "k")
    [found] = await store.asearch(("a",), query="fast red car", limit=1)
    assert found.value == {"text": "a fast red car"}
    assert [item.value["n"] for item in await store.asearch(("a",), filter={"n": {"$gte": 3}})] == [4, 3]
    assert await store.alist_namespaces(prefix=("a",)) == [("a", f"n{n}") for n in (0, 1, 3, 4)]


async def test_a_checkpointer_works_at_a_server(connected: Memory) -> None:
    saver = MemoristSaver(connected)
    config: Any = {"configurable": {"thread_id": "monday", "checkpoint_ns": ""}}
    for step in range(3):
        checkpoint = {**empty_checkpoint(), "channel_values": {"step": step}}
        config = await saver.aput(config, checkpoint, {"step": step}, {})  # type: ignore[arg-type]
    await saver.aput_writes(config, [("step", 3)], "task")
    steps = [
        each.checkpoint["channel_values"]["step"]
        async for each in saver.alist({"configurable": {"thread_id": "monday"}})
    ]
    assert steps == [2, 1, 0]
    latest = await saver.aget_tuple({"configurable": {"thread_id": "monday"}})
    assert latest is not None
    assert latest.pending_writes == [("task", "step", 3)]
    await saver.aprune(["monday"])
    assert len([each async for each in saver.alist({"configurable": {"thread_id": "monday"}})]) == 1
    await saver.adelete_thread("monday")
    assert await connected.count() == 0
