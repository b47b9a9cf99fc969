"""MemoryMiddleware in AgentScope 2.x's own Agent, with a chat model that answers by a script."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentscope_script import NOTE, Script
from memorist.adapters import agentscope
from memorist.adapters.agentscope import (
    LongTermMemoryBase,
    Mem0LongTermMemory,
    MemoryMiddleware,
    ReMePersonalLongTermMemory,
)
from memorist.adapters.agentscope.types import agentscope_version
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(agentscope_version() == 2, reason="AgentScope 2 is installed")
def test_without_agentscope_2_the_error_names_the_command() -> None:
    with pytest.raises(ImportError, match=r"pip install 'agentscope>=2,<3'"):
        MemoryMiddleware(LongTermMemoryBase())


def test_every_name_can_be_imported_whatever_is_installed() -> None:
    names: dict[str, Any] = {}
    exec("from memorist.adapters.agentscope import *", names)
    assert set(agentscope.__all__) <= set(names)


class Scripted:
    """AgentScope's agent with a memory, and what its model was asked."""

    def __init__(self, memory: Any, mode: str, *replies: Any) -> None:
        self.middleware = MemoryMiddleware(memory, mode=mode)  # type: ignore[arg-type]
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []

    async def agent(self) -> Any:
        from agentscope.agent import Agent
        from agentscope.credential import CredentialBase
        from agentscope.formatter import OpenAIChatFormatter
        from agentscope.message import TextBlock, ToolCallBlock
        from agentscope.model import ChatModelBase, ChatResponse
        from agentscope.tool import Toolkit

        script = self

        class Model(ChatModelBase):
            formatter = OpenAIChatFormatter()

            async def _call_api(self, model_name: str, messages: Any, tools: Any = None, **_: Any) -> Any:
                names = [each["function"]["name"] for each in tools or []]
                script.asked.append({"messages": [each.model_dump(mode="json") for each in messages], "tools": names})
                reply = script.replies.pop(0)
                if isinstance(reply, str):
                    return ChatResponse(content=[TextBlock(text=reply)], is_last=True)
                name, arguments = reply
                call = ToolCallBlock(id=f"call-{len(script.asked)}", name=name, input=json.dumps(arguments))
                return ChatResponse(content=[call], is_last=True)

        return Agent(
            name="Friday",
            system_prompt="You are Friday.",
            model=Model(CredentialBase(), "scripted", Model.Parameters(), stream=False),
            toolkit=Toolkit(tools=await self.middleware.list_tools()),
            middlewares=[self.middleware],
        )

    def seen(self, number: int = -1) -> str:
        return json.dumps(self.asked[number]["messages"])


def user(text: str) -> Any:
    from agentscope.message import UserMsg

    return UserMsg(name="Alice", content=text)


@pytest.mark.agentscope2
async def test_static_control_retrieves_before_a_reply_and_records_the_exchange_once_after_it(personal: Any) -> None:
    script = Scripted(personal, "static_control", "Green tea, then.", "You are welcome.")
    agent = await script.agent()
    reply = await agent.reply(user("Which tea should I order?"))
    assert reply.get_text_content() == "Green tea, then."
    assert not {"record_to_memory", "retrieve_from_memory"} & set(script.asked[0]["tools"])
    assert json.dumps(NOTE)[1:-1] in script.seen(0)
    assert personal.app.recorded == [["Which tea should I order?", "Green tea, then."]]

    await agent.reply(user("Thank you"))
    assert personal.app.recorded[1:] == [["Thank you", "You are welcome."]]
    notes = [each for each in agent.state.context if each.name == "long_term_memory"]
    assert [each.role for each in notes] == ["user"]


@pytest.mark.agentscope2
async def test_agent_control_gives_the_agent_two_tools_and_records_nothing_by_itself(
    personal: Any, memory: Memory
) -> None:
    script = Scripted(
        personal,
        "agent_control",
        ("retrieve_from_memory", {"keywords": ["tea"]}),
        ("record_to_memory", {"thinking": "She said so", "content": ["Alice likes jazz"]}),
        "I shall remember.",
    )
    agent = await script.agent()
    reply = await agent.reply(user("Which tea do I like? And I like jazz."))
    assert reply.get_text_content() == "I shall remember."
    assert {"record_to_memory", "retrieve_from_memory"} <= set(script.asked[0]["tools"])
    assert "long_term_memory>" not in script.seen(0)
    assert "Keyword 'tea':\\nAlice likes green tea" in script.seen(1)
    assert "Successfully recorded 1 memory/memories to personal memory." in script.seen(2)
    facts = {each.content for each in await memory.scoped(user="alice").facts.all()}
    assert facts == {"Alice likes green tea", "Alice likes jazz"}


@pytest.mark.agentscope2
async def test_both_does_both_and_never_records_what_was_recalled(personal: Any) -> None:
    script = Scripted(personal, "both", ("retrieve_from_memory", {"keywords": ["tea"]}), "You like it green.")
    agent = await script.agent()
    await agent.reply(user("Which tea do I like?"))
    assert {"record_to_memory", "retrieve_from_memory"} <= set(script.asked[0]["tools"])
    assert json.dumps(NOTE)[1:-1] in script.seen(0)
    assert "Keyword 'tea':" in script.seen(1)
    assert personal.app.recorded == [["Which tea do I like?", "You like it green."]]


@pytest.mark.agentscope2
async def test_what_a_tool_is_told_cannot_name_another_user(personal: Any, memory: Memory) -> None:
    arguments = {"thinking": "", "content": ["x"], "workspace_id": "bob", "user_name": "bob"}
    script = Scripted(personal, "agent_control", ("record_to_memory", arguments), "Done.")
    agent = await script.agent()
    await agent.reply(user("Write to Bob's memory"))
    assert set(await memory.admin.users()) == {"alice"}


@pytest.mark.agentscope2
async def test_what_a_failing_model_left_without_an_answer_is_recorded_with_the_next_one(personal: Any) -> None:
    script = Scripted(personal, "static_control")
    agent = await script.agent()
    with pytest.raises(IndexError):  # the script has no reply
        await agent.reply(user("I like jazz"))
    script.replies = ["Noted."]
    await agent.reply(user("Are you there?"))
    assert personal.app.recorded == [["I like jazz", "Are you there?", "Noted."]]


@pytest.mark.agentscope2
async def test_a_failing_memory_does_not_keep_the_agent_from_answering(personal: Any, memory: Memory) -> None:
    script = Scripted(personal, "both", "Hello.")
    agent = await script.agent()
    await memory.close()
    with pytest.warns(UserWarning, match="Error re"):
        reply = await agent.reply(user("Hello"))
    assert reply.get_text_content() == "Hello."


@pytest.mark.agentscope2
async def test_a_memory_that_was_not_entered_is_a_warning_not_a_failure(memory: Memory) -> None:
    script = Scripted(ReMePersonalLongTermMemory(user_name="alice", memory=memory), "static_control", "Hello.")
    agent = await script.agent()
    with pytest.warns(UserWarning, match="async with"):
        assert (await agent.reply(user("Hello"))).get_text_content() == "Hello."


@pytest.mark.agentscope2
async def test_there_are_three_modes(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="mode"):
        MemoryMiddleware(ReMePersonalLongTermMemory(memory=memory), mode="auto")  # type: ignore[arg-type]


@pytest.mark.agentscope2
@pytest.mark.mem0
async def test_mem0_serves_the_middleware_too(tmp_path: Any) -> None:
    async def nothing(messages: Any) -> str:
        return '{"facts": [], "memory": []}'

    place: dict[str, Any] = {"path": str(tmp_path / "vectors"), "embedding_model": HashEmbedder()}
    async with Mem0LongTermMemory(user_name="alice", model=nothing, **place) as mem0:
        await mem0.record_to_memory("", ["Alice likes green tea"])
        script = Scripted(mem0, "both", "Green.")
        await (await script.agent()).reply(user("Which tea?"))
        assert json.dumps(NOTE)[1:-1] in script.seen(0)


@pytest.mark.agentscope2
async def test_models_of_agentscope_2_serve_the_engine(tmp_path: Any) -> None:
    from agentscope.credential import CredentialBase
    from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse
    from agentscope.message import TextBlock
    from agentscope.model import ChatModelBase, ChatResponse

    from memorist.adapters.agentscope import Msg

    script = Script(facts={"facts": [{"statement": "Alice likes green tea", "date": "", "message": 1}]})

    class Chat(ChatModelBase):
        async def _call_api(self, model_name: str, messages: Any, *_: Any, **__: Any) -> Any:
            plain = [{"role": each.role, "content": each.get_text_content()} for each in messages]
            answer = await script([*plain], {"properties": {"facts": {}}})

            async def parts() -> AsyncIterator[Any]:
                yield ChatResponse(content=[TextBlock(text=answer[:9])], is_last=False)
                yield ChatResponse(content=[TextBlock(text=answer)], is_last=True)

            return parts() if self.stream else ChatResponse(content=[TextBlock(text=answer)], is_last=True)

    class Embedding(EmbeddingModelBase):  # type: ignore[type-arg]
        async def _call_api(self, inputs: list[Any], **_: Any) -> Any:
            return EmbeddingResponse(embeddings=[[1.0, float(len(each)), 2.0] for each in inputs])

    for stream in (False, True):
        chat = Chat(CredentialBase(), "scripted", Chat.Parameters(), stream=stream)
        embedder = Embedding(CredentialBase(), "lengths", 3, None, 1000, 10, 0, 0.0)
        path = tmp_path / f"{stream}.db"
        async with ReMePersonalLongTermMemory(
            user_name="alice", memory=path, model=chat, embedding_model=embedder
        ) as one:
            await one.record([Msg("Alice", "I like it", "user")])
            assert await one.retrieve(Msg("Alice", "drinks?", "user")) == "Alice likes green tea"
