"""What is written through an adapter has the adapter's name as its door."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memorist.memory import Memory

pytestmark = pytest.mark.anyio


async def langgraph(memory: Memory) -> None:
    pytest.importorskip("langgraph.store.base")
    from memorist.adapters.langgraph import MemoristStore

    await MemoristStore(memory).aput(("memories",), "k", {"text": "Likes tea"})


async def openai_agents(memory: Memory) -> None:
    pytest.importorskip("agents.memory")  # `agents` alone may be the folder of tests
    from memorist.adapters.openai_agents import MemoristSession

    await MemoristSession("monday", memory).add_items([{"role": "user", "content": "I like tea"}])


async def strands(memory: Memory) -> None:
    pytest.importorskip("strands")
    from memorist.adapters.strands import MemoristStore

    await MemoristStore(memory).add("Likes tea")


async def mem0(memory: Memory) -> None:
    from memorist.adapters.mem0 import AsyncMemory

    await AsyncMemory(memory=memory).add("Likes tea", user_id="alice", infer=False)


async def mango(memory: Memory) -> None:
    from memorist.adapters.mango import AgentMemory

    await AgentMemory(memory).save_text("Likes tea")


async def agentscope(memory: Memory) -> None:
    from memorist.adapters.agentscope import DurableMemory, Msg

    await DurableMemory(memory.scoped(session="monday")).add(Msg("alice", "I like tea", "user"))


@pytest.mark.parametrize(
    "write", [langgraph, openai_agents, strands, mem0, mango, agentscope], ids=lambda each: each.__name__
)
async def test_an_adapter_names_itself(write: Callable[[Memory], Awaitable[Any]], alice: Memory) -> None:
    await write(alice)
    assert {record.origin.door async for record in alice.iterate()} == {write.__name__}
    await alice.remember("Likes coffee", id="own")
    own = await alice.get("own")
    assert own is not None and own.origin.door == "python", "the memory that was handed in is as it was"
