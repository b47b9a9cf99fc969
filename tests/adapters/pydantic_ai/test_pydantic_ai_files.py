"""The harness's memory files on our store and on its own beside it: versions, operations, and real agents."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai_harness.memory")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
)
from pydantic_ai_harness.memory import Memory as Notebook

from memorist import Kind, Memory
from memorist.adapters.pydantic_ai import MemoristMemoryStore

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["ours", "theirs"])
def store(request: pytest.FixtureRequest, everyone: Memory) -> Any:
    """Our store, and the harness's own, which must do the same."""
    return MemoristMemoryStore(everyone) if request.param == "ours" else InMemoryStore()


async def text_of(store: Any, path: str) -> str | None:
    file = await store.read(path, max_chars=1000)
    return None if file is None else str(file.content)


async def test_it_has_what_the_harness_asks_for(store: Any) -> None:
    for protocol in (MemoryStore, MetadataMemoryStore, SearchableMemoryStore):
        assert isinstance(store, protocol)


@pytest.mark.parametrize("content", ["Prefers homestays", "", "  \n", "記憶\n"])
async def test_a_file_comes_back_as_it_was_written(store: Any, content: str) -> None:
    written = await store.write("main/MEMORY.md", content, expected_version=None)
    assert (written.replayed, written.existed) == (False, False)
    file = await store.read("main/MEMORY.md", max_chars=1000)
    assert (file.content, file.version, file.truncated) == (content, written.version, False)
    assert (file.operation_id, file.metadata) == (None, None)
    assert await store.read("main/OTHER.md", max_chars=10) is None


async def test_a_long_file_is_cut(store: Any) -> None:
    await store.write("a.md", "0123456789", expected_version=None)
    file = await store.read("a.md", max_chars=4)
    assert (file.content, file.truncated) == ("0123", True)
    assert not (await store.read("a.md", max_chars=10)).truncated


async def test_each_write_has_a_version_and_asks_for_the_one_before(store: Any) -> None:
    first = await store.write("a.md", "one", expected_version=None)
    second = await store.write("a.md", "two", expected_version=first.version)
    assert second.existed
    assert second.version != first.version
    for stale in (None, first.version, "none such"):
        with pytest.raises(MemoryConflictError):
            await store.write("a.md", "three", expected_version=stale)
        with pytest.raises(MemoryConflictError):
            await store.delete("a.md", expected_version=stale)
    assert await text_of(store, "a.md") == "two"
    with pytest.raises(MemoryConflictError):
        await store.write("b.md", "x", expected_version=first.version)
    assert await text_of(store, "b.md") is None


async def test_of_writers_at_once_one_wins(store: Any) -> None:
    first = await store.write("a.md", "one", expected_version=None)
    tries = [store.write("a.md", str(n), expected_version=first.version) for n in range(8)]
    tries += [store.write("new.md", str(n), expected_version=None) for n in range(8)]
    done = await asyncio.gather(*tries, return_exceptions=True)
    for some in (done[:8], done[8:]):
        assert sum(not isinstance(each, Exception) for each in some) == 1
        assert all(isinstance(each, MemoryConflictError) for each in some if isinstance(each, Exception))


async def test_a_deleted_file_is_gone_and_can_be_written_anew(store: Any) -> None:
    first = await store.write("a.md", "one", expected_version=None)
    second = await store.write("a.md", "two", expected_version=first.version)
    gone = await store.delete("a.md", expected_version=second.version)
    assert (gone.version, gone.existed) == (None, True)
    assert await text_of(store, "a.md") is None
    nothing = await store.delete("a.md", expected_version=None)
    assert not nothing.existed
    anew = await store.write("a.md", "three", expected_version=None)
    assert anew.version not in (first.version, second.version)
    with pytest.raises(MemoryConflictError):
        await store.write("a.md", "four", expected_version=second.version)


async def test_an_operation_takes_effect_once(store: Any) -> None:
    write, delete = MemoryOperation("op-1", "write a"), MemoryOperation("op-2", "delete a")
    assert await store.get_operation(write) is None
    first = await store.write("a.md", "one", expected_version=None, operation=write)
    again = await store.write("a.md", "one", expected_version=None, operation=write)
    assert (again.version, again.replayed, again.existed) == (first.version, True, False)
    assert (await store.get_operation(write)).version == first.version
    assert (await store.read("a.md", max_chars=9)).operation_id == "op-1"
    gone = await store.delete("a.md", expected_version=first.version, operation=delete)
    again = await store.delete("a.md", expected_version=first.version, operation=delete)
    assert (gone.replayed, again.replayed, again.existed) == (False, True, True)
    for operation in (MemoryOperation("op-1", "something else"), MemoryOperation("op-2", "something else")):
        with pytest.raises(MemoryOperationConflictError):
            await store.get_operation(operation)
        with pytest.raises(MemoryOperationConflictError):
            await store.write("b.md", "x", expected_version=None, operation=operation)


async def test_an_operation_sent_twice_at_once_takes_effect_once(store: Any) -> None:
    operation = MemoryOperation("op-1", "write a")
    done = await asyncio.gather(
        *(store.write("a.md", "one", expected_version=None, operation=operation) for _ in range(5))
    )
    assert sorted(each.replayed for each in done) == [False, True, True, True, True]
    assert len({each.version for each in done}) == 1


async def test_an_operation_done_between_two_looks_is_answered_by_its_receipt(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = MemoryOperation("op-1", "write a")
    first = await store.write("a.md", "one", expected_version=None, operation=operation)
    look, looks = store.get_operation, iter([True])

    async def late(of: MemoryOperation) -> Any:
        return None if next(looks, False) else await look(of)

    monkeypatch.setattr(store, "get_operation", late)
    again = await store.write("a.md", "one", expected_version=None, operation=operation)
    assert again.replayed
    assert again.version == first.version


async def test_metadata_are_of_one_version(store: Any) -> None:
    first = await store.write_with_metadata("a.md", "one", expected_version=None, metadata={"by": "alice"})
    assert (await store.read("a.md", max_chars=9)).metadata == {"by": "alice"}
    await store.write("a.md", "two", expected_version=first.version)
    assert (await store.read("a.md", max_chars=9)).metadata is None
    with pytest.raises(TypeError):
        await store.write_with_metadata("b.md", "x", expected_version=None, metadata={"n": 1})


async def test_paths_are_listed_in_order(store: Any) -> None:
    for path in ("b/x.md", "a/2.md", "a/1.md", "a-b.md", "a/c/3.md"):
        await store.write(path, "x", expected_version=None)
    assert await store.list_paths(limit=10) == ["a-b.md", "a/1.md", "a/2.md", "a/c/3.md", "b/x.md"]
    assert await store.list_paths("a/", limit=2) == ["a/1.md", "a/2.md"]
    assert await store.list_paths("z", limit=2) == []


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a/.", "a b", "é", "x" * 201, "a\n"])
async def test_what_is_no_path_is_refused(store: Any, path: str) -> None:
    for call in (
        store.read(path, max_chars=1),
        store.write(path, "x", expected_version=None),
        store.delete(path, expected_version=None),
    ):
        with pytest.raises(ValueError):
            await call


async def test_numbers_must_be_positive(store: Any) -> None:
    with pytest.raises(ValueError):
        await store.read("a", max_chars=0)
    with pytest.raises(ValueError):
        await store.list_paths(limit=0)
    bounds = {"limit": 1, "max_files": 1, "max_chars": 100, "max_file_chars": 100}
    for name in bounds:
        assert (await store.search("", "x", **{**bounds, name: 0})).matches == []


async def test_a_search_finds_files_right_below_the_prefix(store: Any) -> None:
    files = {
        "main/travel.md": "Prefers homestays by the sea",
        "main/food.md": "Eats no meat",
        "main/deep/more.md": "homestays",
        "other/travel.md": "homestays",
    }
    for path, text in files.items():
        await store.write(path, text, expected_version=None)
    bounds = {"limit": 5, "max_files": 100, "max_chars": 500, "max_file_chars": 500}
    found = await store.search("main/", "homestays", **bounds)
    assert [(match.path, match.snippet) for match in found.matches] == [
        ("main/travel.md", "Prefers homestays by the sea")
    ]
    assert (found.scanned, found.truncated) == (2, False)
    assert (await store.search("main/", "ledger audit", **bounds)).matches == []
    assert (await store.search("none/", "homestays", **bounds)).matches == []
    short = await store.search("main/", "homestays", **{**bounds, "max_chars": 24})
    [match] = short.matches
    assert len("travel.md") + len(match.snippet) <= 24
    assert "homestays" in match.snippet or match.snippet.endswith(("…", "..."))


async def test_versions_stay_until_the_file_is_deleted(alice: Memory, bob: Memory) -> None:
    store = MemoristMemoryStore(alice)
    first = await store.write("a.md", "Prefers homestays", expected_version=None)
    second = await store.write("a.md", "Prefers hotels", expected_version=first.version)
    assert [hit.record.content for hit in await alice.recall("prefers")] == ["Prefers hotels"]
    assert await alice.count(superseded=True) == 2
    assert await MemoristMemoryStore(bob).read("a.md", max_chars=9) is None
    await store.delete("a.md", expected_version=second.version)
    assert await alice.count(superseded=True) == 0


async def test_an_agent_writes_and_another_is_told(alice: Memory) -> None:
    notebook: Any = Notebook(store=MemoristMemoryStore(alice), agent_name="main")
    called: list[str] = []

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if isinstance(messages[-2] if len(messages) > 1 else None, ModelResponse):
            return ModelResponse([TextPart("Noted.")])
        tool = next(each for each in info.function_tools if "write" in each.name)
        called.append(tool.name)
        given = {"content": "Prefers homestays", "file": "MEMORY.md", "path": "MEMORY.md", "file_name": "MEMORY.md"}
        known = tool.parameters_json_schema["properties"]
        return ModelResponse([ToolCallPart(tool.name, {name: given[name] for name in known if name in given})])

    await Agent(FunctionModel(say), capabilities=[notebook]).run("Remember that I prefer homestays")
    assert called
    [record] = await alice.recent(kind=Kind.NOTE)
    assert "Prefers homestays" in record.content
    result = await Agent(TestModel(call_tools=[]), capabilities=[notebook]).run("Where do I stay?")
    assert "Prefers homestays" in str(result.all_messages())
