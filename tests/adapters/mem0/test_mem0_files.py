"""`memorist import` of files that mem0 itself wrote, and of files that are damaged."""

import importlib.util
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist.adapters.mem0 import AsyncMemory
from memorist.errors import FormatError
from memorist.imports import export
from memorist.imports import load as import_
from memorist.memory import Memory
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio
qdrant_client = pytest.importorskip("qdrant_client")
Run: TypeAlias = Callable[..., Any]

WRITE = """
memory = Memory.from_config(config)
talk = [{"role": "user", "content": "Likes green tea"}, {"role": "assistant", "content": "Noted", "name": "bot"}]
added = memory.add(talk, user_id="alice", agent_id="cook", run_id="r1", metadata={"topic": "tea", "n": 3}, infer=False)
memory.add("Lives in Oslo", user_id="bob", metadata={"created_at": "2023-05-01T10:00:00+00:00"}, infer=False)
memory.add("The oven runs hot", agent_id="cook", infer=False)
gone = memory.add("Likes fish", user_id="bob", infer=False)
memory.delete(gone["results"][0]["id"])
first = added["results"][0]["id"]
memory.update(first, data="Likes black tea")
show("all", [memory.get(each["id"]) for each in added["results"]])
"""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Keeps what mem0 wrote for the other tests here: to start it takes seconds."""
    return {"folder": tmp_path_factory.mktemp("mem0") / "written"}


@pytest.fixture
def written(run_script: Run, config: dict[str, Any], tmp_path: Path, once: dict[str, Any]) -> list[dict[str, Any]]:
    """What mem0 says of the memories it wrote to ``qdrant`` and ``history.db``."""
    if importlib.util.find_spec("mem0") is None:  # not imported here: it would ask this process's environment
        pytest.skip("mem0ai is not installed")
    if "memories" not in once:
        [(_, once["memories"])] = run_script("from mem0 import Memory", WRITE, config)
        shutil.copytree(tmp_path, once["folder"])
    shutil.copytree(once["folder"], tmp_path, dirs_exist_ok=True)
    return list(once["memories"])


async def load(memory: Memory, path: Path, format: str | None = None) -> tuple[int, int, list[str]]:
    report = await import_(memory, path, format=format)
    return report.added, report.existing, [f"{each.where}: {each.reason}" for each in report.bad]


# --- what mem0 wrote -----------------------------------------------------------------------------------


async def test_memories_keep_their_ids_owners_times_and_metadata(
    written: list[dict[str, Any]], everyone: Memory, tmp_path: Path
) -> None:
    assert await load(everyone, tmp_path / "qdrant") == (4, 0, [])
    assert await everyone.admin.users() == {None: 1, "alice": 2, "bob": 1}
    now = AsyncMemory(memory=everyone)
    assert [await now.get(memory["id"]) for memory in written] == written
    [oslo] = (await now.search("Lives in Oslo", user_id="bob"))["results"]
    assert oslo["created_at"] == "2023-05-01T10:00:00+00:00"
    [record] = (await everyone.scoped(user="alice").browse(where={"n": 3}, session="r1", limit=1)).records
    assert (record.kind, record.scope.agent) == (Kind.NOTE, "cook")

    await now.update(written[0]["id"], "Likes coffee")
    for place in ("qdrant", "."):  # the same store, and nothing new
        assert await load(everyone, tmp_path / place, "mem0") == (0, 4, [])
    assert (await now.get(written[0]["id"]) or {})["memory"] == "Likes coffee"


async def test_the_folder_is_only_read_and_may_be_in_use(
    written: list[dict[str, Any]], everyone: Memory, tmp_path: Path
) -> None:
    def files() -> dict[Path, bytes]:
        return {each: each.read_bytes() for each in sorted((tmp_path / "qdrant").rglob("*")) if each.is_file()}

    with closing(qdrant_client.QdrantClient(path=str(tmp_path / "qdrant"))):
        before = files()
        assert (await load(everyone, tmp_path / "qdrant"))[0] == 4
        assert files() == before


async def test_a_history_alone_gives_the_last_text_of_each(
    written: list[dict[str, Any]], everyone: Memory, tmp_path: Path
) -> None:
    bob = everyone.scoped(user="bob")
    assert await load(bob, tmp_path / "history.db") == (4, 0, [])
    record = await bob.get(written[0]["id"])
    assert record is not None
    assert (record.content, record.payload["role"]) == ("Likes black tea", "user")
    assert record.updated_at > record.created_at
    assert await bob.count() == 4  # who they were is not in it
    assert await load(bob, tmp_path / "history.db") == (0, 4, [])


async def test_what_was_deleted_stays_so_where_its_times_were_not_written(alice: Memory, tmp_path: Path) -> None:
    columns = "memory_id, new_memory, event, created_at, updated_at, actor_id, role"
    rows = [
        ("1", "Likes fish", "ADD", "2024-05-01T10:00:00-07:00", None, None, None),
        ("1", None, "DELETE", None, None, None, None),
        ("2", "Likes tea", "ADD", "2024-05-01T10:00:00-07:00", None, None, None),
        ("2", "Likes jam", "UPDATE", "2024-05-01T10:00:00-07:00", "2024-05-01T09:30:00-08:00", None, None),
    ]
    with closing(sqlite3.connect(tmp_path / "history.db")) as connection, connection:
        connection.execute(f"CREATE TABLE history (id TEXT PRIMARY KEY, {columns})")
        connection.executemany(f"INSERT INTO history ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    assert await load(alice, tmp_path / "history.db") == (1, 0, [])
    assert [record.content for record in (await alice.browse()).records] == ["Likes jam"]


# --- other files -----------------------------------------------------------------------------------------


@contextmanager
def qdrant(folder: Path, *payloads: dict[str, Any], collection: str = "mem0") -> Iterator[None]:
    """Write memories as mem0 has them, with payloads of the test's own."""
    models = qdrant_client.models
    with closing(qdrant_client.QdrantClient(path=str(folder))) as client:
        size = models.VectorParams(size=2, distance=models.Distance.COSINE)
        client.create_collection(collection, vectors_config=size)
        points = [models.PointStruct(id=number, vector=[1, 0], payload=each) for number, each in enumerate(payloads, 1)]
        client.upsert(collection, points=points)
    yield


async def test_bad_memories_are_counted_and_the_others_loaded(everyone: Memory, tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"user_id": "alice"},
        {"data": 5, "user_id": "alice"},
        {"data": "x", "user_id": " "},
        {"data": "x", "user_id": "alice", "created_at": "some day"},
    ]
    with qdrant(tmp_path / "q", {"data": "Likes tea", "user_id": "alice"}, *bad):
        added, _, reasons = await load(everyone, tmp_path / "q")
    assert (added, [reason.split(":")[0] for reason in reasons]) == (1, [f"memory {number}" for number in range(2, 6)])
    assert "it has no text" in reasons[0] and "point in time" in reasons[3]


async def test_a_users_memory_takes_no_other_users(alice: Memory, tmp_path: Path) -> None:
    with qdrant(tmp_path / "q", {"data": "a", "user_id": "alice"}, {"data": "b", "user_id": "bob"}, {"data": "c"}):
        added, _, [reason] = await load(alice, tmp_path / "q")
    assert added == 2  # hers, and the one that is nobody's
    assert "record of user 'bob'" in reason


async def test_what_a_model_drew_is_a_fact_and_entities_are_no_memories(everyone: Memory, tmp_path: Path) -> None:
    with (
        qdrant(tmp_path / "all" / "q", {"data": "Alice likes tea", "user_id": "alice", "attributed_to": "user"}),
        qdrant(tmp_path / "all" / "p", {"data": "tea", "user_id": "alice"}, collection="mem0_entities"),
    ):
        assert await load(everyone, tmp_path / "all", "mem0") == (1, 0, [])
    [record] = (await everyone.scoped(user="alice").browse()).records
    assert (record.kind, record.payload["attributed_to"]) == (Kind.FACT, "user")


async def test_what_mem0_changed_since_is_revised(alice: Memory, tmp_path: Path) -> None:
    for text, outcome in (("Likes tea", (1, 0, 0)), ("Likes tea", (0, 0, 1)), ("Likes jam", (0, 1, 0))):
        memory = {"id": "m1", "memory": text, "user_id": "alice", "created_at": "2024-05-01T10:00:00+00:00"}
        (tmp_path / "mem0.json").write_text(json.dumps({"results": [memory]}))
        report = await import_(alice, tmp_path / "mem0.json")
        assert (report.added, report.revised, report.existing) == outcome


async def test_what_is_none_of_mem0s_is_an_error(everyone: Memory, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database", encoding="utf-8")
    with pytest.raises(FormatError, match="not of a known format"):
        await load(everyone, tmp_path / "text.db")
    with pytest.raises(FormatError, match="not of the format mem0"):
        await import_(everyone, tmp_path, format="mem0")


async def test_a_damaged_store_is_told(everyone: Memory, tmp_path: Path) -> None:
    with qdrant(tmp_path / "q", {"data": "a", "user_id": "alice"}):
        storage = tmp_path / "q" / "collection" / "mem0" / "storage.sqlite"
        with closing(sqlite3.connect(storage)) as connection, connection:
            connection.execute("UPDATE points SET point = x'00'")
        for _ in range(2):
            added, _, [reason] = await load(everyone, tmp_path / "q")
            assert added == 0 and ("memory in row 1" in reason or "it is not a SQLite database" in reason)
            storage.write_bytes(b"damaged" * 1000)


async def test_a_store_is_read_without_qdrant_client(
    everyone: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with qdrant(tmp_path / "q", {"data": "a", "user_id": "alice"}):
        monkeypatch.setitem(sys.modules, "qdrant_client", None)
        assert await load(everyone, tmp_path / "q") == (1, 0, [])


# --- what mem0 is given --------------------------------------------------------------------------------

ADD = """
memory = Memory.from_config(config)
for each in json.load(open(config["history_db_path"] + ".json"))["results"]:
    memory.add(
        [{"role": each.get("role", "user"), "content": each["memory"], "name": each.get("actor_id")}],
        user_id=each.get("user_id"), agent_id=each.get("agent_id"), run_id=each.get("run_id"),
        metadata={**each["metadata"], "created_at": each["created_at"]}, infer=False,
    )
import inspect
whose = {"user_id": "alice"}
old = "user_id" in inspect.signature(memory.get_all).parameters  # mem0 1.x
show("all", (memory.get_all(**whose) if old else memory.get_all(filters=whose))["results"])
"""


@pytest.mark.skipif(importlib.util.find_spec("mem0") is None, reason="needs mem0ai")
async def test_an_export_goes_through_mem0_and_comes_back(
    alice: Memory, everyone: Memory, run_script: Run, config: dict[str, Any], tmp_path: Path
) -> None:
    await alice.remember("Likes tea\r\n## 2024", happened_at="2020-05-01", metadata={"n": 3}, agent="cook")
    await alice.topics.set("user.language", "Elixir")
    said = [{"role": "user", "name": "Ann", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    await alice.conversation("r1").append(said)
    report = await export(alice, tmp_path / "history.db.json", to="mem0")
    assert (report.written, report.losses()) == (4, "")

    [(_, shown)] = run_script("from mem0 import Memory", ADD, config)
    there = {record.content: record async for record in alice.iterate()}
    assert {each["memory"]: datetime.fromisoformat(each["created_at"]) for each in shown} == {
        text: record.at for text, record in there.items()
    }
    assert {each["memory"]: each.get("role") for each in shown if each["memory"] in ("Hi", "Hello")} == {
        "Hi": "user", "Hello": "assistant",
    }  # fmt: skip
    async with Memory.open(tmp_path / "other.db", embedder=HashEmbedder()) as other:
        assert (await load(other, tmp_path / "qdrant"))[::2] == (4, [])
        back = {record.content: record async for record in other.scoped(user="alice").iterate()}
        for text, record in there.items():
            same = back[text]
            assert (same.kind, same.at, same.key, same.scope, dict(same.metadata)) == (
                record.kind, record.at, record.key, record.scope, dict(record.metadata),
            )  # fmt: skip
            assert [same.payload.get(name) for name in ("role", "speaker")] == [
                record.payload.get(name) for name in ("role", "speaker")
            ]
