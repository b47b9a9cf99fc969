"""The session, its context and the tools in a real runner with a scripted model."""

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agents.memory")

from agents import Agent, RunConfig, Runner, SQLiteSession, UserError, function_tool, set_tracing_disabled

from memorist import Memory
from memorist.adapters.openai_agents import MemoristSession, memory_tools
from openai_model import ScriptedModel

pytestmark = pytest.mark.anyio
set_tracing_disabled(True)


@function_tool  # type: ignore[untyped-decorator, unused-ignore]
def beds(city: str) -> str:
    """Return how many beds a city has."""
    return f"{city}: 7 beds"


def helper(model: ScriptedModel, **fields: Any) -> Agent[Any]:
    return Agent(name="helper", model=model, **fields)


async def test_turns_tools_and_handoffs_are_kept_as_the_sdk_keeps_them(alice: Memory) -> None:
    kept = []
    for session in (MemoristSession("monday", alice), SQLiteSession("monday")):
        cook = Agent(name="cook", model=ScriptedModel("Soup."))
        script = ScriptedModel(("beds", '{"city": "Oslo"}'), "Seven.", ("transfer_to_cook", "{}"))
        agent = helper(script, tools=[beds], handoffs=[cook])
        assert (await Runner.run(agent, "Beds in Oslo?", session=session)).final_output == "Seven."
        assert (await Runner.run(agent, "And dinner?", session=session)).final_output == "Soup."
        assert len(script.inputs[2]) == 5
        kept.append(await session.get_items())
    assert kept[0] == kept[1]
    assert [each.get("type", each.get("role")) for each in kept[0]] == [
        "user", "function_call", "function_call_output", "message",
        "user", "function_call", "function_call_output", "message",
    ]  # fmt: skip


async def test_the_next_session_is_told_and_what_is_told_is_not_kept(alice: Memory) -> None:
    monday = MemoristSession("monday", alice)
    await Runner.run(helper(ScriptedModel("Noted.")), "I prefer homestays when I travel", session=monday)
    tuesday = MemoristSession("tuesday", alice, min_confidence=0)
    model = ScriptedModel("In homestays.", "You are welcome.")
    config = RunConfig(session_input_callback=tuesday.add_context)
    question = "Where do I prefer to stay when I travel?"
    await Runner.run(helper(model), question, session=tuesday, run_config=config)
    told, asked = model.inputs[0]
    assert told["role"] == "developer"
    assert "I prefer homestays when I travel" in told["content"]
    assert asked["content"] == question
    await Runner.run(helper(model), "Thank you!", session=tuesday, run_config=config)
    items = await tuesday.get_items()
    assert [item["role"] for item in items] == ["user", "assistant", "user", "assistant"]


async def test_the_user_of_the_runs_context_is_the_one_who_is_told(everyone: Memory) -> None:
    await everyone.scoped(user="alice").remember("I prefer homestays when I travel")
    await everyone.scoped(user="bob").remember("I prefer hostels when I travel")
    session = MemoristSession("monday", everyone, user=lambda context: context["user"], min_confidence=0)
    model = ScriptedModel("Homestays.", "Hostels.")
    config = RunConfig(session_input_callback=session.add_context)

    async def ask(user: str) -> None:
        question = "Where do I prefer to stay when I travel?"
        await Runner.run(helper(model), question, session=session, context={"user": user}, run_config=config)

    await asyncio.gather(ask("alice"))
    await asyncio.gather(ask("bob"))
    assert "homestays" in str(model.inputs[0])
    assert "hostels" in str(model.inputs[1])
    assert "homestays" not in str(model.inputs[1])


async def test_what_is_added_to_a_models_input_stands_before_the_question_and_is_not_kept(everyone: Memory) -> None:
    await everyone.scoped(user="alice").remember("I prefer homestays when I travel")
    session = MemoristSession("monday", everyone, user=lambda context: context["user"], min_confidence=0)
    model = ScriptedModel("Hello.", ("beds", '{"city": "Oslo"}'), "In homestays.", "Hello.")
    agent, config = helper(model, tools=[beds]), RunConfig(call_model_input_filter=session.add_to_input)
    for said in ("Hi!", "Where do I prefer to stay when I travel?"):
        await Runner.run(agent, said, session=session, context={"user": "alice"}, run_config=config)
    for told in model.inputs[1:]:
        assert [item["role"] for item in told[:4]] == ["user", "assistant", "developer", "user"]
        assert "I prefer homestays when I travel" in told[2]["content"]
    monday = MemoristSession("monday", everyone.scoped(user="alice"))
    assert "developer" not in [item.get("role") for item in await monday.get_items()]
    await Runner.run(agent, "Hi!", session=session, context={"user": "bob"}, run_config=config)
    assert "homestays" not in str(model.inputs[-1])


async def test_the_model_saves_searches_updates_and_forgets(everyone: Memory) -> None:
    alice = everyone.scoped(user="alice")
    tools = memory_tools(everyone, user=lambda context: context["user"])
    script = ScriptedModel(("add_memory", '{"content": "Alice prefers homestays"}'), "Noted.")
    await Runner.run(helper(script, tools=tools), "I prefer homestays", context={"user": "alice"})
    [note] = await alice.recent()
    changed = json.dumps({"id": note.id, "content": "Alice prefers hostels"})
    script = ScriptedModel(
        ("search_memories", '{"query": "homestays"}'),
        ("update_memory", changed),
        ("delete_memory", json.dumps({"id": "unknown"})),
        ("update_memory", '{"id": "unknown", "content": "x"}'),
        "Done.",
    )
    await Runner.run(helper(script, tools=tools), "Hostels, rather", context={"user": "alice"})
    answers = [item["output"] for item in script.inputs[4] if item.get("type") == "function_call_output"]
    assert note.id in answers[0]
    assert [record.content for record in await alice.recent()] == ["Alice prefers hostels"]
    assert json.loads(answers[2]) == {"id": "unknown", "deleted": False}
    assert answers[3].startswith("error: ")
    assert [tool.name for tool in memory_tools(alice, only=["search_memories"])] == ["search_memories"]
    script = ScriptedModel(("add_memory", '{"content": "Prefers homestays"}'), "Noted.")
    with pytest.raises(UserError, match="returned no name"):
        await Runner.run(helper(script, tools=memory_tools(everyone, user=lambda context: None)), "I prefer homestays")


async def test_a_run_that_is_cancelled_leaves_whole_turns(alice: Memory) -> None:
    for pause in range(0, 60, 5):
        session = MemoristSession(f"number {pause}", alice)
        run = asyncio.create_task(Runner.run(helper(ScriptedModel("Hello.")), "Hi", session=session))
        for _ in range(pause):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        roles = [item["role"] for item in await session.get_items()]
        assert roles in ([], ["user"], ["user", "assistant"])
