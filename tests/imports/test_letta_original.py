"""An agent file of ours, as Letta itself reads it. Its database is PostgreSQL, so nothing is stored in it here."""

import json
from pathlib import Path

import pytest

from imported import items
from memorist.imports import export, load
from memorist.memory import Memory
from memorist.testing import HashEmbedder

agent_file = pytest.importorskip("letta.schemas.agent_file")
pytestmark = pytest.mark.anyio


async def test_letta_reads_an_export_and_what_it_writes_comes_back(memory: Memory, tmp_path: Path) -> None:
    from letta.schemas.agent import CreateAgent
    from letta.schemas.block import CreateBlock
    from letta.schemas.message import Message
    from letta.services.agent_serialization_manager import AgentSerializationManager

    anna = memory.scoped(user="anna")
    await anna.remember("Likes tea\r\n\x85", metadata={"n": 1}, happened_at="2020-05-01")
    await anna.remember("x" * 200_000, kind="fact")
    await anna.topics.set("user.language", "Elixir")
    said = [
        {"role": "user", "name": "Ann", "content": "Hi", "happened_at": "2024-01-01"},
        {"role": "assistant", "content": '{"type": "heartbeat"}', "happened_at": "2024-01-02"},
    ]
    for session in ("monday/1: a?", "tuesday"):
        await anna.conversation(session).append(said)
    report = await export(anna, tmp_path / "anna.af", to="letta")
    assert report.written == 7

    given = agent_file.AgentFileSchema.model_validate(json.loads((tmp_path / "anna.af").read_text(encoding="utf-8")))
    AgentSerializationManager._validate_schema(AgentSerializationManager.__new__(AgentSerializationManager), given)
    assert [agent.name for agent in given.agents] == ["monday 1  a", "tuesday"]
    assert [block.label for block in given.blocks if block.id in given.agents[0].block_ids] == ["user.language"]
    for agent in given.agents:  # what Letta makes of a file before it stores it
        made = [Message(**each.model_dump(exclude={"id", "type"})) for each in agent.messages]
        assert [each.role for each in made] == ["system", "user", "assistant"]
        assert (
            CreateAgent(**agent.model_dump(exclude={"id", "block_ids", "in_context_message_ids", "messages"})).name
            == agent.name
        )
    assert all(CreateBlock(**block.model_dump(exclude={"id"})).value == block.value for block in given.blocks)

    (tmp_path / "theirs.af").write_text(given.model_dump_json(), encoding="utf-8")
    async with Memory.open(tmp_path / "other.db", embedder=HashEmbedder()) as other:
        back = other.scoped(user="anna")
        assert (await load(back, tmp_path / "theirs.af")).added == len(items(tmp_path / "theirs.af")) == 7
        there = {record.id: record async for record in back.iterate()}
        async for record in anna.iterate():
            same = there[record.id]
            assert (same.content, same.at, same.kind, same.key) == (record.content, record.at, record.kind, record.key)
            assert (same.scope, dict(same.metadata)) == (record.scope, dict(record.metadata))
            assert same.payload.get("role") == record.payload.get("role")
