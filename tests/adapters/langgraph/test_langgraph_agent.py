"""Agents of LangChain 1.x with a memory, and a model that says what the test wants."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from memorist import Kind, Memory, sync
from memorist.adapters.langgraph import MemoryMiddleware, memory_tools
from memorist.errors import InvalidInputError, ScopeError, StoreBusyError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

MONDAY: Any = {"configurable": {"thread_id": "monday"}}
TUESDAY: Any = {"configurable": {"thread_id": "tuesday"}}


@dataclass
class Context:
    user_id: str | None


class Scripted(GenericFakeChatModel):
    """Says what is in the script, and remembers what it was told."""

    told: list[list[BaseMessage]]

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.told.append(messages)
        return super()._generate(messages, *args, **kwargs)

    @property
    def system(self) -> str:
        [*_, last] = self.told
        return "" if last[0].type != "system" else str(last[0].text)


def scripted(*answers: AIMessage | str) -> Scripted:
    return Scripted(messages=iter(answers), told=[])


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])


async def test_what_was_said_in_one_thread_is_told_in_another(alice: Memory) -> None:
    model = scripted("Noted.", "In a homestay.")
    agent: Any = create_agent(model, system_prompt="Be brief.", middleware=[MemoryMiddleware(alice, min_confidence=0)])
    await agent.ainvoke({"messages": ["I prefer homestays when I travel"]}, MONDAY)
    assert model.system == "Be brief."
    said = await agent.ainvoke({"messages": ["Which homestays do I prefer when I travel?"]}, TUESDAY)
    assert model.system.startswith("Be brief.")
    assert "I prefer homestays when I travel" in model.system
    assert [message.text for message in said["messages"]][1:] == ["In a homestay."]
    assert "memorist_context" not in said
    assert [(each.role, each.content) for each in await alice.conversation("monday").window()] == [
        ("user", "I prefer homestays when I travel"),
        ("assistant", "Noted."),
    ]


async def test_a_thread_that_goes_on_is_kept_once(alice: Memory) -> None:
    agent: Any = create_agent(scripted("a", "b"), middleware=[MemoryMiddleware(alice)], checkpointer=InMemorySaver())
    await agent.ainvoke({"messages": ["first"]}, MONDAY)
    await agent.ainvoke({"messages": ["second"]}, MONDAY)
    assert [each.content for each in await alice.conversation("monday").window()] == ["first", "a", "second", "b"]


async def test_what_is_told_is_in_no_checkpoint_and_in_no_later_turn_once_it_is_forgotten(alice: Memory) -> None:
    await alice.remember("Mira has asthma and swims on Tuesdays")
    model, saver = scripted("a", "b"), InMemorySaver()
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(alice, min_confidence=0)], checkpointer=saver)
    await agent.ainvoke({"messages": ["When does Mira swim?"]}, MONDAY)
    assert "asthma" in model.system
    steps = [(step.values, step.tasks) async for step in agent.aget_state_history(MONDAY)]
    assert len(steps) > 1
    assert "asthma" not in repr((steps, saver.storage, saver.writes, saver.blobs))
    await alice.forget(kind="note", since=0)
    await agent.ainvoke({"messages": ["When does Mira swim?"]}, MONDAY)
    assert "asthma" not in model.system


async def test_each_user_has_a_memory_of_their_own(everyone: Memory) -> None:
    middleware = MemoryMiddleware(everyone, user=lambda runtime: runtime.context.user_id, min_confidence=0)
    model = scripted("a", "b")
    agent: Any = create_agent(model, middleware=[middleware], context_schema=Context)
    await agent.ainvoke({"messages": ["I prefer homestays"]}, MONDAY, context=Context("alice"))
    await agent.ainvoke({"messages": ["Do I prefer homestays?"]}, TUESDAY, context=Context("bob"))
    assert model.system == ""
    assert await everyone.admin.users() == {"alice": 2, "bob": 2}
    with pytest.raises(InvalidInputError, match="returned no name"):
        await agent.ainvoke({"messages": ["x"]}, MONDAY, context=Context(None))
    with pytest.raises(ScopeError):
        bound = MemoryMiddleware(everyone.scoped(user="alice"), user=lambda _: "bob")
        await create_agent(scripted("a"), middleware=[bound]).ainvoke({"messages": ["x"]}, MONDAY)  # type: ignore[call-overload, unused-ignore]


async def test_without_a_thread_or_session_nothing_can_be_kept(alice: Memory) -> None:
    question: Any = {"messages": ["x"]}
    with pytest.raises(InvalidInputError, match="thread_id"):
        await create_agent(scripted("a"), middleware=[MemoryMiddleware(alice)]).ainvoke(question)
    await create_agent(scripted("a"), middleware=[MemoryMiddleware(alice, keep=False)]).ainvoke(question)
    assert await alice.count() == 0
    labelled = MemoryMiddleware(alice.scoped(session="monday"))
    await create_agent(scripted("a"), middleware=[labelled]).ainvoke(question)
    assert await alice.count(session="monday") == 2


async def test_a_store_that_fails_does_not_hold_up_the_agent(
    alice: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def busy(*args: Any, **kwargs: Any) -> Any:
        raise StoreBusyError("another process holds the store")

    monkeypatch.setattr(Memory, "recall", busy)
    monkeypatch.setattr(Memory, "remember", busy)
    monkeypatch.setattr(Memory, "context", busy)
    agent: Any = create_agent(scripted("a"), middleware=[MemoryMiddleware(alice)])
    with caplog.at_level(logging.WARNING, "memorist"):
        said = await agent.ainvoke({"messages": ["x"]}, MONDAY)
    assert said["messages"][-1].text == "a"
    told = [record for record in caplog.records if record.name.startswith("memorist")]
    assert [record.message.partition(":")[0] for record in told] == [
        "memory failed, so the turn continues without it",
        "memory failed, so this turn was not stored",
    ]


@pytest.fixture
def blocking() -> Iterator[sync.Memory]:
    with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        yield memory.scoped(user="alice")


def test_a_blocking_agent_does_the_same(blocking: sync.Memory) -> None:
    model = scripted("Noted.", "In a homestay.")
    agent: Any = create_agent(model, middleware=[MemoryMiddleware(blocking, min_confidence=0)])
    agent.invoke({"messages": ["I prefer homestays"]}, MONDAY)
    agent.invoke({"messages": ["Which homestays do I prefer?"]}, TUESDAY)
    assert "I prefer homestays" in model.system
    assert blocking.count(session="monday") == 2


async def test_a_model_saves_and_searches_with_the_tools(alice: Memory) -> None:
    model = scripted(
        calling("add_memory", content="Prefers homestays"),
        calling("search_memories", query="homestays"),
        calling("update_memory", id="none", content="x"),
        "Done.",
    )
    agent: Any = create_agent(model, tools=memory_tools(alice))
    said = await agent.ainvoke({"messages": ["Remember that I like homestays"]})
    saved, found, failed = (each for each in said["messages"] if isinstance(each, ToolMessage))
    [record] = await alice.recent(kind=Kind.NOTE)
    assert json.loads(saved.text) == {"id": record.id}
    assert json.loads(found.text)[0]["text"] == "Prefers homestays"
    assert failed.status == "error"
    assert "none" in failed.text


def test_the_tools_work_in_blocking_agents_and_can_be_chosen(blocking: sync.Memory) -> None:
    tools = memory_tools(blocking, only={"add_memory"})
    assert [tool.name for tool in tools] == ["add_memory"]
    create_agent(scripted(calling("add_memory", content="x"), "Done."), tools=tools).invoke({"messages": ["x"]})  # type: ignore[call-overload, unused-ignore]
    assert blocking.count() == 1
    with pytest.raises(InvalidInputError, match="no tool"):
        memory_tools(blocking, only={"read_minds"})
