"""Entries as Mango itself makes them: its documented fields, and none of ours."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from memorist.adapters.mango import (
    AgentMemory,
    MemoryEntry,
    MemoryService,
    MemoryTools,
    TextMemoryEntry,
    TrainingEntry,
)
from memorist.adapters.mango.layered import LayeredMemory
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


@dataclass
class MangoEntry:
    """A `MemoryEntry` or `TrainingEntry` of Mango's own package."""

    id: str
    question: str
    tool_name: str
    tool_args: dict[str, Any]
    result_summary: str = ""
    similarity: float = 0.0
    timestamp: str = field(default="2024-05-08T12:00:00")


def entry(id: str, question: str = "north", **fields: Any) -> Any:
    return MangoEntry(id, question, "query", {"sql": "SELECT 1"}, **fields)


@pytest.mark.parametrize("provenance", [False, True])
async def test_entries_of_mangos_own_types_are_stored_and_found(memory: MemoryService, provenance: bool) -> None:
    assert isinstance(memory, LayeredMemory)
    memory.provenance = provenance
    await memory.store(entry("1", result_summary="one row"))
    await memory.train(entry("2"))
    [found] = await memory.retrieve("north")
    assert (found.id, found.tool_args, found.result_summary) == ("1", {"sql": "SELECT 1"}, "one row")
    assert found.timestamp == "2024-05-08T12:00:00"
    [trained] = await memory.get_training_entries("north")
    assert trained.id == "2"
    origins = [(each.source, each.verified) for each in (found, trained)]
    assert origins == ([("manual", False), ("manual", True)] if provenance else [(None, None)] * 2)


async def test_a_text_is_saved_with_its_source_and_whether_it_is_verified(memory: MemoryService) -> None:
    assert isinstance(memory, LayeredMemory)
    memory.provenance = False
    id = await memory.save_text("north", source="llm", verified=True)
    [found] = await memory.search_text("north")
    assert (found.id, found.source, found.verified) == (id, None, None)
    memory.provenance = True
    await memory.save_text("near", source="llm", verified=True)
    await memory.save_text("near")
    await memory.save_text("near", source="llm")
    found_texts = await memory.search_text("near", similarity_threshold=0.999)
    assert {(each.source, each.verified) for each in found_texts} == {("llm", True), ("manual", True), ("llm", False)}


async def test_texts_keep_their_origin_by_default(memory: MemoryService) -> None:
    await memory.save_text("far", source="llm")
    [told] = [(each["text"], each["source"], each["verified"]) for each in await memory.export_all()]
    assert told == ("far", "llm", False)


async def test_the_tools_work_on_a_memory_of_mangos_own() -> None:
    class Own:
        """The part of Mango's own memory that the tools use."""

        def __init__(self) -> None:
            self.stored: list[Any] = []

        async def store(self, entry: Any) -> None:
            self.stored.append(entry)

        async def retrieve(self, question: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[Any]:
            return [entry("1", question)]

    own = Own()
    tools = MemoryTools(own)  # type: ignore[arg-type]
    found = await tools.call("search_saved_correct_tool_uses", {"question": "north"})
    assert found.success and found.data["count"] == 1
    saved = await tools.call("save_question_tool_args", {"question": "q", "tool_name": "t", "tool_args": {}})
    assert saved.success and own.stored[0].id == saved.data["saved_id"]


async def test_memories_under_two_labels_share_no_ids() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as opened:
        memories = [
            AgentMemory(opened.scoped(user="alice", **label))
            for label in ({"agent": "sales"}, {"agent": "support"}, {"session": "sales"})
        ]
        for number, memory in enumerate(memories):
            await memory.store(entry("1", f"how many users? {number}"))
            await memory.train(entry("1", f"how many orders? {number}"))
            await memory.import_all([{"type": "text", "id": "t", "text": f"revenue is in cents {number}"}])
        for number, memory in enumerate(memories):
            exported = await memory.export_all()
            assert [each["id"] for each in exported] == ["1", "t", "1"]
            assert exported[0]["question"] == f"how many users? {number}"
            assert exported[1]["text"] == f"revenue is in cents {number}"
        await memories[0].delete("1")
        assert [each.count() for each in memories] == [0, 1, 1]


def test_where_mango_is_installed_our_types_are_its_types() -> None:
    theirs = pytest.importorskip("mango.memory")
    assert issubclass(AgentMemory, theirs.MemoryService)
    for ours in (MemoryEntry, TextMemoryEntry, TrainingEntry):
        assert issubclass(ours, getattr(theirs, ours.__name__))
    made = TrainingEntry("1", "How many?", "query", {"sql": "SELECT 1"})
    assert (made.result_summary, made.similarity, made.verified) == ("", 0.0, None)


async def test_mangos_own_tools_and_entries_work_on_our_memory(memory: MemoryService) -> None:
    theirs = pytest.importorskip("mango.memory")
    tools = pytest.importorskip("mango.tools.memory_tools")
    await memory.store(theirs.MemoryEntry("1", "north", "query", {"sql": "SELECT 1"}, "one row"))
    await memory.train(theirs.TrainingEntry("2", "north", "query", {"sql": "SELECT 1"}))
    found = await tools.SearchSavedCorrectToolUsesTool(memory).execute(question="north")
    assert found.success and found.data["count"] == 1
    assert (await tools.SaveTextMemoryTool(memory).execute(content="near")).success
    assert [each.text for each in await memory.search_text("near")] == ["near"]


async def test_a_text_of_the_models_tool_is_not_verified(memory: MemoryService) -> None:
    assert isinstance(memory, LayeredMemory)
    memory.provenance = True
    await memory.save_text("near")
    await MemoryTools(memory).call("save_text_memory", {"content": "near"})
    exported = [(each["source"], each["verified"]) for each in await memory.export_all()]
    assert sorted(exported) == [("llm", False), ("manual", True)]
