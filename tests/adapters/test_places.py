"""Where a face wants a memory it takes an open one, asynchronous or blocking, or the path of one."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist import sync
from memorist.adapters import opening
from memorist.memory import Memory
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    opening.close_opened()


async def adk_memory(memory: Any) -> None:
    pytest.importorskip("google.adk")
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

    from memorist.adapters.adk import MemoristMemoryService

    entry = MemoryEntry(content=Content(parts=[Part(text="Likes tea")]))
    await MemoristMemoryService(memory).add_memory(app_name="a", user_id="alice", memories=[entry])


async def adk_sessions(memory: Any) -> None:
    pytest.importorskip("google.adk")
    from memorist.adapters.adk import MemoristSessionService

    await MemoristSessionService(memory).create_session(app_name="a", user_id="alice")


async def agent_framework(memory: Any) -> None:
    pytest.importorskip("agent_framework")
    from agent_framework import Message

    from memorist.adapters.agent_framework import MemoristContextProvider, MemoristHistoryProvider, memory_tools

    MemoristContextProvider(memory)
    memory_tools(memory)
    await MemoristHistoryProvider(memory).save_messages("monday", [Message("user", ["I like tea"])])


async def agentscope(memory: Any) -> None:
    from memorist.adapters.agentscope import DurableMemory, Msg

    await DurableMemory(memory, session="monday").add(Msg("alice", "I like tea", "user"))


async def agentscope_flows(memory: Any) -> None:
    from memorist.adapters.agentscope import ReMePersonalLongTermMemory

    async with ReMePersonalLongTermMemory("agent", "alice", memory=memory) as flows:
        await flows.record_to_memory("", ["Likes tea"])


async def claude(memory: Any) -> None:
    pytest.importorskip("claude_agent_sdk")
    from memorist.adapters.claude import MemoristSessionStore

    entry: Any = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "I like tea"}}
    await MemoristSessionStore(memory).append({"project_key": "p", "session_id": "s"}, [entry])


async def crewai(memory: Any) -> None:
    pytest.importorskip("crewai")
    from crewai.memory.types import MemoryRecord

    from memorist.adapters.crewai import MemoristStorage

    await MemoristStorage(memory).asave([MemoryRecord(content="Likes tea")])


async def langgraph_saver(memory: Any) -> None:
    pytest.importorskip("langgraph.checkpoint.base")
    from langgraph.checkpoint.base import empty_checkpoint

    from memorist.adapters.langgraph import MemoristSaver

    config: Any = {"configurable": {"thread_id": "monday", "checkpoint_ns": ""}}
    await MemoristSaver(memory).aput(config, empty_checkpoint(), {}, {})


async def langgraph_store(memory: Any) -> None:
    pytest.importorskip("langgraph.store.base")
    from memorist.adapters.langgraph import MemoristStore

    await MemoristStore(memory).aput(("memories",), "k", {"text": "Likes tea"})


async def llama_index(memory: Any) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import ChatMessage

    from memorist.adapters.llama_index import MemoristMemoryBlock

    said = ChatMessage(role="user", content="I like tea", additional_kwargs={"session_id": "monday"})
    await MemoristMemoryBlock(memory=memory).aput([said])


async def llm_agents(memory: Any) -> None:
    pytest.importorskip("llm_agents_from_scratch")
    from memorist.adapters.llm_agents import Episode, MemoristMemoryStore, Task

    store = MemoristMemoryStore(memory)
    await store.write(Episode(task=Task(instruction="tea"), rollout=""))
    await store.close()


async def local2(memory: Any) -> None:
    from memorist.adapters.local2 import MemoryService

    with MemoryService({}, memory=memory) as service:
        service.write_topic("user.drink", "tea")


async def mango(memory: Any) -> None:
    from memorist.adapters.mango import AgentMemory

    await AgentMemory(memory).save_text("Likes tea")


async def mem0(memory: Any) -> None:
    from memorist.adapters.mem0 import AsyncMemory

    async with AsyncMemory(memory=memory) as face:
        await face.add("Likes tea", user_id="alice", infer=False)


async def openai_agents(memory: Any) -> None:
    pytest.importorskip("agents.memory")
    from memorist.adapters.openai_agents import MemoristSession, memory_tools

    memory_tools(memory)
    await MemoristSession("monday", memory).add_items([{"role": "user", "content": "I like tea"}])


async def promptise(memory: Any) -> None:
    from memorist.adapters.promptise import MemoristProvider

    await MemoristProvider(memory).add("Likes tea")


async def pydantic_ai(memory: Any) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from memorist.adapters.pydantic_ai import MemoristCapability

    agent = Agent(TestModel(call_tools=[]), capabilities=[MemoristCapability(memory, tools=True)])
    await agent.run("I like tea")


async def strands(memory: Any) -> None:
    pytest.importorskip("strands")
    from memorist.adapters.strands import MemoristStore

    await MemoristStore(memory).add("Likes tea")


FACES = [
    adk_memory, adk_sessions, agent_framework, agentscope, agentscope_flows, claude, crewai, langgraph_saver,
    langgraph_store, llama_index, llm_agents, local2, mango, mem0, openai_agents, promptise, pydantic_ai, strands,
]  # fmt: skip
faces = pytest.mark.parametrize("face", FACES, ids=lambda each: each.__name__)
Face = Callable[[Any], Awaitable[None]]


@faces
@pytest.mark.parametrize("form", [str, Path], ids=["text", "path"])
async def test_a_face_opens_the_memory_at_a_path(face: Face, form: type, tmp_path: Path) -> None:
    await face(form(tmp_path / "own.db"))
    await face(form(tmp_path / "own.db"))  # another face at the same place
    opening.close_opened()
    async with Memory.open(tmp_path / "own.db") as memory:
        assert await memory.count(kind=tuple(Kind), everyone=True) > 0


@faces
async def test_a_face_takes_a_blocking_memory_and_leaves_it_open(face: Face, tmp_path: Path) -> None:
    with sync.Memory.open(tmp_path / "own.db") as memory:
        await face(memory)
        assert memory.count(kind=tuple(Kind), everyone=True) > 0


@faces
@pytest.mark.parametrize("wrong", [7, object(), ["own.db"]], ids=["number", "object", "list"])
async def test_a_face_says_what_is_no_memory(face: Face, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"pass an open Memory.* path or URL"):  # some frameworks wrap the error
        await face(wrong)


async def test_faces_at_one_place_share_what_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = opening.behind(tmp_path / "own.db", "mango")
    await first.remember("Likes tea")
    second = opening.behind("own.db", "strands")
    assert await second.count() == 1
    assert first._engine is second._engine
