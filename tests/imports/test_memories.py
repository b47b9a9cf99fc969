"""Other memories: mem0, the MCP memory server, Zep, Graphiti, Letta, LangGraph, Chroma, Qdrant, and our own."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from imported import Write, bad, items
from memorist.imports import load, survey
from memorist.memory import Memory
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio

MEMORY = {
    "id": "m1", "memory": "Likes homestays", "user_id": "anna", "agent_id": None, "run_id": "r1", "hash": "…",
    "metadata": {"topic": "travel"}, "created_at": "2024-03-12T01:00:00-07:00", "updated_at": None,
}  # fmt: skip


@pytest.mark.parametrize("form", ["results", "list", "lines"])
async def test_mem0s_memories_as_json(memory: Memory, write: Write, form: str) -> None:
    given = {"results": json.dumps({"results": [MEMORY]}), "list": json.dumps([MEMORY]), "lines": json.dumps(MEMORY)}
    await load(memory, write("mem0.json", given[form]))
    [record] = (await memory.browse(everyone=True)).records
    assert (record.id, record.kind, record.content) == ("m1", Kind.FACT, "Likes homestays")
    assert (record.scope.user, record.scope.session, record.metadata) == ("anna", "r1", {"topic": "travel"})
    assert record.at == datetime(2024, 3, 12, 8, tzinfo=UTC)


def qdrant(folder: Path, collection: str, *payloads: dict[str, Any]) -> None:
    client_module = pytest.importorskip("qdrant_client")
    with closing(client_module.QdrantClient(path=str(folder))) as client:
        models = client_module.models
        client.create_collection(collection, models.VectorParams(size=2, distance=models.Distance.COSINE))
        points = [models.PointStruct(id=place, vector=[1, 0], payload=each) for place, each in enumerate(payloads)]
        client.upsert(collection, points)


async def test_a_live_folder_of_mem0(memory: Memory, tmp_path: Path) -> None:
    fields = {"data": "Likes homestays", "user_id": "anna", "hash": "…", "created_at": "2024-03-12T01:00:00-07:00"}
    qdrant(tmp_path / "qdrant", "mem0", fields)
    report = await load(memory, tmp_path / "qdrant")
    assert (report.added, report.bad) == (1, [])
    assert [each.content for each in (await memory.scoped(user="anna").browse()).records] == ["Likes homestays"]
    again = await load(memory, tmp_path / "qdrant")
    assert (again.added, again.existing) == (0, 1)


async def test_a_folder_of_qdrant(tmp_path: Path) -> None:
    qdrant(tmp_path / "store", "docs", {"page_content": "A hill", "page": 2}, {"title": "no text"})
    first, second = items(tmp_path / "store")
    assert (first.content, first.kind, first.id, first.metadata) == (
        "A hill", Kind.NOTE, "0", {"page": 2, "collection": "docs"},
    )  # fmt: skip
    assert second.content == '{"title": "no text"}'


async def test_a_folder_of_chroma(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    docs = client.create_collection("docs", embedding_function=None)
    docs.add(
        ids=["a", "b"],
        documents=["A hill", "A river"],
        embeddings=[[1, 0], [0, 1]],
        metadatas=[{"page": 2}, {"page": 3}],
    )
    client.create_collection("empty", embedding_function=None)
    assert [(each.id, each.content, each.metadata["page"]) for each in items(tmp_path / "store")] == [
        ("a", "A hill", 2),
        ("b", "A river", 3),
    ]


async def test_the_graph_of_the_mcp_memory_server(write: Write) -> None:
    lines = [
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["Lives in Oslo", "Likes tea"]},
        {"type": "relation", "from": "Anna", "to": "Acme", "relationType": "works_at"},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    ]
    found = items(write("memory.json", "\n".join(map(json.dumps, lines))))
    assert [each.content for each in found] == ["Anna: Lives in Oslo", "Anna: Likes tea", "Anna works at Acme"]
    assert {each.kind for each in found} == {Kind.FACT}


async def test_graphitis_graph(write: Write) -> None:
    edge = {
        "uuid": "e1", "name": "LIVES_IN", "fact": "Anna lives in Oslo", "valid_at": "2024-03-12T08:00:00Z",
        "invalid_at": None, "created_at": "2024-04-01T00:00:00Z", "fact_embedding": [0.1],
    }  # fmt: skip
    node = {"uuid": "n1", "name": "Anna", "labels": ["Person"], "summary": "A nurse.", "attributes": {"age": 31}}
    [fact] = items(write("edges.json", [edge]))
    assert (fact.content, fact.kind, fact.id, fact.happened_at) == (edge["fact"], Kind.FACT, "e1", edge["valid_at"])
    both = items(write("graph.json", {"nodes": [node], "edges": [edge]}))
    assert [each.content for each in both] == ["Anna lives in Oslo", "Anna: A nurse."]
    assert both[1].metadata["age"] == 31


def letta(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], "created_at": "2024-03-12T08:00:00Z", **more}


async def test_lettas_agent_file(write: Write) -> None:
    said = [
        letta("system", "You are Letta"),
        letta("user", json.dumps({"type": "user_message", "message": "Hello", "time": "…"})),
        letta(
            "assistant",
            "",
            tool_calls=[{"id": "t", "function": {"name": "send_message", "arguments": '{"message": "Hi!"}'}}],
        ),
        letta("tool", json.dumps({"status": "OK"})),
        letta("user", json.dumps({"type": "heartbeat", "reason": "…"})),
        letta("assistant", "Anything else?"),
    ]
    block = {
        "label": "human",
        "value": "Name: Anna",
        "description": "About the user",
        "created_at": "2024-03-12T08:00:00Z",
    }
    old = {"agent_type": "memgpt_agent", "name": "Sam", "core_memory": [block], "messages": said, "system": "…"}
    agents = [{"id": "agent-0", "name": "Sam", "block_ids": ["block-0"], "messages": said}]
    new = {"agents": agents, "groups": [], "blocks": [{**block, "id": "block-0"}], "files": []}
    large = {"agents": [{**agents[0], "system": "You are Letta. " * 10_000}], "groups": [], "blocks": new["blocks"]}
    for path in (write("sam.af", old), write("new.af", new), write("large.af", large)):
        assert [(each.role, each.content) for each in items(path)] == [
            (None, "Name: Anna"), ("user", "Hello"), ("assistant", "Hi!"), ("assistant", "Anything else?"),
        ]  # fmt: skip


async def test_langgraphs_store(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL,"
            " created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,"
            " PRIMARY KEY (prefix, key))"
        )
        connection.execute("CREATE TABLE store_migrations (v INTEGER PRIMARY KEY)")
        rows = [("users.anna", "1", '{"text": "Likes tea", "sure": true}'), ("users.bob", "1", "no JSON")]
        connection.executemany("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows)
    [told] = bad(tmp_path / "store.db")
    assert told.where == "item users.bob/1"
    told_of = survey(tmp_path / "store.db")
    assert (told_of.notes, told_of.titles) == (1, ["LangGraph"])


async def test_a_database_in_a_zip_is_left_out(pack: Write, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("CREATE TABLE store (prefix)")
    path = pack("a.zip", {"store.db": (tmp_path / "store.db").read_bytes(), "a.md": "Hello"})
    assert survey(path).unknown == ["store.db"]


async def test_our_own_files_are_loaded_as_load_does(memory: Memory, write: Write, tmp_path: Path) -> None:
    line = {"id": "1", "group": "g", "speaker": "Anna", "timestamp": "2024-03-12T08:00:00Z", "text": "Hello"}
    chat = write("chat.jsonl", json.dumps(line) + "\n")
    assert (await load(memory, chat)).added == 1
    assert (await load(memory, chat, format="memorist", trusted=True)).existing == 1
    export = tmp_path / "export.jsonl"
    export.write_text("".join([f"{each}\n" async for each in memory.export()]) + "no JSON\n")
    assert (survey(export).messages, survey(export).titles) == (1, ["Memorist"])
    report = await load(memory, export)
    assert (report.added, report.existing, [each.where for each in report.bad]) == (0, 1, ["line 3"])
