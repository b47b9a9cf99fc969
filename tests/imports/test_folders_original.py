"""Folders and files that the original packages write themselves, and their way back."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.imports import export, load, survey
from memorist.memory import Memory
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Chroma's own model, without its download."""
    models = pytest.importorskip("chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2")

    def embed(self: Any, input: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0, 0.5] for text in input]

    monkeypatch.setattr(models.ONNXMiniLM_L6_V2, "__call__", embed)
    yield


async def test_a_folder_of_mango_keeps_its_layers_and_goes_back(memory: Memory, tmp_path: Path, offline: None) -> None:
    theirs = pytest.importorskip("mango.memory")
    chroma = pytest.importorskip("mango.integrations.chromadb")
    from memorist.adapters.mango import AgentMemory

    place = tmp_path / ".mango_memory"
    mango = chroma.ChromaAgentMemory(persist_dir=str(place))
    await mango.store(theirs.MemoryEntry("1", "How many users?", "run_mql", {"find": {"a": [1]}}, "3 users"))
    await mango.save_text("Revenue is in cents")
    trained = theirs.TrainingEntry(
        "1", "How many orders?", "run_mql", {"count": "orders"}, timestamp="2024-05-08T12:00:00"
    )
    await mango.train(trained)
    exported = await mango.export_all()

    found = survey(place)
    assert (found.titles, found.notes, found.untimed, found.bad) == (["Mango"], 3, 0, 0)
    assert (await load(memory, place)).added == 3
    records = {record.id: record async for record in memory.iterate()}
    assert records["tool:1"].kind is Kind.TOOL_USE and not records["tool:1"].verified
    assert records["training:1"].verified and records["training:1"].cue == "How many orders?"
    assert abs((datetime.now(UTC) - records["tool:1"].at).total_seconds()) < 60
    assert (await load(memory, place)).existing == 3
    ours = AgentMemory(memory)
    assert (ours.count(), ours.training_count()) == (1, 1)
    assert [_without_times(each) for each in await ours.export_all()] == [_without_times(each) for each in exported]
    [entry] = await ours.get_training_entries("How many orders?")
    assert (entry.tool_args, entry.timestamp) == ({"count": "orders"}, "2024-05-08T12:00:00")

    await export(memory, tmp_path / "mango.json", to="mango")
    again = chroma.ChromaAgentMemory(persist_dir=str(tmp_path / "again"))
    assert await again.import_all(json.loads((tmp_path / "mango.json").read_text())) == 3
    assert [_without_times(each) for each in await again.export_all()] == [_without_times(each) for each in exported]
    (tmp_path / "own.json").write_text(json.dumps(exported))
    assert survey(tmp_path / "own.json").titles == ["Mango"]
    assert (await load(memory, tmp_path / "own.json")).added == 0


def _without_times(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("timestamp", "source", "verified")}


async def test_a_folder_of_promptise_keeps_its_walls(memory: Memory, tmp_path: Path, offline: None) -> None:
    theirs = pytest.importorskip("promptise.memory")
    from memorist.adapters.promptise import MemoristProvider, MemoryScope

    place = tmp_path / ".promptise" / "chroma"
    provider = theirs.ChromaProvider(persist_directory=str(place), scope=theirs.MemoryScope.PER_USER)
    for owner in ("alice", "bob", "acme::alice"):
        await provider.add(f"homestay of {owner}", metadata={"n": 1.5, "yes": True}, user_id=owner)
    [held] = await provider.list_entries(user_id="alice")

    assert survey(place).users == ["acme::alice", "alice", "bob"]
    carl = memory.scoped(user="carl")
    report = await load(carl, place)
    assert (report.added, report.failed) == (0, 3) and "user 'alice'" in " ".join(each.reason for each in report.bad)
    assert (await load(memory, place)).added == 3
    assert await memory.count() == 0
    ours = MemoristProvider(memory, scope=MemoryScope.PER_USER)
    for owner in ("alice", "bob", "acme::alice"):
        assert [each.content for each in await ours.list_entries(user_id=owner)] == [f"homestay of {owner}"]
    [kept] = await ours.list_entries(user_id="alice")
    assert (kept.memory_id, kept.metadata) == (held.memory_id, {"n": 1.5, "yes": True})


async def test_sessions_and_states_of_agentscope_come_with_their_users(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("agentscope.session")
    from agentscope.memory import InMemoryMemory
    from agentscope.message import Msg
    from agentscope.session import JSONSession

    from memorist.adapters.agentscope import DurableMemory

    theirs = InMemoryMemory()
    call = [{"type": "tool_use", "id": "c", "name": "search", "input": {"q": "Oslo"}}]
    answer = [{"type": "tool_result", "id": "c", "name": "search", "output": "rain"}]
    given = [Msg("Anna", "Hi", "user"), Msg("Friday", call, "assistant"), Msg("system", answer, "system")]
    for each in given:
        each.timestamp = "2026-01-02 10:00:00.000"
    await theirs.add(given[:2])
    await theirs.add(given[2], marks="hint")
    await theirs.update_compressed_summary("They met.")
    await JSONSession(str(tmp_path / "s")).save_session_state("monday", user_id="alice", memory=theirs)

    found = survey(tmp_path / "s")
    assert (found.titles, found.messages, found.users) == (["AgentScope"], 3, ["alice"])
    assert (await load(memory.scoped(user="bob"), tmp_path / "s")).added == 0
    assert (await load(memory, tmp_path / "s")).bad == []
    alice = memory.scoped(user="alice", session="monday")
    ours = DurableMemory(alice)
    assert ours.state_dict()["content"][:2] == [each.to_dict() for each in given[:2]]
    assert [each.to_dict() for each in await ours.get_memory(mark="hint", prepend_summary=False)] == [
        given[2].to_dict()
    ]
    assert "They met." in str((await ours.get_memory())[0].content)
    assert [record.payload["role"] async for record in alice.iterate()] == ["user", "assistant", "system"]

    await export(memory.scoped(user="alice"), tmp_path / "state.json", to="agentscope")
    back = InMemoryMemory()
    back.load_state_dict(json.loads((tmp_path / "state.json").read_text()))
    assert back.state_dict() == theirs.state_dict()
    assert (await load(memory.scoped(user="alice"), tmp_path / "state.json")).added == 0


async def test_a_database_of_agentscope_keeps_each_users_messages(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("agentscope.memory")
    engines = pytest.importorskip("sqlalchemy.ext.asyncio")
    pytest.importorskip("aiosqlite")
    from agentscope.memory import AsyncSQLAlchemyMemory
    from agentscope.message import Msg

    file = tmp_path / "talks.db"
    engine = engines.create_async_engine(f"sqlite+aiosqlite:///{file}")
    for user in ("alice", "bob", None):  # one session name, three users
        held = AsyncSQLAlchemyMemory(engine, session_id="monday", user_id=user)
        await held.add([Msg("x", f"I am {user}", "user"), Msg("y", "Hello", "assistant")], marks=["kept"])
        await held.close()
    await engine.dispose()

    assert survey(file).users == ["alice", "bob"]
    report = await load(memory, file)
    assert (report.added, report.bad) == (6, [])
    for user in ("alice", "bob", None):
        records = [record async for record in memory.scoped(user=user, session="monday").iterate()]
        assert [record.content for record in records] == [f"I am {user}", "Hello"]
        assert records[0].metadata == {"marks": ["kept"]}


async def test_episodes_of_llm_agents_come_and_go(memory: Memory, tmp_path: Path) -> None:
    shapes = pytest.importorskip("llm_agents_from_scratch.data_structures.memory")
    from llm_agents_from_scratch.data_structures import Task, TaskResult
    from llm_agents_from_scratch.memory_stores.json import JSONMemoryStore

    from memorist.adapters.llm_agents import MemoristMemoryStore

    store = JSONMemoryStore(dir=tmp_path)
    task = Task(instruction="Book a flight")
    done = TaskResult(task_id=task.id_, content="SK 802")
    first = shapes.Episode(task=task, rollout="searched", result=done, metadata={"reflection": "early"})
    second = shapes.Episode(task=Task(instruction="Pay"), rollout="…", error=ValueError("no card"))
    await store.write(first)
    await store.write(second)

    assert survey(tmp_path / "episodes.jsonl").titles == ["LLM agents from scratch"]
    assert (await load(memory, tmp_path / "episodes.jsonl")).added == 2
    ours = MemoristMemoryStore(memory)
    expected = [json.loads(each.model_dump_json()) for each in (second, first)]
    read = [json.loads(each.model_dump_json()) for each in await ours._read_recent(2)]
    assert [each["metadata"].pop("memory_origin") for each in read] == ["an import"] * 2
    assert read == expected
    record = await memory.get(first.id_)
    assert record is not None and record.cue == store_key(first)
    (tmp_path / "out").mkdir()
    await export(memory, tmp_path / "out" / "episodes.jsonl", to="llm_agents")
    back = JSONMemoryStore(dir=tmp_path / "out")
    assert [json.loads(each.model_dump_json()) for each in await back._read_recent(2)] == expected


def store_key(episode: Any) -> str:
    from memorist.adapters.llm_agents.data_structures import EpisodeFormatMode

    return str(episode.format(EpisodeFormatMode.CONCAT, exclude={"id_", "rollout", "completed_at"}))
