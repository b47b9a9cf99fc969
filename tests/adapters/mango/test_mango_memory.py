"""Mango's memory does what Mango's documents say, in Chroma and on a Memorist store alike."""

import json
import logging
import sys
import uuid
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.mango import (
    AgentMemory,
    ChromaAgentMemory,
    MemoryEntry,
    MemoryService,
    TextMemoryEntry,
    TrainingEntry,
    make_entry_id,
)
from memorist.adapters.mango.layered import LayeredMemory
from memorist.errors import (
    ClosedError,
    EmbedderError,
    EmbedderMismatchError,
    InvalidInputError,
    MissingExtraError,
    StoreUnavailableError,
)
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


def call(question: str, id: str = "", **fields: Any) -> MemoryEntry:
    given = {"tool_name": "query", "tool_args": {"sql": "SELECT 1"}, "result_summary": "one row", **fields}
    return MemoryEntry(id or make_entry_id(), question, **given)


def example(question: str, id: str = "", **fields: Any) -> TrainingEntry:
    return TrainingEntry(id or make_entry_id(), question, "query", {"sql": "SELECT 2"}, **fields)


# --- the types ---------------------------------------------------------------------------------------------


def test_the_types_are_plain_and_mutable() -> None:
    entry = MemoryEntry("1", "how many?", "query", {}, "three")
    assert entry.similarity == 0.0
    assert abs((datetime.now(UTC) - datetime.fromisoformat(entry.timestamp)).total_seconds()) < 60
    entry.similarity = 0.5
    assert TrainingEntry("1", "how many?", "query", {}).result_summary == ""
    assert TextMemoryEntry("1", "a text").similarity == 0.0
    assert str(uuid.UUID(make_entry_id())) == make_entry_id() or uuid.UUID(make_entry_id()).version == 4


async def test_a_service_is_six_methods() -> None:
    class Mine(MemoryService):
        async def store(self, entry: MemoryEntry) -> None: ...
        async def retrieve(self, question: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[MemoryEntry]:
            return []

        async def delete(self, entry_id: str) -> None: ...
        async def save_text(self, text: str, *, source: str | None = None, verified: bool | None = None) -> str:
            return "1"

        async def search_text(self, query: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[Any]:
            return []

        def count(self) -> int:
            return 0

    mine = Mine()
    for attempt in (
        mine.train(example("?")),
        mine.get_training_entries("?"),
        mine.export_all(),
        mine.import_all([]),
    ):
        with pytest.raises(NotImplementedError):
            await attempt
    with pytest.raises(NotImplementedError):
        mine.training_count()
    with pytest.raises(TypeError):
        MemoryService()  # type: ignore[abstract]


# --- tool calls --------------------------------------------------------------------------------------------


async def test_an_empty_memory_finds_nothing(memory: MemoryService) -> None:
    assert await memory.retrieve("north") == []
    assert await memory.search_text("north") == []
    assert await memory.get_training_entries("north") == []
    assert (memory.count(), memory.training_count()) == (0, 0)


async def test_a_call_comes_back_as_it_was(memory: MemoryService) -> None:
    arguments = {"sql": "SELECT ä", "limit": [1, 2.5, None, True], "deep": {"er": [{}]}}
    entry = call("north", tool_args=arguments, timestamp="2024-05-08T12:00:00+02:00")
    await memory.store(entry)

    [found] = await memory.retrieve("north")

    assert found == MemoryEntry(**{**asdict(entry), "similarity": 1.0})


async def test_arguments_that_are_not_json_are_kept_as_text(memory: MemoryService) -> None:
    await memory.store(call("north", tool_args={"day": date(2024, 5, 8), "where": Path("a")}))
    [found] = await memory.retrieve("north")
    assert found.tool_args == {"day": "2024-05-08", "where": "a"}


async def test_a_call_may_have_no_question(memory: MemoryService) -> None:
    for question in ("", "  "):
        await memory.store(call(question))
    assert memory.count() == 2


async def test_storing_an_id_again_replaces(memory: MemoryService) -> None:
    await memory.store(call("north", "1", tool_args={"a": 1}))
    await memory.store(call("near", "1", tool_args={"b": 2}, tool_name="other"))
    [found] = await memory.retrieve("north")
    assert (found.question, found.tool_name, found.tool_args) == ("near", "other", {"b": 2})
    assert memory.count() == 1


async def test_hits_are_ordered_cut_and_rounded(memory: MemoryService) -> None:
    for question in ("on the line", "east", "nearer", "near", "south", "north again"):
        await memory.store(call(question))
    found = await memory.retrieve("north")
    assert [(each.question, each.similarity) for each in found] == [
        ("north again", 1.0),
        ("nearer", 0.9),
        ("near", 0.8),
    ]
    assert len(await memory.retrieve("north", top_k=4)) == 4
    assert [each.question for each in await memory.retrieve("north", top_k=1)] == ["north again"]
    assert await memory.retrieve("north", top_k=0) == await memory.retrieve("north", top_k=-1) == []
    assert len(await memory.retrieve("north", top_k=1_000_000, similarity_threshold=0)) == 6


async def test_the_threshold_is_inclusive_and_goes_by_the_unrounded_value(memory: MemoryService) -> None:
    await memory.store(call("on the line"))
    await memory.store(call("rounded"))  # 0.59961, which is shown as 0.6
    assert [each.question for each in await memory.retrieve("north")] == ["on the line"]
    found = await memory.retrieve("north", similarity_threshold=0.5)
    assert [(each.question, each.similarity) for each in found] == [("on the line", 0.6), ("rounded", 0.6)]
    await memory.store(call("south"))
    everything = await memory.retrieve("north", top_k=9, similarity_threshold=0.0)
    assert [each.similarity for each in everything][-1] == 0.0  # never below
    assert await memory.retrieve("north", similarity_threshold=1.1) == []
    await memory.store(call("near"))
    assert [each.question for each in await memory.retrieve("near", similarity_threshold=1.0)] == ["near"]


async def test_deleting_is_for_calls_alone_and_a_missing_one_is_passed_over(memory: MemoryService) -> None:
    await memory.store(call("north", "1"))
    await memory.train(example("north", "1"))
    await memory.delete("none")
    await memory.delete("1")
    await memory.delete("1")
    assert (memory.count(), memory.training_count()) == (0, 1)


async def test_the_layers_are_apart(memory: MemoryService) -> None:
    await memory.store(call("north", "same"))
    await memory.train(example("north", "same"))
    text = await memory.save_text("north")
    assert (memory.count(), memory.training_count()) == (1, 1)
    assert [each.tool_args for each in await memory.retrieve("north")] == [{"sql": "SELECT 1"}]
    assert [each.tool_args for each in await memory.get_training_entries("north")] == [{"sql": "SELECT 2"}]
    assert [each.id for each in await memory.search_text("north")] == [text]


# --- texts and training ------------------------------------------------------------------------------------


async def test_a_text_has_always_a_new_id(memory: MemoryService) -> None:
    one, two = await memory.save_text("north"), await memory.save_text("north")
    assert one != two
    assert uuid.UUID(one).version == 4
    await memory.save_text("on the line")
    await memory.save_text("east")
    found = await memory.search_text("north", top_k=9)
    assert [(each.text, each.similarity) for each in found] == [("north", 1.0), ("north", 1.0), ("on the line", 0.6)]


async def test_training_replaces_by_id_and_has_a_lower_threshold(memory: MemoryService) -> None:
    await memory.train(example("half", "1"))
    await memory.train(example("half", "1", result_summary="two rows"))
    await memory.train(example("east", "2"))
    [found] = await memory.get_training_entries("north")
    assert (found.similarity, found.result_summary) == (0.5, "two rows")
    assert memory.training_count() == 2
    for n in range(6):
        await memory.train(example("north", f"n{n}"))
    assert len(await memory.get_training_entries("north")) == 5


# --- export and import -------------------------------------------------------------------------------------


async def test_an_export_is_what_an_import_takes(memory: MemoryService) -> None:
    await memory.train(example("near", "t1", timestamp="2024-01-01T00:00:00"))
    await memory.store(call("north", "c1", timestamp="2024-01-02T00:00:00"))
    text = await memory.save_text("a text")
    await memory.store(call("near", "c2", timestamp="2024-01-03T00:00:00"))

    exported = await memory.export_all()

    assert json.loads(json.dumps(exported)) == exported
    assert [(each["type"], each["id"]) for each in exported] == [
        ("tool", "c1"),
        ("tool", "c2"),
        ("text", text),
        ("training", "t1"),
    ]
    assert list(exported[0]) == ["type", "id", "question", "tool_name", "tool_args", "result_summary", "timestamp"]
    assert exported[2] == {"type": "text", "id": text, "text": "a text", "source": "manual", "verified": True}
    assert exported[3]["timestamp"] == "2024-01-01T00:00:00"
    assert await memory.import_all(exported) == 4  # into itself: nothing changes
    assert await memory.export_all() == exported
    async with Memory.open(":memory:", embedder=HashEmbedder()) as opened:
        other = AgentMemory(opened)
        assert await other.import_all(exported) == 4
        assert await other.export_all() == exported


async def test_what_is_no_entry_is_passed_over_with_a_warning(
    memory: MemoryService, caplog: pytest.LogCaptureFixture
) -> None:
    good: dict[str, Any] = {"type": "tool", "question": "north", "tool_name": "t", "tool_args": {}}
    no_dict: Any = "no dict"
    with caplog.at_level(logging.WARNING):
        imported = await memory.import_all([
            {"type": "other"}, {"question": "?"}, {**good, "tool_args": "no"}, {**good, "question": 7},
            {"type": "training"}, {"type": "text"}, no_dict, {**good, "question": "half \ud800"}, good,
        ])  # fmt: skip
    assert imported == 2
    messages = [each.getMessage() for each in caplog.records if each.name.startswith("memorist")]
    assert messages[0] == "Unknown entry type 'other' during import — skipped."
    assert messages[1] == "Unknown entry type 'None' during import — skipped."
    assert len(messages) == 7
    found, half = sorted(await memory.retrieve("north"), key=lambda each: len(each.question))
    assert half.question == "half \ufffd"
    assert found.id
    assert found.result_summary == ""


@pytest.mark.parametrize("wrong", [
    {"question": None}, {"tool_name": None}, {"tool_args": None}, {"tool_args": ["a"]}, {"result_summary": None},
    {"timestamp": 5}, {"id": 5}, {"tool_name": 5},
])  # fmt: skip
async def test_an_entry_with_a_wrong_field_is_refused_and_the_others_are_found(
    memory: MemoryService, wrong: dict[str, Any]
) -> None:
    await memory.store(call("north", "good"))
    call_of, example_of = call("north"), example("north")
    for write, entry in ((memory.store, call_of), (memory.train, example_of)):
        for name, value in wrong.items():
            setattr(entry, name, value)
        with pytest.raises(InvalidInputError, match=f"{next(iter(wrong))} "):
            await write(entry)  # type: ignore[operator]
    assert [each.id for each in await memory.retrieve("north")] == ["good"]
    assert [each["id"] for each in await memory.export_all()] == ["good"]


async def test_a_text_that_is_none_is_refused(memory: MemoryService) -> None:
    wrong: Any = None
    for attempt in (memory.save_text(wrong), memory.search_text(wrong), memory.retrieve(wrong)):
        with pytest.raises(InvalidInputError, match="must be a string, not NoneType"):
            await attempt


async def test_importing_twice_changes_nothing_even_without_ids(memory: MemoryService) -> None:
    entries: list[dict[str, Any]] = [
        {"type": "text", "text": "north"},
        {"type": "training", "question": "north", "tool_name": "t", "tool_args": {}, "timestamp": "2024-01-01"},
        {"type": "tool", "question": "north", "tool_name": "no time", "tool_args": {}},
        {"type": "tool", "id": "1", "question": "north", "tool_name": "no time", "tool_args": {}},
    ]
    assert await memory.import_all(entries) == 4
    before = await memory.export_all()
    assert await memory.import_all(entries) == 4
    assert await memory.export_all() == before


# --- options -----------------------------------------------------------------------------------------------


async def test_reranking_looks_at_the_words_of_the_arguments(memory: MemoryService) -> None:
    assert isinstance(memory, LayeredMemory)
    await memory.store(call("nearer", "words", tool_args={"sql": "SELECT a FROM b"}))
    await memory.store(call("near", "same", tool_args={"sql": "north pole"}))
    assert [each.id for each in await memory.retrieve("north", top_k=1)] == ["words"]
    memory.rerank = True
    found = await memory.retrieve("north", top_k=1)
    assert [(each.id, each.similarity) for each in found] == [("same", 0.8)]  # 0.56 + 0.3 against 0.63


async def test_provenance_is_kept_where_it_is_asked_for(memory: MemoryService) -> None:
    assert isinstance(memory, LayeredMemory)
    await memory.store(call("north", source="llm", verified=True))
    [found] = await memory.retrieve("north")
    assert (found.source, found.verified) == (None, None)
    memory.provenance = True
    await memory.store(call("north", "1", source="llm", verified=True))
    await memory.store(call("near", "2"))
    await memory.train(example("north", "3"))
    await memory.import_all([{"type": "text", "id": "4", "text": "north"}])
    provenance = {each.id: (each.source, each.verified) for each in await memory.retrieve("north")}
    assert (provenance["1"], provenance["2"]) == (("llm", True), ("manual", False))
    [trained] = await memory.get_training_entries("north")
    assert (trained.source, trained.verified) == ("manual", True)
    exported = {each["id"]: each for each in await memory.export_all()}
    assert (exported["4"]["source"], exported["4"]["verified"]) == ("import", False)


# --- in Chroma ---------------------------------------------------------------------------------------------


async def test_three_collections_in_cosine_space_and_everything_after_a_restart(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    memory = ChromaAgentMemory(str(tmp_path), "my_mem", embedding_function="hash")
    await memory.store(call("how many users are there?", "1", timestamp="2024-01-02T00:00:00"))
    await memory.save_text("revenue is in cents")
    await memory.train(example("how many orders are there?", "2"))
    exported = await memory.export_all()
    await memory.close()

    client = chromadb.PersistentClient(str(tmp_path), chromadb.config.Settings(anonymized_telemetry=False))
    collections = {each.name: each for each in client.list_collections()}
    assert set(collections) == {"my_mem", "my_mem_text", "my_mem_training"}
    assert {each.configuration["hnsw"]["space"] for each in collections.values()} == {"cosine"}
    client.close()
    again = ChromaAgentMemory(str(tmp_path), "my_mem", embedding_function="hash")
    assert await again.export_all() == exported
    [found] = await again.retrieve("how many users are there?")
    assert (found.id, found.similarity) == ("1", 1.0)
    await again.close()
    with pytest.raises(StoreUnavailableError):
        ChromaAgentMemory(_file_in(tmp_path))


def north(input: list[str]) -> list[list[float]]:
    return [[1.0, 0.0]] * len(input)


def _file_in(folder: Path) -> Path:
    (folder / "file").write_text("")
    return folder / "file"


async def test_a_row_whose_call_cannot_be_read_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chromadb = pytest.importorskip("chromadb")
    memory = ChromaAgentMemory(tmp_path, embedding_function=north)
    await memory.store(call("north", "good"))
    client = chromadb.PersistentClient(str(tmp_path), chromadb.config.Settings(anonymized_telemetry=False))
    collection = client.get_collection("mango_memory", embedding_function=None)
    for n, arguments in enumerate(("{'sql': 1}", "[1]", "")):
        fields = {"tool_name": "query", "tool_args": arguments, "result_summary": "", "timestamp": ""}
        collection.add(ids=[f"row-{n}"], documents=["north"], embeddings=[[1.0, 0.0]], metadatas=[fields])
    collection.add(ids=["row-3"], documents=["north"], embeddings=[[1.0, 0.0]])  # another program's
    client.close()

    assert {each.id for each in await memory.retrieve("north", top_k=9)} == {"good", "row-2"}
    assert all(row in caplog.text for row in ("row-0", "row-1", "row-3"))
    assert {each["id"] for each in await memory.export_all()} == {"good", "row-2"}
    await memory.close()


async def test_an_entry_stored_again_loses_what_it_no_longer_has(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    memory = ChromaAgentMemory(tmp_path, embedding_function=north, provenance=True)
    await memory.store(call("north", "1", source="llm", verified=True))
    memory.provenance = False
    await memory.store(call("north", "1"))
    memory.provenance = True
    [found] = await memory.retrieve("north")
    assert (found.source, found.verified) == (None, None)
    await memory.close()


async def test_memories_in_memory_are_each_their_own() -> None:
    pytest.importorskip("chromadb")
    one, two = (ChromaAgentMemory(persist_dir=":memory:", embedding_function="hash") for _ in range(2))
    await one.store(call("how many?"))
    assert (one.count(), two.count()) == (1, 0)
    assert await two.retrieve("how many?") == []
    await one.close()
    await two.close()


async def test_two_objects_of_one_folder_see_the_same(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    one, two = (ChromaAgentMemory(tmp_path, embedding_function="hash") for _ in range(2))
    await one.store(call("how many?"))
    await two.store(call("how many?"))
    await one.close()
    assert (len(await two.retrieve("how many?")), two.count()) == (2, 2)
    await two.close()
    with pytest.raises(ClosedError):
        await two.retrieve("how many?")
    with pytest.raises(ClosedError):
        two.count()


async def test_vectors_of_two_embedders_are_never_mixed(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    one = ChromaAgentMemory(tmp_path, embedding_function=HashEmbedder(64))
    await one.store(call("how many?"))
    await one.close()
    two = ChromaAgentMemory(tmp_path, embedding_function=HashEmbedder(32))
    for attempt in (two.store(call("how many?")), two.retrieve("how many?")):
        with pytest.raises(EmbedderMismatchError, match="embedding_function"):
            await attempt
    await two.close()


@pytest.mark.parametrize("answer", [None, [[1.0], [2.0, 3.0]], ["no number"], [[float("nan")]], [[1.0], [1.0]], 1 / 3])
async def test_an_embedding_function_that_fails_is_an_error_of_the_embedder(answer: Any) -> None:
    pytest.importorskip("chromadb")
    for function in (lambda texts: answer, lambda texts: answer[99][99]):
        memory = ChromaAgentMemory(":memory:", embedding_function=function)
        with pytest.raises(EmbedderError, match="the embedding function"):
            await memory.save_text("north")
        await memory.close()


async def test_the_default_is_the_embedder_of_this_project(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    memory = ChromaAgentMemory(tmp_path)
    await memory.store(call("how many customers do we have?"))
    [found] = await memory.retrieve("what is the number of customers?")
    assert 0.6 < found.similarity < 1.0
    await memory.close()


def test_without_chromadb_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[chroma\]"):
        ChromaAgentMemory(":memory:")


# --- on a Memorist store -----------------------------------------------------------------------------------


async def test_users_have_memories_of_their_own(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as opened:
        alice, bob = AgentMemory(opened.scoped(user="alice")), AgentMemory(opened.scoped(user="bob"))
        await alice.store(call("how many users?", "1"))
        assert await bob.retrieve("how many users?") == []
        await bob.delete("1")
        assert (alice.count(), bob.count()) == (1, 0)
    async with Memory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as opened:
        assert len(await AgentMemory(opened.scoped(user="alice")).retrieve("how many users?")) == 1


async def test_what_others_stored_is_not_mangos() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as opened:
        await opened.tools.record("how many users?", "count", {}, "3")
        await opened.notes.add("how many users?")
        memory = AgentMemory(opened)
        assert await memory.export_all() == []
        assert await memory.retrieve("how many users?") == []
        await memory.store(call("how many users?"))
        assert len(await opened.tools.search("how many users?")) == 2


async def test_the_similarity_is_the_cosine_whoever_else_is_spoken_of() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as opened:
        memory = AgentMemory(opened)
        await memory.store(call("What did Ben order?"))
        for name in ("Ben", "Ann"):
            await opened.conversation("c").append({"role": "user", "name": name, "content": "Hello"})
        assert [each.similarity for each in await memory.retrieve("What did Ben order?")] == [1.0]
