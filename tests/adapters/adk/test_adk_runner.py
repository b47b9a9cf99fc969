"""Both services in a real runner with a scripted model, with ADK's own tools, and by URL."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.cli.service_registry import get_service_registry
from google.adk.runners import Runner
from google.adk.tools import load_memory, preload_memory
from google.genai.types import Content, Part

from adk_model import ScriptedModel
from memorist import Memory
from memorist.adapters.adk import MemoristMemoryService, MemoristSessionService, register

pytestmark = pytest.mark.anyio


def runner(memory: Memory, model: ScriptedModel, *tools: Any) -> Runner:
    return Runner(
        app_name="travel",
        agent=LlmAgent(name="guide", model=model, tools=list(tools), output_key="last"),
        session_service=MemoristSessionService(memory),
        memory_service=MemoristMemoryService(memory),
    )


async def ask(runner: Runner, session_id: str, text: str) -> list[Any]:
    message = Content(role="user", parts=[Part(text=text)])
    return [event async for event in runner.run_async(user_id="alice", session_id=session_id, new_message=message)]


async def kept(runner: Runner, session_id: str, text: str) -> None:
    await runner.session_service.create_session(app_name="travel", user_id="alice", session_id=session_id)
    await ask(runner, session_id, text)
    session = await runner.session_service.get_session(app_name="travel", user_id="alice", session_id=session_id)
    assert runner.memory_service is not None
    assert session is not None
    await runner.memory_service.add_session_to_memory(session)


async def test_the_next_session_is_told_what_this_one_learned(everyone: Memory) -> None:
    model = ScriptedModel(answers=["Noted.", "In homestays."])
    travel = runner(everyone, model, preload_memory)
    await kept(travel, "monday", "I prefer homestays when I travel")
    session = await travel.session_service.create_session(app_name="travel", user_id="alice", session_id="tuesday")
    await ask(travel, "tuesday", "Where do I like to stay when I travel?")
    assert "I prefer homestays when I travel" in str(model.inputs[1])
    read = await travel.session_service.get_session(app_name="travel", user_id="alice", session_id=session.id)
    assert read is not None
    assert [event.content.parts[0].text for event in read.events] == [
        "Where do I like to stay when I travel?",
        "In homestays.",
    ]
    assert read.state["last"] == "In homestays."


async def test_the_model_loads_memory_with_adks_tool(everyone: Memory) -> None:
    model = ScriptedModel(answers=["Noted.", ("load_memory", {"query": "homestays"}), "In homestays."])
    travel = runner(everyone, model, load_memory)
    await kept(travel, "monday", "I prefer homestays when I travel")
    await travel.session_service.create_session(app_name="travel", user_id="alice", session_id="tuesday")
    events = await ask(travel, "tuesday", "Where do I like to stay?")
    assert "I prefer homestays when I travel" in model.inputs[2][-1].model_dump_json()
    assert events[-1].content.parts[0].text == "In homestays."


async def test_services_are_had_by_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    register()
    registry = get_service_registry()
    url = f"memorist://{tmp_path / 'adk.db'}"
    sessions = registry.create_session_service(url, agents_dir="agents")
    memories = registry.create_memory_service(url, agents_dir="agents")
    assert isinstance(sessions, MemoristSessionService)
    assert isinstance(memories, MemoristMemoryService)
    made = await sessions.create_session(app_name="travel", user_id="alice")
    assert await sessions.get_session(app_name="travel", user_id="alice", session_id=made.id) == made
    await memories.add_session_to_memory(made)
    assert (tmp_path / "adk.db").exists()
