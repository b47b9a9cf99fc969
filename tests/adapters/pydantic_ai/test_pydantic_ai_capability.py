"""Agents of Pydantic AI that are told what the memory knows and keep what was said."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.capabilities")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from memorist import Memory, sync
from memorist.adapters.pydantic_ai import MemoristCapability
from memorist.errors import InvalidInputError, ScopeError, StoreBusyError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


@dataclass
class Deps:
    user: str | None


class Script:
    """A model that says one thing after another, and what it was told each time."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.told: list[str] = []

    def model(self) -> FunctionModel:
        def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.told.append(str([getattr(part, "content", "") for each in messages for part in each.parts]))
            answer = self.answers.pop(0)
            return ModelResponse([TextPart(answer) if isinstance(answer, str) else answer])

        return FunctionModel(say)


def remembering(memory: Memory, **given: Any) -> MemoristCapability:
    return MemoristCapability(memory, options={"min_confidence": 0}, **given)


async def test_what_was_said_in_one_conversation_is_told_in_another(alice: Memory) -> None:
    script = Script("Noted.", "In a homestay.")
    agent = Agent(script.model(), instructions="Be brief.", capabilities=[remembering(alice)])
    await agent.run("I prefer homestays when I travel", conversation_id="monday")
    result = await agent.run("Which homestays do I prefer when I travel?", conversation_id="tuesday")
    assert script.told[0].count("I prefer homestays") == 1
    assert "I prefer homestays when I travel" in script.told[1]
    assert "I prefer homestays when I travel" not in str(result.all_messages())
    assert "I prefer homestays when I travel" not in str(result.all_messages()[0].instructions)  # type: ignore[union-attr, unused-ignore]
    kept = [(each.role, each.content) for each in await alice.conversation("monday").window()]
    assert kept == [("user", "I prefer homestays when I travel"), ("assistant", "Noted.")]


async def test_a_conversation_that_goes_on_is_kept_once(alice: Memory) -> None:
    agent = Agent(Script("a", "b").model(), capabilities=[remembering(alice)])
    first = await agent.run("first", conversation_id="monday")
    await agent.run("second", message_history=first.all_messages(), conversation_id="monday")
    kept = [each.content for each in await alice.conversation("monday").window()]
    assert kept == ["first", "a", "second", "b"]


async def test_each_user_has_a_memory_of_their_own(everyone: Memory) -> None:
    script = Script("a", "b", "c")
    capability = remembering(everyone, user=lambda ctx: ctx.deps.user)
    agent = Agent(script.model(), deps_type=Deps, capabilities=[capability])
    await agent.run("I prefer homestays", deps=Deps("alice"), conversation_id="monday")
    await agent.run("Do I like homes?", deps=Deps("bob"), conversation_id="monday")
    assert "prefer" not in script.told[1]
    assert await everyone.admin.users() == {"alice": 2, "bob": 2}
    with pytest.raises(InvalidInputError, match="returned no name"):
        await agent.run("x", deps=Deps(None))
    bound = remembering(everyone.scoped(user="alice"), user=lambda ctx: ctx.deps.user)
    with pytest.raises(ScopeError):
        await Agent(TestModel(), deps_type=Deps, capabilities=[bound]).run("x", deps=Deps("bob"))


async def test_it_is_told_once_for_all_requests_of_a_run(alice: Memory) -> None:
    await alice.remember("Prefers homestays")
    script = Script(ToolCallPart("look", {}), "Done.")
    agent = Agent(script.model(), capabilities=[remembering(alice)])

    @agent.tool_plain  # type: ignore[untyped-decorator, unused-ignore]
    def look() -> str:
        return "a homestay is free"

    await agent.run("Which homestays?")
    assert [told.count("Prefers homestays") for told in script.told] == [1, 1]


async def test_the_tools_save_and_search_and_say_what_failed(everyone: Memory) -> None:
    script = Script(
        ToolCallPart("add_memory", {"content": "Prefers homestays"}),
        ToolCallPart("search_memories", {"query": "homestays"}),
        ToolCallPart("update_memory", {"id": "none", "content": "x"}),
        "Done.",
    )
    capability = remembering(everyone, user=lambda ctx: ctx.deps.user, keep=False, tools=True)
    agent = Agent(script.model(), deps_type=Deps, capabilities=[capability])
    result = await agent.run("Remember that I like homestays", deps=Deps("alice"))
    returned = [part for each in result.all_messages() for part in each.parts if isinstance(part, ToolReturnPart)]
    [record] = await everyone.scoped(user="alice").recent()
    assert returned[0].content == {"id": record.id}
    assert returned[1].content[0]["text"] == "Prefers homestays"  # type: ignore[index, unused-ignore]
    assert "none" in str(returned[2].content)
    assert await everyone.admin.users() == {"alice": 1}
    chosen = remembering(everyone, tools=frozenset({"search_memories"})).get_toolset()
    assert chosen is not None
    assert list(chosen.tools) == ["search_memories"]
    assert remembering(everyone).get_toolset() is None


async def test_a_store_that_fails_does_not_hold_up_the_run(
    alice: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def busy(*args: Any, **kwargs: Any) -> Any:
        raise StoreBusyError("another process holds the store")

    monkeypatch.setattr(Memory, "context", busy)
    monkeypatch.setattr(Memory, "remember", busy)
    with caplog.at_level(logging.WARNING, "memorist"):
        result = await Agent(TestModel(custom_output_text="a"), capabilities=[remembering(alice)]).run("x")
    assert result.output == "a"
    told = [record for record in caplog.records if record.name.startswith("memorist")]
    assert [record.message.partition(":")[0] for record in told] == [
        "memory failed, so the turn continues without it",
        "memory failed, so this turn was not stored",
    ]


async def test_streams_are_told_and_kept_too(alice: Memory) -> None:
    await alice.remember("Prefers homestays")
    agent = Agent(TestModel(custom_output_text="In a homestay."), capabilities=[remembering(alice)])
    async with agent.run_stream("Which homestays?", conversation_id="monday") as stream:
        assert await stream.get_output() == "In a homestay."
    assert [each.content for each in await alice.conversation("monday").window()] == [
        "Which homestays?",
        "In a homestay.",
    ]


def test_blocking_runs_work_with_a_blocking_memory() -> None:
    loop = asyncio.new_event_loop()  # `run_sync` makes one that nobody closes
    asyncio.set_event_loop(loop)
    try:
        with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            agent = Agent(TestModel(custom_output_text="a"), capabilities=[MemoristCapability(memory)])
            agent.run_sync("I prefer homestays", conversation_id="monday")
            assert memory.count(session="monday") == 2
    finally:
        asyncio.set_event_loop(None)
        loop.close()
