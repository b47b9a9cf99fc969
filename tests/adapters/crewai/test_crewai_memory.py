"""The memory: by itself, and in a real crew with a scripted model."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("crewai")

from crewai import Agent, Crew, Task
from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import MemorySaveCompletedEvent, MemorySaveFailedEvent

from crewai_model import ScriptedModel
from memorist import Memory
from memorist.adapters.crewai import MemoristMemory, MemoristStorage
from memorist.errors import InvalidInputError
from memorist.records.origins import IMPORT
from memorist.records.record import Draft

pytestmark = pytest.mark.anyio


@pytest.fixture
def memory(alice: Memory) -> MemoristMemory:
    return MemoristMemory(storage=MemoristStorage(alice))


def found(memory: Any, query: str, **bounds: Any) -> list[str]:
    return [match.record.content for match in memory.recall(query, **bounds)]


async def test_words_are_searched_without_a_model(memory: MemoristMemory) -> None:
    memory.remember_many(["The invoice is K-4711-B", "The invoice is in the drawer", "Owns a boat"])
    [best, *_] = memory.recall("K-4711-B")
    assert best.record.content == "The invoice is K-4711-B"
    assert "words" in best.match_reasons
    assert 0 <= best.score <= 1


async def test_what_was_given_is_kept(memory: MemoristMemory) -> None:
    made = memory.remember("Likes tea", scope="a", categories=["x"], metadata={"n": 1}, importance=0.9, source="s")
    assert made is not None
    assert (made.scope, made.categories, made.metadata, made.importance, made.source) == (
        "/a", ["x"], {"n": 1}, 0.9, "s"
    )  # fmt: skip
    assert memory.list_records() == [made]
    assert made.importance != memory.default_importance
    assert memory.info("/a").record_count == 1


async def test_private_records_are_for_their_source(memory: MemoristMemory) -> None:
    memory.remember("Likes tea", source="alice", private=True)
    memory.remember("Likes tea too", private=True)
    memory.remember("Likes tea in public")
    assert found(memory, "likes tea") == ["Likes tea in public"]
    assert set(found(memory, "likes tea", source="alice")) == {"Likes tea in public", "Likes tea"}
    assert len(found(memory, "likes tea", include_private=True)) == 3


async def test_scopes_nest_under_a_root(alice: Memory) -> None:
    storage = MemoristStorage(alice)
    everything = MemoristMemory(storage=storage)
    crew = MemoristMemory(storage=storage, root_scope="/crew/one")
    crew.remember("Likes tea", scope="/cook")
    everything.remember("Likes tea as well", scope="/crew/onerous")
    assert found(crew, "likes tea") == ["Likes tea"]
    assert found(crew, "likes tea", scope="/cook") == ["Likes tea"]
    assert found(everything.scope("/crew/one"), "likes tea") == ["Likes tea"]
    assert set(found(everything.slice(["/crew/one", "/crew/onerous"]), "likes tea")) == {
        "Likes tea",
        "Likes tea as well",
    }
    assert crew.list_scopes() == ["/crew/one/cook"]
    assert crew.forget() == 1
    assert len(everything.list_records()) == 1


async def test_a_record_is_updated(memory: MemoristMemory) -> None:
    made = memory.remember("Likes tea", scope="/a", categories=["x"])
    assert made is not None
    memory.update(made.id, content="Likes coffee", importance=0.1)
    [changed] = memory.list_records()
    assert (changed.id, changed.content, changed.scope, changed.importance) == (made.id, "Likes coffee", "/a", 0.1)
    assert found(memory, "likes coffee") == ["Likes coffee"]
    with pytest.raises(ValueError, match="Record not found"):
        memory.update("unknown", content="x")


async def test_a_memory_may_be_read_only(alice: Memory, memory: MemoristMemory) -> None:
    made = memory.remember("Likes tea")
    assert made is not None
    read = MemoristMemory(storage=MemoristStorage(alice), read_only=True)
    assert read.remember("Likes coffee") is None
    assert read.remember_many(["Likes coffee"]) == []
    assert read.update(made.id, content="Likes coffee").content == "Likes tea"
    assert found(read, "likes") == ["Likes tea"]


async def test_a_text_is_its_one_memory_unless_a_model_is_given(alice: Memory, memory: MemoristMemory) -> None:
    assert memory.extract_memories("Long text") == ["Long text"]
    assert memory.extract_memories(" ") == []
    model = ScriptedModel(model="scripted", answers=['{"memories": ["One.", "Two."]}'])
    asked = MemoristMemory(storage=MemoristStorage(alice), llm=model)
    assert asked.extract_memories("Long text") == ["One.", "Two."]


async def test_saves_at_the_same_time_are_all_kept(memory: MemoristMemory) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: memory.remember_many([f"number {number}", f"and {number}"]), range(16)))
    assert len(memory.list_records()) == 32
    await memory.aremember("another")
    assert [match.record.content for match in await memory.arecall("another", limit=1)] == ["another"]


async def test_crewais_bus_is_told(memory: MemoristMemory) -> None:
    told: list[Any] = []
    with crewai_event_bus.scoped_handlers():
        crewai_event_bus.on(MemorySaveCompletedEvent)(lambda source, event: told.append(event))
        crewai_event_bus.on(MemorySaveFailedEvent)(lambda source, event: told.append(event))
        memory.remember("Likes tea", agent_role="cook")
        with pytest.raises(InvalidInputError):
            memory.remember(" ")
        crewai_event_bus.flush()
    assert sorted(type(event).__name__ for event in told) == ["MemorySaveCompletedEvent", "MemorySaveFailedEvent"]


async def test_a_crew_is_told_and_keeps(alice: Memory, memory: MemoristMemory) -> None:
    await alice.remember("Unrelated")
    memory.remember("Alice prefers homestays when she travels")
    model = ScriptedModel(model="scripted", answers=["Thought: I know.\nFinal Answer: In a homestay."])
    guide = Agent(role="guide", goal="Find beds", backstory="You know inns.", llm=model)
    task = Task(description="Where should Alice stay when she travels?", expected_output="A place", agent=guide)
    crew = Crew(agents=[guide], tasks=[task], memory=memory)
    assert "homestay" in (await crew.kickoff_async()).raw
    memory.drain_writes()
    assert "Alice prefers homestays when she travels" in str(model.inputs[0])
    kept = memory.list_records()
    assert len(kept) == 2
    assert "In a homestay." in kept[0].content


async def test_what_was_imported_says_so(alice: Memory, memory: MemoristMemory) -> None:
    made = memory.remember("The invoice goes to IBAN DE00")
    assert made is not None and found(memory, "invoice") == [made.content]
    before = await alice.get(made.id)
    assert before is not None
    await alice.forget(made.id)
    draft = Draft(content=before.content, id=before.id, payload=before.payload, author=IMPORT.author)
    await alice.through(IMPORT).remember([draft])
    [match] = memory.recall("invoice")
    assert match.record.content == f"(from an import) {made.content}"
    assert match.record.content in match.format()
    assert [each.content for each in memory.list_records()] == [made.content]
    memory.update(made.id, importance=0.9)
    assert [each.content for each in memory.list_records()] == [made.content]
