"""With the real library: its agent runs on our memories, and its own memory on our stores."""

from pathlib import Path
from typing import Any

import pytest

from episodes import held
from memorist import Memory as Engine
from memorist.adapters.llm_agents import (
    JSONMemoryStore,
    MemoristMemoryStore,
    Memory,
    reflective_memory,
    similarity_memory,
)
from memorist.testing import HashEmbedder

pytest.importorskip("llm_agents_from_scratch")

pytestmark = pytest.mark.anyio


def make_llm() -> Any:
    """A scripted model of the library's own kind: every task takes one step."""
    from llm_agents_from_scratch.base.llm import BaseLLM
    from llm_agents_from_scratch.data_structures import (
        ChatMessage,
        ChatRole,
        CompleteResult,
        NextStepDecision,
    )

    class Scripted(BaseLLM):
        def __init__(self) -> None:
            self.heard: list[str] = []

        async def complete(self, prompt: str, **kwargs: Any) -> CompleteResult:
            return CompleteResult(response="Ask for a window seat.", prompt=prompt)

        async def structured_output(self, prompt: str, mdl: Any, **kwargs: Any) -> Any:
            assert mdl is NextStepDecision
            return NextStepDecision(kind="final_result", content="Booked SK 802")

        async def chat(self, input: str, *args: Any, **kwargs: Any) -> Any:
            self.heard.append(input)
            message = ChatMessage(role=ChatRole.ASSISTANT, content="Booked SK 802")
            return ChatMessage(role=ChatRole.USER, content=input), message

        async def continue_chat_with_tool_results(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("no tools here")

    return Scripted()


async def run_agent(memories: list[Any], instruction: str) -> Any:
    from llm_agents_from_scratch import LLMAgent
    from llm_agents_from_scratch.data_structures import Task

    agent = LLMAgent(llm=make_llm(), memories=memories)
    return await agent.run(Task(instruction=instruction))


async def test_the_agent_records_to_our_memories(tmp_path: Path) -> None:
    async with Engine.open(tmp_path / "m.db", embedder=HashEmbedder()) as engine:
        ours = Memory(JSONMemoryStore(tmp_path)), reflective_memory(make_llm(), memory=engine)
        result = await run_agent(list(ours), "Book a flight to Oslo")
        assert "Booked SK 802" in str(result)
        for memory in ours:
            [found] = await memory.store.recall("a flight")
            assert found.task.instruction == "Book a flight to Oslo" and "Booked SK 802" in str(found.result)
        assert found.metadata == {"reflection": "Ask for a window seat."}


async def test_memories_on_one_database_keep_the_episode_each(tmp_path: Path) -> None:
    place = {"memory": tmp_path / "m.db", "embedder": "hash"}
    memories = [reflective_memory(make_llm(), **place), similarity_memory(**place)]  # type: ignore[arg-type]
    await run_agent(memories, "Book a flight to Oslo")
    assert [[each.metadata for each in await memory.store.recall("a flight")] for memory in memories] == [
        [{"reflection": "Ask for a window seat."}],
        [{}],
    ]
    for memory in memories:
        await memory.close()


async def test_the_librarys_except_clauses_catch_our_errors(tmp_path: Path) -> None:
    from llm_agents_from_scratch.errors import EpisodeNotFoundError, MaxResultsExceededWarning

    class Generous(JSONMemoryStore):
        async def _read_recent(self, n: int) -> Any:
            return [1] * (n + 1)

    for store in (JSONMemoryStore(tmp_path), MemoristMemoryStore(tmp_path / "m.db", embedder="hash")):
        with pytest.raises(EpisodeNotFoundError):
            await store.delete("gone")
        if isinstance(store, MemoristMemoryStore):
            await store.close()
    with pytest.warns(MaxResultsExceededWarning):
        await Generous(tmp_path).recall("anything")


async def test_a_store_that_fails_does_not_fail_the_run(tmp_path: Path) -> None:
    class Failing(JSONMemoryStore):
        async def write(self, episode: Any) -> None:
            raise OSError("no space left")

        async def _read_recent(self, n: int) -> Any:
            raise OSError("the disk is gone")

    good = JSONMemoryStore(tmp_path)
    result = await run_agent([Memory(Failing(tmp_path)), Memory(good)], "Book a flight to Oslo")
    assert "Booked SK 802" in str(result) and await good.count() == 1


@pytest.mark.parametrize("kind", ["file", "engine"])
async def test_the_librarys_own_memory_works_on_our_stores(tmp_path: Path, kind: str) -> None:
    from llm_agents_from_scratch.data_structures import Task
    from llm_agents_from_scratch.data_structures.memory import Episode
    from llm_agents_from_scratch.memory.memory import Memory as Original

    async with Engine.open(tmp_path / "m.db", embedder=HashEmbedder()) as engine:
        store = JSONMemoryStore(tmp_path) if kind == "file" else MemoristMemoryStore(engine)
        memory = Original(store=store, metadata_fns={"length": lambda told: "short"})
        told = Episode(task=Task(instruction="Book a flight"), rollout="…", error=ValueError("no seats"))
        await memory.record(told)
        text = await memory.recall(Task(instruction="a flight"))
        assert "<error>ValueError: no seats</error>" in text and "<length>short</length>" in text
        await memory.update(told)
        await memory.delete(told.id_)
        assert await store.count() == 0


async def test_a_file_of_the_librarys_own_store_is_read(tmp_path: Path) -> None:
    from llm_agents_from_scratch.data_structures import Task
    from llm_agents_from_scratch.data_structures.memory import Episode
    from llm_agents_from_scratch.memory_stores.json import JSONMemoryStore as Original

    await Original(dir=tmp_path).write(Episode(task=Task(instruction="Book a flight"), rollout="…"))
    assert [each.task.instruction for each in held(JSONMemoryStore(tmp_path))] == ["Book a flight"]


def test_our_stores_are_stores_of_the_library() -> None:
    from llm_agents_from_scratch.base.memory_store import BaseMemoryStore

    assert issubclass(MemoristMemoryStore, BaseMemoryStore) and issubclass(JSONMemoryStore, BaseMemoryStore)
