"""What each of Promptise's providers does in its own way: in memory, in Chroma, in mem0, in Memorist."""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.promptise import ChromaProvider, InMemoryProvider, Mem0Provider, MemoristProvider, MemoryScope
from memorist.errors import EmbedderMismatchError, MissingExtraError
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

PER_USER = MemoryScope.PER_USER


# --- in memory ---------------------------------------------------------------------------------------------


async def test_a_part_of_a_text_is_searched_in_any_case() -> None:
    provider = InMemoryProvider()
    for text in ("Dark mode at night", "DARK MODE", "light mode", "dark  mode", "Dark Mode"):
        await provider.add(text)
    found = await provider.search("dark mode", limit=9)
    assert [(each.content, each.score) for each in found[:3]] == [
        ("DARK MODE", 1.0),
        ("Dark Mode", 1.0),
        ("Dark mode at night", 9 / 18),
    ]
    assert [each.content for each in found[3:]] == ["dark  mode", "light mode"], "they have words of it"
    assert found[3].score < 9 / 18


async def test_the_oldest_go_first_and_never_anothers() -> None:
    provider = InMemoryProvider(max_entries=2)
    for n in range(4):
        await provider.add(f"note {n}")
    assert [each.content for each in await provider.search("note")] == ["note 2", "note 3"]
    own = InMemoryProvider(max_entries=1, scope=PER_USER)
    await own.add("note of alice", user_id="alice")
    for n in range(3):
        await own.add(f"note {n}", user_id="bob")
    assert [each.content for each in await own.search("note", user_id="alice")] == ["note of alice"]
    assert [each.content for each in await own.search("note", user_id="bob")] == ["note 2"]
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="max_entries must be >= 1"):
            InMemoryProvider(max_entries=wrong)


async def test_closing_forgets_everything_and_nested_metadata_is_copied() -> None:
    provider = InMemoryProvider()
    given: dict[str, Any] = {"tags": ["a"]}
    await provider.add("note", metadata=given)
    given["tags"].append("b")
    [found] = await provider.search("note")
    assert found.metadata == {"tags": ["a"]}
    await provider.close()
    assert await provider.search("note") == []


# --- Chroma ------------------------------------------------------------------------------------------------


def plane(input: list[str]) -> list[list[float]]:
    """An embedding function of Chroma's kind, in two dimensions."""
    cosines = {"near": 0.8, "east": 0.0, "south": -1.0}
    return [[c := cosines.get(text, 1.0), (1 - c * c) ** 0.5] for text in input]


async def test_the_score_is_the_cosine_never_below_zero() -> None:
    pytest.importorskip("chromadb")
    provider = ChromaProvider(embedding_function=plane)
    for text in ("south", "near", "north", "east"):
        await provider.add(text)
    found = await provider.search("north", limit=9)
    assert [each.content for each in found][:2] == ["north", "near"]
    assert [each.score for each in found] == pytest.approx([1.0, 0.8, 0.0, 0.0], abs=1e-6)
    await provider.close()


async def test_what_is_in_a_folder_stays_there(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    given = {"collection_name": "mine", "persist_directory": str(tmp_path), "embedding_function": "hash"}
    provider = ChromaProvider(**given, scope=PER_USER)
    await provider.add("dark mode", metadata={"n": 1, "list": [1], "none": None, "ok": True}, user_id="alice")
    await provider.close()
    await provider.close()
    for call in (provider.search("x", user_id="a"), provider.add("x", user_id="a"), provider.delete("x", user_id="a"),
                 provider.purge_user("a"), provider.search("x")):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"^ChromaProvider is closed$"):
            await call

    client = chromadb.PersistentClient(str(tmp_path), chromadb.config.Settings(anonymized_telemetry=False))
    assert client.get_collection("mine", embedding_function=None).configuration["hnsw"]["space"] == "cosine"
    client.close()
    again = ChromaProvider(**given, scope=PER_USER)
    [found] = await again.search("dark mode", user_id="alice")
    assert found.metadata == {"n": 1, "list": "[1]", "none": "None", "ok": True}
    await again.close()


async def test_nobody_can_say_whose_an_entry_is_by_its_metadata() -> None:
    pytest.importorskip("chromadb")
    provider = ChromaProvider(embedding_function="hash", scope=PER_USER)
    await provider.add("dark mode", metadata={"_promptise_user_id": "bob", "user_id": "bob"}, user_id="alice")
    assert await provider.search("dark mode", user_id="bob") == []
    [found] = await provider.search("dark mode", user_id="alice")
    assert found.metadata == {"user_id": "bob"}
    await provider.close()


async def test_two_without_a_folder_never_see_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("chromadb")
    monkeypatch.chdir(tmp_path)
    one, two = (
        ChromaProvider(embedding_function="hash"),
        ChromaProvider(embedding_function="hash", persist_directory=""),
    )
    await one.add("dark mode")
    assert list(tmp_path.iterdir()) == []
    assert await two.search("dark mode") == []
    await one.close()
    await two.close()


async def test_a_collection_of_promptises_own_goes_on(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(tmp_path), settings)  # as Promptise 1.0 made it: in squared distances
    collection = client.create_collection("agent_memory", embedding_function=None)
    texts = ["near", "north", "east", "of bob"]
    collection.add(
        ids=texts,
        documents=texts,
        embeddings=plane(texts),
        metadatas=[{"_promptise_user_id": "bob" if text == "of bob" else "alice", "n": 1} for text in texts],
    )
    client.close()

    provider = ChromaProvider(persist_directory=tmp_path, embedding_function=plane, scope=PER_USER)
    found = await provider.search("north", user_id="alice")
    assert [(each.content, each.metadata) for each in found] == [(text, {"n": 1}) for text in ("north", "near", "east")]
    assert [each.score for each in found] == pytest.approx([1.0, 0.8, 0.0], abs=1e-6)
    assert await provider.delete("near", user_id="alice") is True
    assert await provider.purge_user("alice") == 2
    await provider.close()


async def test_vectors_of_two_embedders_are_never_mixed(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    one = ChromaProvider(persist_directory=tmp_path, embedding_function=HashEmbedder(64))
    await one.add("dark mode")
    await one.close()
    two = ChromaProvider(persist_directory=tmp_path, embedding_function=HashEmbedder(32))
    with pytest.raises(EmbedderMismatchError):
        await two.search("dark mode")
    await two.close()


class Collection:
    """What existing code puts in the place of a collection."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.calls: list[tuple[str, Any]] = []

    def get(self, **given: Any) -> dict[str, Any]:
        if self.fails:
            raise ConnectionError("gone")
        self.calls.append(("get", given))
        return {"ids": ["1", "2"], "metadatas": [{"_promptise_user_id": "alice"}, {}]}

    def delete(self, **given: Any) -> None:
        self.calls.append(("delete", given))

    def add(self, **given: Any) -> None:
        self.calls.append(("add", given))

    def query(self, **given: Any) -> dict[str, Any]:
        self.calls.append(("query", given))
        return {"ids": [["1"]], "documents": [["a text"]], "distances": [[0.25]], "metadatas": [[None]]}


def bare_chroma(collection: Collection, scope: MemoryScope = MemoryScope.SHARED) -> ChromaProvider:
    provider = ChromaProvider.__new__(ChromaProvider)
    provider._client, provider._collection, provider._closed, provider.scope = object(), collection, False, scope
    return provider


async def test_a_provider_built_without_its_constructor(caplog: pytest.LogCaptureFixture) -> None:
    collection = Collection()
    provider = bare_chroma(collection, PER_USER)
    [found] = await provider.search("a question", limit=2, user_id="alice")
    assert (found.content, found.score, found.memory_id, found.metadata) == ("a text", 0.75, "1", {})
    id = await provider.add("a text", user_id="alice")
    assert collection.calls[0][1]["query_texts"] == ["a question"]
    assert collection.calls[1][1]["ids"] == [id]
    assert await provider.purge_user("alice") == 2
    deletions = [given for name, given in collection.calls if name == "delete"]
    assert deletions == [{"where": {"_promptise_user_id": "alice"}}]  # one, for all of them
    await provider.close()
    assert provider._closed

    with caplog.at_level(logging.WARNING):
        assert await bare_chroma(Collection(fails=True)).delete("some-id") is False
    assert "ChromaProvider.delete failed for memory_id=some-id" in caplog.text


# --- mem0 --------------------------------------------------------------------------------------------------


async def test_mem0_keeps_what_its_model_makes_of_a_text(mem0: Any) -> None:
    provider = mem0(fact="Prefers dark mode")
    id = await provider.add("I always switch my editor to dark mode")
    found = await provider.search("Prefers dark mode")
    assert [(each.content, each.memory_id) for each in found] == [("Prefers dark mode", id)]


async def test_agents_are_apart_until_a_purge(mem0: Any) -> None:
    provider = mem0(scope=PER_USER, agent_id="planner")
    await provider.add("dark mode", user_id="alice")
    provider._agent_id = "writer"
    assert await provider.search("dark mode", user_id="alice") == []
    await provider.add("light mode", user_id="alice")
    assert await provider.purge_user("alice") == 2


async def test_more_than_mem0_deletes_at_a_time(mem0: Any) -> None:
    provider = mem0(scope=PER_USER)
    for n in range(130):
        await asyncio.to_thread(provider._client.add, f"note {n}", user_id="alice", infer=False)
    assert await provider.purge_user("alice") == 130


async def test_closing_mem0_keeps_what_is_stored(mem0: Any) -> None:
    provider = mem0()
    client = provider._client
    await provider.add("dark mode")
    await provider.close()
    await provider.close()
    for call in (provider.search("x"), provider.add("x"), provider.delete("x"), provider.purge_user("x")):
        with pytest.raises(RuntimeError, match="Mem0Provider is closed"):
            await call
    assert client.vector_store.list(filters={"user_id": "default"})[0]


class Old:
    """mem0's client with the calls of 1.x, and the answers it is given."""

    def __init__(self, answer: Any, item: Any = None) -> None:
        self.answer, self.item = answer, item
        self.calls: list[Any] = []
        self.deleted: list[str] = []

    def search(self, query: str, *, user_id: str, agent_id: str | None = None, limit: int = 100) -> Any:
        self.calls.append({"user_id": user_id, "agent_id": agent_id, "limit": limit})
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def get(self, memory_id: str) -> Any:
        if isinstance(self.item, Exception):
            raise self.item
        return self.item

    def delete(self, memory_id: str) -> None:
        self.deleted.append(memory_id)


class New(Old):
    """The same with the calls of 2.x."""

    def search(self, query: str, *, filters: Any = None, top_k: int = 20, threshold: float = 0.1) -> Any:  # type: ignore[override]
        self.calls.append({"filters": filters, "top_k": top_k, "threshold": threshold})
        return self.answer


def bare_mem0(client: Any, scope: MemoryScope = MemoryScope.SHARED, agent_id: str | None = None) -> Mem0Provider:
    provider = Mem0Provider.__new__(Mem0Provider)
    provider._client, provider._user_id, provider._agent_id = client, "default", agent_id
    provider._closed, provider.scope = False, scope
    return provider


class Listed(Old):
    """A mem0 without `delete_all`."""

    def get_all(self, *, user_id: str, agent_id: str | None = None, limit: int = 100) -> Any:
        return [each for each in self.answer if each["id"] not in self.deleted]


class Failing(Listed):
    """A mem0 whose `delete_all` fails."""

    def delete_all(self, user_id: str) -> None:
        raise ConnectionError("gone")


@pytest.mark.parametrize("kind", [Listed, Failing])
async def test_a_purge_deletes_one_by_one_where_mem0_cannot_do_it_at_once(kind: type[Listed]) -> None:
    client = kind([{"id": "1", "memory": "one"}, {"id": "2", "memory": "two"}])
    assert await bare_mem0(client, PER_USER).purge_user("alice") == 2
    assert client.deleted == ["1", "2"]


@pytest.mark.parametrize("key", [None, "results", "memories"])
async def test_answers_have_three_forms(key: str | None) -> None:
    items = [
        {"id": "1", "memory": "one", "score": 0.25, "metadata": {"a": 1}},
        {"id": "2", "text": "two"},
        {"id": "3", "memory": "three", "score": 7},
    ]
    client = Old(items if key is None else {key: items})
    found = await bare_mem0(client).search("a question", limit=2)
    assert [(each.content, each.score, each.metadata) for each in found] == [("one", 0.25, {"a": 1}), ("two", 0.5, {})]
    assert await bare_mem0(Old(None)).search("a question") == []


async def test_both_forms_of_calls() -> None:
    old, new = Old([]), New([])
    await bare_mem0(old, PER_USER, "planner").search("?", limit=3, user_id="alice")
    await bare_mem0(new, PER_USER, "planner").search("?", limit=3, user_id="alice")
    assert old.calls == [{"user_id": "alice", "agent_id": "planner", "limit": 3}]
    assert new.calls == [{"filters": {"user_id": "alice", "agent_id": "planner"}, "top_k": 3, "threshold": 0.0}]


async def test_what_mem0_finds_of_a_shared_memory_is_all_shown() -> None:
    items = [{"id": "1", "memory": "one", "user_id": "somebody"}, {"id": "2", "memory": "two"}]
    assert len(await bare_mem0(Old(items)).search("?")) == 2


async def test_a_failing_mem0_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert await bare_mem0(Old(ConnectionError("gone"))).search("?") == []
        assert await bare_mem0(Old([], ConnectionError("gone"))).delete("1") is False
    assert "Mem0Provider.search failed" in caplog.text
    assert "Mem0Provider.delete failed" in caplog.text
    caplog.clear()
    assert await bare_mem0(Old("a text")).search("?") == []
    assert "Mem0Provider.search failed" in caplog.text
    assert "unexpected type str" in caplog.text


@pytest.mark.parametrize(
    ("scope", "item", "deleted"),
    [
        (PER_USER, {"id": "1", "user_id": "alice"}, True),
        (PER_USER, {"id": "1", "metadata": {"user_id": "alice"}}, True),
        (PER_USER, {"id": "1", "user_id": "bob"}, False),
        (PER_USER, {"id": "1"}, False),
        (PER_USER, None, False),
        (MemoryScope.SHARED, {"id": "1", "user_id": "default"}, True),
        (MemoryScope.SHARED, {"id": "1", "user_id": "bob"}, False),
        (MemoryScope.SHARED, {"id": "1"}, True),
        (MemoryScope.SHARED, object(), True),
        (MemoryScope.SHARED, None, True),
        (PER_USER, object(), False),
    ],
)
async def test_who_may_delete(scope: MemoryScope, item: Any, deleted: bool) -> None:
    client = Old([], item)
    assert await bare_mem0(client, scope).delete("1", user_id="alice") is deleted
    assert client.deleted == (["1"] if deleted else [])


async def test_a_deletion_that_mem0_refuses_is_logged_where_the_entry_cannot_be_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Refusing(Old):
        def delete(self, memory_id: str) -> None:
            raise ValueError("there is no such memory")

    with caplog.at_level(logging.WARNING):
        assert await bare_mem0(Refusing([], None)).delete("1") is False
    assert "Mem0Provider.delete failed for memory_id=1" in caplog.text


async def test_what_a_search_should_not_have_found_is_left_out() -> None:
    client = Old([{"id": "1", "memory": "bob's", "user_id": "bob"}, {"id": "2", "memory": "hers", "user_id": "alice"}])
    found = await bare_mem0(client, PER_USER).search("?", user_id="alice")
    assert [each.content for each in found] == ["hers"]


# --- Memorist ----------------------------------------------------------------------------------------------


async def test_a_provider_on_a_store_is_an_ordinary_memory(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "agent.db", embedder=HashEmbedder()) as opened:
        provider = MemoristProvider(opened, scope=PER_USER)
        id = await provider.add("Prefers dark mode", metadata={"at": tmp_path}, user_id="alice")
        await opened.scoped(user="alice").facts.add("Dark mode saves her eyes")
        found = await provider.search("dark mode", user_id="alice")
        assert {each.content for each in found} == {"Prefers dark mode", "Dark mode saves her eyes"}
        note = await opened.scoped(user="alice").notes.get(id)
        assert note is not None
        assert note.metadata == {"at": str(tmp_path)}
        await provider.close()
        with pytest.raises(RuntimeError, match="MemoristProvider is closed"):
            await provider.search("dark mode", user_id="alice")
        assert await opened.scoped(user="alice").count() == 2  # the memory is still its owner's


# --- what is not installed ---------------------------------------------------------------------------------


def test_a_missing_library_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chromadb", None)
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(MissingExtraError, match=r"chromadb.*pip install .*\[chroma\]'"):
        ChromaProvider()
    with pytest.raises(MissingExtraError, match=r"mem0ai.*pip install .*\[mem0\]'"):
        Mem0Provider()
