"""AgentScope 1.x's own ReActAgent, with our memories in it and a chat model that answers by a script."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentscope_script import NOTE, Script, Watched
from memorist.adapters.agentscope import (
    DurableMemory,
    InMemoryMemory,
    Msg,
    ReMePersonalLongTermMemory,
    ReMeTaskLongTermMemory,
    ReMeToolLongTermMemory,
)
from memorist.memory import Memory

pytestmark = [pytest.mark.anyio, pytest.mark.agentscope1, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

MEMORY_TOOLS = {"record_to_memory", "retrieve_from_memory"}


class Agent:
    """AgentScope's agent, what its model was asked, and what its memory was told to record."""

    def __init__(self, long_term: Any, mode: str, replies: list[list[dict[str, Any]]], memory: Any = None) -> None:
        from agentscope.agent import ReActAgent
        from agentscope.formatter import OpenAIChatFormatter
        from agentscope.model import ChatModelBase, ChatResponse
        from agentscope.tool import Toolkit

        asked: list[dict[str, Any]] = []

        class ScriptedModel(ChatModelBase):
            def __init__(self) -> None:
                super().__init__("scripted", stream=False)

            async def __call__(self, messages: Any, tools: Any = None, tool_choice: Any = None, **_: Any) -> Any:
                asked.append({"messages": messages, "tools": [each["function"]["name"] for each in tools or []]})
                return ChatResponse(content=replies.pop(0))

        self.asked = asked
        self.memory = memory if memory is not None else InMemoryMemory()
        self.react = ReActAgent(
            name="Friday",
            sys_prompt="You are Friday.",
            model=ScriptedModel(),
            formatter=OpenAIChatFormatter(),
            toolkit=Toolkit(),
            memory=self.memory,
            long_term_memory=long_term,
            long_term_memory_mode=mode,  # type: ignore[arg-type]
        )
        self.react.set_console_output_enabled(False)

    async def say(self, text: str) -> Any:
        return await self.react(Msg("Alice", text, "user"))

    def seen(self, number: int = -1) -> str:
        return json.dumps(self.asked[number]["messages"])


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def use(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"call-{name}", "name": name, "input": arguments}]


async def test_static_control_retrieves_before_a_reply_and_records_the_exchange_once_after_it(personal: Any) -> None:
    agent = Agent(personal, "static_control", [text("Green tea, then."), text("You are welcome.")])
    reply = await agent.say("Which tea should I order?")
    assert reply.get_text_content() == "Green tea, then."
    assert not MEMORY_TOOLS & set(agent.asked[0]["tools"])

    [note] = [each for each in await agent.memory.get_memory() if each.name == "long_term_memory"]
    assert (note.role, note.content) == ("user", NOTE)
    assert json.dumps(NOTE)[1:-1] in agent.seen(0)
    assert personal.app.recorded == [["Which tea should I order?", "Green tea, then."]]

    await agent.say("Thank you")
    assert personal.app.recorded[1:] == [["Thank you", "You are welcome."]]
    assert not any("long_term_memory" in each for exchange in personal.app.recorded for each in exchange)


async def test_agent_control_gives_the_agent_two_tools_and_records_nothing_by_itself(
    personal: Any, memory: Memory
) -> None:
    agent = Agent(
        personal,
        "agent_control",
        [
            use("retrieve_from_memory", keywords=["tea"]),
            use("record_to_memory", thinking="She said so", content=["Alice likes jazz"]),
            text("I shall remember."),
        ],
    )
    await agent.say("Which tea do I like? And I like jazz.")
    assert set(agent.asked[0]["tools"]) >= MEMORY_TOOLS
    assert "long_term_memory>" not in agent.seen(0)
    assert "Keyword 'tea':\\nAlice likes green tea" in agent.seen(1)
    assert "Successfully recorded 1 memory/memories to personal memory." in agent.seen(2)
    facts = {each.content for each in await memory.scoped(user="alice").facts.all()}
    assert facts == {"Alice likes green tea", "Alice likes jazz"}


async def test_both_does_both_and_never_records_what_was_recalled(personal: Any, memory: Memory) -> None:
    agent = Agent(personal, "both", [use("retrieve_from_memory", keywords=["tea"]), text("You like it green.")])
    await agent.say("Which tea do I like?")
    assert set(agent.asked[0]["tools"]) >= MEMORY_TOOLS
    assert json.dumps(NOTE)[1:-1] in agent.seen(0)
    assert "Keyword 'tea':" in agent.seen(1)
    assert personal.app.recorded == [["Which tea do I like?", "You like it green."]]
    facts = [each.content for each in await memory.scoped(user="alice").facts.all()]
    assert sorted(facts) == ["Alice likes green tea", "Which tea do I like?"]


async def test_task_memory_learns_from_the_course_of_the_work_without_the_memorys_own_calls(memory: Memory) -> None:
    async with ReMeTaskLongTermMemory(user_name="alice", memory=memory) as task:
        task.app = Watched(task.app)
        await memory.scoped(user="alice").experiences.add("Deploying", "Run the tests first")
        agent = Agent(task, "both", [use("retrieve_from_memory", keywords=["Deploying"]), text("Done.")])
        await agent.say("Deploy it")
        assert "When to use: Deploying\\nExperience: Run the tests first" in agent.seen(1)
        assert task.app.recorded == [["Deploy it", "Done."]]


async def test_tool_memory_tells_the_guidelines_to_an_agent_that_asks(memory: Memory) -> None:
    async with ReMeToolLongTermMemory(user_name="alice", memory=memory) as tool:
        result = {"tool_name": "sql", "input": {"q": "SELECT 1"}, "output": "1 row", "success": True}
        agent = Agent(
            tool,
            "agent_control",
            [
                use("record_to_memory", thinking="It worked", content=[json.dumps(result)]),
                use("retrieve_from_memory", keywords=["sql"]),
                text("Done."),
            ],
        )
        await agent.say("Learn it")
        assert "Successfully recorded 1 tool execution result and generated usage guidelines." in agent.seen(1)
        assert "Retrieved 1 tool memory(ies):\\n\\nTool: sql\\n" in agent.seen(2)


async def test_a_failing_memory_does_not_keep_the_agent_from_answering(personal: Any, memory: Memory) -> None:
    agent = Agent(personal, "static_control", [text("Hello.")])
    await memory.close()
    with pytest.warns(UserWarning, match="Error re"):
        reply = await agent.say("Hello")
    assert reply.get_text_content() == "Hello."


@pytest.mark.parametrize("place", ["in the process", "on disk"])
async def test_an_agents_short_term_memory_can_be_ours_and_its_state_moves(place: str, memory: Memory) -> None:
    def make(session: str) -> Any:
        if place == "on disk":
            return DurableMemory(memory.scoped(user="alice", session=session))
        return InMemoryMemory()

    agent = Agent(None, "both", [text("Hello, Alice.")], make("a"))
    await agent.say("I am Alice")
    state = json.loads(json.dumps(agent.react.state_dict()))
    other = Agent(None, "both", [text("You are Alice.")], make("b"))
    other.react.load_state_dict(state)
    await other.say("Who am I?")
    assert [each.get_text_content() for each in await other.memory.get_memory()] == [
        "I am Alice",
        "Hello, Alice.",
        "Who am I?",
        "You are Alice.",
    ]
    assert "I am Alice" in other.seen()


async def test_models_of_agentscope_serve_the_engine(tmp_path: Any) -> None:
    from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse
    from agentscope.model import ChatModelBase, ChatResponse

    script = Script(facts={"facts": [{"statement": "Alice likes green tea", "date": "", "message": 1}]})

    class Chat(ChatModelBase):
        def __init__(self, stream: bool) -> None:
            super().__init__("scripted", stream)

        async def __call__(self, messages: Any, **_: Any) -> Any:
            answer = await script(messages, {"properties": {"facts": {}}})
            responses = [ChatResponse(content=text(answer[:9])), ChatResponse(content=text(answer))]

            async def parts() -> AsyncIterator[Any]:
                for each in responses:
                    yield each

            return parts() if self.stream else responses[-1]

    class Embedding(EmbeddingModelBase):
        def __init__(self) -> None:
            super().__init__("lengths", dimensions=3)

        async def __call__(self, texts: list[str], **_: Any) -> Any:
            return EmbeddingResponse(embeddings=[[1.0, float(len(each)), 2.0] for each in texts])

    make: Callable[..., Any] = ReMePersonalLongTermMemory
    for stream in (False, True):
        path = tmp_path / f"{stream}.db"
        async with make(user_name="alice", memory=path, model=Chat(stream), embedding_model=Embedding()) as one:
            await one.record([Msg("Alice", "I like it", "user")])
            assert await one.retrieve(Msg("Alice", "drinks?", "user")) == "Alice likes green tea"
