"""What is written through an adapter has the adapter's name as its door, and as its authors those who said it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memorist.memory import Memory
from memorist.records.record import Kind

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


async def mem0_says(memory: Memory) -> None:
    from memorist.adapters.mem0 import AsyncMemory

    said = [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "It is closed"}]
    await AsyncMemory(memory=memory).add(said, user_id="alice", infer=False)


async def agentscope_says(memory: Memory) -> None:
    from memorist.adapters.agentscope import DurableMemory, Msg

    result = {"type": "tool_result", "id": "1", "name": "look", "output": "closed"}
    buffer = DurableMemory(memory.scoped(session="monday"))
    await buffer.add([Msg("alice", "Is it open?", "user"), Msg("system", [result], "system")])
    await buffer.update_compressed_summary("It is closed")


async def promptise_says(memory: Memory) -> None:
    from memorist.adapters.promptise import MemoristProvider

    await MemoristProvider(memory).add("User: Open?\nAssistant: No.", metadata={"source": "auto_store"})


@pytest.mark.parametrize(
    ("write", "authors"),
    [
        (mem0_says, {"Is it open?": ["user"], "It is closed": ["assistant"]}),
        (
            agentscope_says,
            {"Is it open?": ["user"], "look: closed": ["tool"], '"It is closed"': ["user", "assistant", "tool"]},
        ),
        (strands, {"Likes tea": ["assistant"]}),
        (promptise_says, {"User: Open?\nAssistant: No.": ["user", "assistant"]}),
    ],
)
async def test_what_models_and_tools_say_is_not_the_users(
    write: Callable[[Memory], Awaitable[Any]], authors: dict[str, list[str]], alice: Memory
) -> None:
    await write(alice)
    written = alice.iterate(kind=tuple(Kind))  # a summary is what the framework keeps
    assert {record.content: record.origin.authors.names async for record in written} == authors
