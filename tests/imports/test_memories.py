"""Other memories: mem0, the MCP memory server, Zep, Graphiti, Letta, LangGraph, Chroma, Qdrant, and our own."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from imported import Write, bad, items
from memorist.errors import FormatError
from memorist.imports import EVERYONE, Options, OwnerError, export, load, survey
from memorist.memory import Memory
from memorist.records.origins import Author
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


def chroma(folder: Path, collection: str, rows: list[tuple[str, str, dict[str, Any]]], **place: str) -> None:
    """Write rows as any program on Chroma does, of a tenant and a database if they are named."""
    chromadb = pytest.importorskip("chromadb")
    settings = chromadb.Settings(is_persistent=True, persist_directory=str(folder))
    if place:
        admin = chromadb.AdminClient(settings)
        admin.create_tenant(place["tenant"])
        admin.create_database(place["database"], place["tenant"])
    client = chromadb.PersistentClient(str(folder), **place)
    made = client.get_or_create_collection(collection, embedding_function=None)
    for id, document, fields in rows:
        made.add(ids=[id], documents=[document], embeddings=[[1.0, 0.0]], metadatas=[fields])


async def test_a_folder_of_local2_keeps_topics_times_scores_and_users(memory: Memory, tmp_path: Path) -> None:
    episode = {"type": "episodic", "query": "France?", "timestamp": 1709575200.0, "critic_score": 5, "session_id": "s"}
    rows: list[tuple[str, str, dict[str, Any]]] = [
        ("topic:user.language", "Elixir", {"type": "topic", "topic": "user.language"}),
        ("e1", "France?\nParis", episode),
        ("e2", "Norway?\nOslo", {**episode, "user_id": "anna", "critic_score": 2}),
        ("e3", "Q: Sweden?\nA: Stockholm", {"type": "episodic", "timestamp_utc": "2024-03-05T10:00:00Z", "score": 0.5}),
        ("p1", "Is vegan", {"type": "pinned", "fact": "Is vegan", "reason": "", "timestamp": 1709575200.0}),
    ]  # fmt: skip
    chroma(tmp_path / ".chroma", "local_memory", rows)
    found = survey(tmp_path / ".chroma")
    assert (found.titles, found.notes, found.users, found.untimed) == (["LoCAL2"], 5, ["anna"], 0)
    assert (await load(memory, tmp_path / ".chroma")).added == 5
    assert await memory.topics.get("user.language") == "Elixir"
    one, three = await memory.get("e1"), await memory.get("e3")
    assert one is not None and three is not None
    assert (one.kind, one.at, one.rating) == (Kind.EPISODE, datetime(2024, 3, 4, 18, tzinfo=UTC), 1.0)
    assert one.metadata == episode and Author.ASSISTANT in one.origin.authors
    assert (three.at, three.rating) == (datetime(2024, 3, 5, 10, tzinfo=UTC), 0.5)
    [hers] = (await memory.scoped(user="anna").browse()).records
    assert (hers.id, hers.rating) == ("e2", -0.5)
    assert [each.content async for each in memory.iterate(kind="fact")] == ["Is vegan"]
    assert (await load(memory, tmp_path / ".chroma")).existing == 5


async def test_sessions_of_local2_keep_their_roles_and_users(memory: Memory, write: Write) -> None:
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "tool", "content": "{}"},
        {"role": "assistant", "content": "Ho"},
    ]
    told = {"messages": said, "user_id": "anna", "started_at": 1709575200.0, "title": "Hi"}
    path = write(".conversation_history.json", {"s1": told, "s2": {**told, "user_id": "default"}})
    assert survey(path).titles == ["LoCAL2"]
    assert (await load(memory, path)).added == 4
    for user in ("anna", None):
        records = [each async for each in memory.scoped(user=user).iterate()]
        assert [(each.payload["role"], each.content) for each in records] == [("user", "Hi"), ("assistant", "Ho")]


async def test_tenants_and_users_of_chroma_stay_apart(memory: Memory, tmp_path: Path) -> None:
    chroma(tmp_path / "store", "docs", [("1", "Everyone's", {"page": 1}), ("2", "Anna's", {"user_id": "anna"})])
    chroma(tmp_path / "store", "docs", [("1", "Acme's", {"page": 1})], tenant="acme", database="main")
    assert survey(tmp_path / "store").users == ["acme", "anna"]
    assert (await load(memory, tmp_path / "store")).added == 3
    for user, text in ((None, "Everyone's"), ("anna", "Anna's"), ("acme", "Acme's")):
        assert [each.content async for each in memory.scoped(user=user).iterate()] == [text]


async def test_what_another_users_is_taken_only_where_that_is_said(memory: Memory, tmp_path: Path) -> None:
    rows = [(name, f"{name} likes tea", {"_promptise_user_id": name}) for name in ("alice", "bob", "acme::alice")]
    chroma(tmp_path / "store", "agent_memory", rows)
    carl = memory.scoped(user="carl")
    report = await load(carl, tmp_path / "store")
    assert (report.added, report.failed) == (0, 3)
    assert "user 'alice', and this is the memory of user 'carl'" in report.bad[0].reason
    assert "--owner 'alice'" in report.bad[0].reason
    report = await load(carl, tmp_path / "store", options=Options(owner="alice"))
    assert (report.added, report.left) == (1, {"records of other owners": 2})
    assert [each.content async for each in carl.iterate()] == ["alice likes tea"]
    assert (await load(carl, tmp_path / "store", options=Options(owner=EVERYONE))).added == 2
    assert await memory.admin.users() == {"carl": 3}


async def test_episodes_in_qdrant_and_points_of_users(memory: Memory, tmp_path: Path) -> None:
    told = {
        "id_": "e1",
        "task": {"id_": "t", "instruction": "Book"},
        "rollout": "…",
        "completed_at": "2024-03-04T10:00:00",
    }
    qdrant(tmp_path / "store", "episodes", {"episode_json": json.dumps(told)}, {"text": "Hers", "user_id": "anna"})
    assert (await load(memory, tmp_path / "store", options=Options(zone=UTC))).added == 2
    record = await memory.get("e1")
    assert record is not None and (record.kind, record.payload["task"]) == (Kind.EPISODE, "Book")
    assert record.at == datetime(2024, 3, 4, 10, tzinfo=UTC)
    assert [each.content async for each in memory.scoped(user="anna").iterate()] == ["Hers"]


async def test_an_export_of_our_own_keeps_its_users(memory: Memory, tmp_path: Path) -> None:
    await memory.scoped(user="anna").remember("Likes tea")
    await export(memory, tmp_path / "a.jsonl", everyone=True)
    with pytest.raises(FormatError, match="already names its users"):
        await load(memory, tmp_path / "a.jsonl", options=Options(owner="anna"))


async def test_a_state_is_told_from_other_json_and_users_of_sessions_are_kept(memory: Memory, write: Write) -> None:
    message = {
        "id": "1",
        "name": "Anna",
        "role": "user",
        "content": "Hi",
        "metadata": {},
        "timestamp": "2024-03-04 10:00:00.000",
    }
    late = {**message, "id": "2", "content": "Later"}
    state = {"_compressed_summary": "Met.", "content": [[message, []], [late, []]]}
    agents = {"friday": {"name": "Friday", "memory": state}, "monday": {"name": "Monday", "memory": state}}
    write("alice_trip.json", agents)
    write("bob_trip.json", {"memory": state})
    path = write("state.json", state).parent
    found = survey(path, options=Options(zone=UTC))
    assert (found.titles, found.users, found.messages) == (["AgentScope"], ["alice", "bob"], 8)
    assert (await load(memory, path, options=Options(zone=UTC))).bad == []
    alice = [each async for each in memory.scoped(user="alice", session="trip").iterate()]
    assert sorted((each.scope.agent, each.content) for each in alice) == [
        (agent, text) for agent in ("friday", "monday") for text in ("Hi", "Later")
    ]
    bob = [each async for each in memory.scoped(user="bob", session="trip").iterate()]
    assert [each.content for each in bob] == ["Hi", "Later"]
    assert bob[1].at - bob[0].at == timedelta(microseconds=1)
    assert bob[1].payload["happened_at"] == "2024-03-04T10:00:00.000000Z"
    broken = write("broken/b.json", {"memory": {"content": [[{**message, "role": "robot"}, []], [late, []]]}})
    assert [each.where for each in bad(broken)] == ["line 1/memory, message 1"]


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
    with pytest.raises(
        OwnerError, match=r"2 namespaces.*--owner users\.anna, or --owner '\*'.*users\.anna, users\.bob"
    ):
        survey(tmp_path / "store.db")
    [anna] = items(tmp_path / "store.db", owner="users.anna")
    assert (anna.content, anna.user, anna.metadata["namespace"]) == ("Likes tea", None, ["users", "anna"])
    assert survey(tmp_path / "store.db", options=Options(owner="users.anna")).left == {"records of other owners": 1}
    told = survey(tmp_path / "store.db", options=Options(owner=EVERYONE))
    assert (told.notes, told.titles, [each.where for each in told.first_bad]) == (
        1,
        ["LangGraph"],
        ["item users.bob/1"],
    )


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
