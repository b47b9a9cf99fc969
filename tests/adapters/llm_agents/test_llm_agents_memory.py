"""The memory of an agent: recall for a prompt, notes at record time, the recipes; and stores that fail."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from episodes import episode, held
from memorist import Memory as Engine
from memorist.adapters.llm_agents import (
    Episode,
    EpisodeNotFoundError,
    JSONMemoryStore,
    MemoristMemoryStore,
    Memory,
    MemoryStoreError,
    Task,
    recency_memory,
    reflective_memory,
)
from memorist.errors import ModelUnavailableError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(tmp_path / "memory.db", embedder=HashEmbedder()) as engine:
        yield engine


@pytest.fixture
def store(tmp_path: Path) -> JSONMemoryStore:
    return JSONMemoryStore(tmp_path)


async def test_recall_joins_the_episodes(store: JSONMemoryStore) -> None:
    memory = Memory(store)
    assert await memory.recall(Task(instruction="anything")) == ""
    first, second = episode("a"), episode("b", minutes=1)
    await memory.record(first)
    await memory.record(second)
    assert await memory.recall(Task(instruction="anything")) == f"{second}\n{first}"


async def test_functions_note_something_on_a_copy_of_the_episode(store: JSONMemoryStore) -> None:
    async def lesson(told: Episode) -> str:
        told.metadata["meddling"] = "in a copy"
        return f"lesson of {told.task}"

    memory = Memory(store, {"lesson": lesson, "length": lambda told: str(len(told.rollout))})
    told = episode("a", metadata={"team": "red"})
    await memory.record(told)
    assert held(store)[0].metadata == {"team": "red", "lesson": "lesson of a", "length": "15"}
    assert told.metadata == {"team": "red"}


async def test_a_function_may_return_something_to_await(store: JSONMemoryStore) -> None:
    async def later() -> str:
        return "later"

    await Memory(store, {"when": lambda told: later()}).record(episode("a"))
    assert held(store)[0].metadata == {"when": "later"}


async def test_blocking_and_async_functions_run_at_the_same_time(store: JSONMemoryStore) -> None:
    both = threading.Barrier(2)
    first, second = asyncio.Event(), asyncio.Event()

    def blocking(told: Episode) -> str:  # each waits for the other
        both.wait(60)
        return "blocking"

    async def one(told: Episode) -> str:
        first.set()
        await asyncio.wait_for(second.wait(), 60)
        return "one"

    async def two(told: Episode) -> str:
        second.set()
        await asyncio.wait_for(first.wait(), 60)
        return "two"

    await Memory(store, {"a": blocking, "b": blocking, "c": one, "d": two}).record(episode("x"))
    assert held(store)[0].metadata == {"a": "blocking", "b": "blocking", "c": "one", "d": "two"}


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_function_that_fails_raises_and_nothing_is_kept(store: JSONMemoryStore, blocking: bool) -> None:
    waits = asyncio.Event()
    cancelled = asyncio.Event()

    async def never(told: Episode) -> str:
        try:
            await waits.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    def fails(told: Episode) -> str:
        raise ValueError("no lesson")

    async def fails_too(told: Episode) -> str:
        raise ValueError("no lesson")

    memory = Memory(store, {"never": never, "lesson": fails if blocking else fails_too})
    with pytest.raises(ValueError, match="no lesson"):
        await memory.record(episode("a"))
    await asyncio.wait_for(cancelled.wait(), 60)
    assert await store.count() == 0 and not store.path.exists()


async def test_a_function_must_return_a_text(store: JSONMemoryStore) -> None:
    with pytest.raises(TypeError, match="the metadata function for 'stars' must return a string, not int"):
        await Memory(store, {"stars": lambda told: 5}).record(episode("a"))  # type: ignore[dict-item, return-value]
    assert await store.count() == 0


async def test_an_episode_whose_error_cannot_be_copied_is_recorded(store: JSONMemoryStore) -> None:
    error = OSError("gone")
    error.args = (threading.Lock(),)  # type: ignore[assignment]
    await Memory(store).record(episode("a", None, error=error))
    assert str(held(store)[0].error).startswith("OSError: ")


async def test_what_a_subclass_adds_is_recorded_too(store: JSONMemoryStore) -> None:
    class Trip(Episode):
        legs: list[str]

    noted: list[Episode] = []

    async def write(told: Episode) -> None:
        noted.append(told)

    told = Trip(task=Task(instruction="a"), rollout="b", error=OSError("gone"), legs=["Oslo"])
    store.write = write  # type: ignore[method-assign, assignment]
    await Memory(store, {"lesson": lambda seen: ", ".join(cast("Trip", seen).legs)}).record(told)
    assert isinstance(noted[0], Trip) and noted[0].metadata == {"lesson": "Oslo"} and noted[0].error is told.error
    assert noted[0].legs == told.legs and noted[0].legs is not told.legs


async def test_the_rest_is_handed_to_the_store(store: JSONMemoryStore) -> None:
    memory = Memory(store, {"lesson": lambda told: "x"})
    await memory.record(episode("a", id_="a"))
    await memory.update(episode("b", id_="a"))
    assert (await memory.summary()).splitlines() == [
        f"JSONMemoryStore: 1 episodes | path={store.path}",
        "  newest: 2026-05-30 12:00:00 | b",
        "  oldest: 2026-05-30 12:00:00 | b",
        "  metadata_fns: lesson",
    ]
    await memory.delete("a")
    with pytest.raises(EpisodeNotFoundError):
        await memory.delete("a")
    await memory.close()


# --- stores that fail --------------------------------------------------------------------------------------


class Hanging(JSONMemoryStore):
    """A store that never answers."""

    async def _never(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.Event().wait()

    write = update = delete = count = summary = recall = _never  # type: ignore[assignment]


async def test_a_store_that_never_answers_does_not_hang_the_agent(tmp_path: Path) -> None:
    memory = Memory(Hanging(tmp_path), timeout=0.01)
    told = episode("a")
    for call in (memory.recall(told.task), memory.record(told), memory.update(told), memory.delete("a")):
        with pytest.raises(MemoryStoreError, match=r"Hanging did not answer within 0\.01 s"):
            await call


async def test_what_a_store_raises_comes_through(tmp_path: Path) -> None:
    memory = Memory(JSONMemoryStore(tmp_path / "folder"))
    (tmp_path / "folder").write_text("a file by now")
    with pytest.raises(FileExistsError):
        await memory.record(episode("a"))
    with pytest.raises(NotADirectoryError):
        await memory.recall(Task(instruction="a"))


# --- recipes -----------------------------------------------------------------------------------------------


async def test_recency_memory_recalls_the_newest_from_a_file(tmp_path: Path) -> None:
    memory = recency_memory(path=tmp_path, max_results=2)
    for n in range(3):
        await memory.record(episode(f"task {n}", minutes=n))
    text = await memory.recall(Task(instruction="task 0"))
    assert "task 2" in text and "task 1" in text and "task 0" not in text
    assert (tmp_path / "episodes.jsonl").exists()


async def test_similarity_and_reflective_memory_have_their_defaults(engine: Engine) -> None:
    async def model(messages: list[dict[str, str]]) -> str:
        return "Preheat the oven."

    memory = reflective_memory(model, memory=engine)
    assert isinstance(memory.store, MemoristMemoryStore) and memory.store.max_results == 5
    await memory.record(episode("Bake bread"))
    assert "<reflection>Preheat the oven.</reflection>" in await memory.recall(Task(instruction="Bake a cake"))
    assert await engine.scoped(agent="reflections").count(kind="episode") == 1


@pytest.mark.parametrize(
    ("answer", "reflection"),
    [
        ('{"reflection": "Preheat."}', "Preheat."),
        ('```json\n{"reflection": "Preheat."}\n```', "Preheat."),
        ("  Preheat.\n", "Preheat."),
        ("", "Done: Bake bread: done"),
        ('{"reflection": ', "Done: Bake bread: done"),
        ('{"lesson": 1}', "Done: Bake bread: done"),
    ],
)
async def test_what_a_model_says_is_the_reflection_and_else_how_the_task_ended(
    engine: Engine, answer: str, reflection: str
) -> None:
    async def model(messages: list[dict[str, str]]) -> str:
        return answer

    memory = reflective_memory(model, "bakery", 3, memory=engine)
    await memory.record(episode("Bake bread"))
    [found] = await memory.store.recall("Bake bread")
    assert found.metadata == {"reflection": reflection}


@pytest.mark.parametrize("named", [True, False])
async def test_a_model_of_the_original_is_asked_with_one_prompt(engine: Engine, named: bool) -> None:
    asked: list[str] = []

    class Original:
        async def complete(self, prompt: str, **kwargs: Any) -> Any:
            asked.append(prompt)
            return SimpleNamespace(response="Preheat.", prompt=prompt)

    class Wrapped(Original):
        async def complete(self, *args: Any, **kwargs: Any) -> Any:
            return await super().complete(*args, **kwargs)

    memory = reflective_memory(Original() if named else Wrapped(), memory=engine, max_results=3)
    assert memory.store.max_results == 3
    await memory.record(episode("Bake bread", None, error=ValueError("it burnt")))
    [found] = await memory.store.recall("Bake bread")
    assert found.metadata == {"reflection": "Preheat."}
    assert "Bake bread" in asked[0] and "ValueError: it burnt" in asked[0]


async def test_while_the_model_cannot_be_reached_nothing_is_kept(engine: Engine) -> None:
    async def model(messages: list[dict[str, str]]) -> str:
        raise ConnectionError("no route to host")

    memory = reflective_memory(model, memory=engine)
    with pytest.raises(ModelUnavailableError, match="no route to host"):
        await memory.record(episode("Bake bread"))
    assert await memory.store.count() == 0
