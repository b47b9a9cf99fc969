"""mem0's calls where they go further than mem0's own, or meet this engine's walls."""

import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.mem0 import AsyncMemory, Memory, MemoryNotFoundError, ValidationError
from memorist.errors import ClosedError, ConflictError, InvalidInputError, ModelError, NotFoundError, ScopeError
from memorist.memory import Memory as Engine

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash") as memory:
        yield memory


async def texts(call: Any) -> list[str]:
    return sorted(each["memory"] for each in (await call)["results"])


# --- whose ---------------------------------------------------------------------------------------------


async def test_a_user_is_a_wall_and_agent_and_run_are_labels(memory: AsyncMemory) -> None:
    await memory.add("Likes tea", user_id="alice", agent_id="cook", run_id="monday")
    await memory.add("Likes jam", user_id="alice", agent_id="cook")
    await memory.add("The oven runs hot", agent_id="cook")
    assert await texts(memory.get_all(filters={"user_id": "alice"})) == ["Likes jam", "Likes tea"]
    assert await texts(memory.get_all(filters={"user_id": "alice", "run_id": "monday"})) == ["Likes tea"]
    assert await texts(memory.get_all(filters={"user_id": "alice", "run_id": "*"})) == ["Likes jam", "Likes tea"]
    assert await texts(memory.get_all(filters={"user_id": "bob", "agent_id": "cook"})) == []
    # Without a user: what belongs to none, never what belongs to all.
    assert await texts(memory.get_all(filters={"agent_id": "cook"})) == ["The oven runs hot"]
    assert await texts(memory.search("tea", filters={"agent_id": "cook"}, threshold=0)) == ["The oven runs hot"]


async def test_every_user_at_once_is_refused(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="every user's memories"):
        await memory.search("tea", filters={"user_id": "*"})


async def test_whose_a_memory_is_cannot_be_said_in_its_metadata(
    memory: AsyncMemory, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "memorist.adapters.mem0"):
        added = await memory.add("Likes tea", user_id="alice", metadata={"user_id": "bob", "agent_id": "x", "n": 1})
    assert "user_id" in caplog.text and "agent_id" in caplog.text
    found = await memory.get(added["results"][0]["id"])
    assert found is not None
    assert (found["user_id"], found["metadata"], "agent_id" in found) == ("alice", {"n": 1}, False)


async def test_ids_that_are_numbers_become_texts(memory: AsyncMemory) -> None:
    await memory.add("Likes tea", user_id=7)
    assert await texts(memory.search("tea", user_id=" 7 ")) == ["Likes tea"]


async def test_an_id_alone_finds_a_memory_among_many_users(memory: AsyncMemory, tmp_path: Path) -> None:
    async with Engine.open(tmp_path / "memory.db", embedder="hash") as engine:
        for number in range(50):
            await engine.scoped(user=f"user{number}").remember(f"Likes number {number}")
        hers = await engine.scoped(user="alice").remember("Likes tea")
    found = await memory.get(hers.id)
    assert found is not None and (found["memory"], found["user_id"]) == ("Likes tea", "alice")
    await memory.update(hers.id, "Likes coffee")
    assert [row["event"] for row in await memory.history(hers.id)] == ["ADD", "UPDATE"]
    await memory.delete(hers.id)
    assert await memory.get(hers.id) is None


async def test_an_id_that_two_users_have_is_not_guessed(memory: AsyncMemory, tmp_path: Path) -> None:
    async with Engine.open(tmp_path / "memory.db", embedder="hash") as engine:
        for user in ("alice", "bob"):
            await engine.scoped(user=user).remember("Likes tea", id="mine")
    with pytest.raises(ConflictError, match="more than one user"):
        await memory.delete("mine")


async def test_a_memory_behind_a_wall_stays_there(tmp_path: Path) -> None:
    async with Engine.open(tmp_path / "memory.db", embedder="hash") as engine:
        bobs = await engine.scoped(user="bob").remember("Likes jam")
        alice = AsyncMemory(memory=engine.scoped(user="alice"))
        added = await alice.add("Likes tea", user_id="alice")
        assert await alice.get(added["results"][0]["id"]) is not None
        assert await alice.get(bobs.id) is None
        assert await alice.history(bobs.id) == []
        with pytest.raises(MemoryNotFoundError):
            await alice.delete(bobs.id)
        with pytest.raises(ScopeError):
            await alice.add("x", user_id="bob")
        await alice.reset()
        assert (await engine.admin.users()) == {"bob": 1}
        alice.close()
        assert await engine.scoped(user="bob").count() == 1  # what was handed in is not closed


async def test_other_kinds_of_records_are_not_memories(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.add("Likes tea", user_id="alice")
    async with Engine.open(tmp_path / "memory.db", embedder="hash") as engine:
        alice = engine.scoped(user="alice")
        topic = await alice.topics.set("language", "Elixir")
        await alice.conversation("monday").append({"role": "user", "content": "I like tea"})
        await alice.facts.add("Alice lives in Oslo")
        assert await texts(memory.get_all(user_id="alice")) == ["Alice lives in Oslo", "Likes tea"]
        assert await memory.get(topic.id) is None
        await memory.delete_all(user_id="alice")
        assert await alice.count() == 2


async def test_a_threshold_of_none_is_the_one_of_the_form(memory: AsyncMemory) -> None:
    await memory.add("Likes tea", user_id="alice")
    query = "zebra quagga"
    assert await texts(memory.search(query, filters={"user_id": "alice"}, threshold=None)) == []
    assert await texts(memory.search(query, user_id="alice", threshold=None)) == ["Likes tea"]


async def test_there_may_be_more_asked_for_than_there_are(memory: AsyncMemory) -> None:
    await memory.add("Likes tea", user_id="alice")
    assert await texts(memory.search("tea", user_id="alice", limit=1_000_000)) == ["Likes tea"]
    assert await texts(memory.get_all(user_id="alice", limit=1_000_000)) == ["Likes tea"]


# --- changing and deleting ---------------------------------------------------------------------------------


async def test_a_memory_that_is_not_there_is_told_as_mem0_does(memory: AsyncMemory) -> None:
    with pytest.raises(ValueError, match=r"^Memory with id x not found$") as raised:
        await memory.delete("x")
    assert isinstance(raised.value, NotFoundError)
    with pytest.raises(MemoryNotFoundError, match="Please provide a valid 'memory_id'"):
        await memory.update("x", "y")


async def test_an_argument_that_is_wrong_says_which(memory: AsyncMemory) -> None:
    with pytest.raises(ValidationError) as raised:
        await memory.add("x")
    error = raised.value
    assert (error.error_code, error.details["provided_ids"]["user_id"]) == ("VALIDATION_001", None)
    assert "identifier" in error.suggestion and error.message == str(error)


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize("messages", [["text"], [{"role": "user", "content": "Likes tea"}, "text"], 5])
async def test_what_is_no_list_of_messages_is_refused_whole(memory: AsyncMemory, messages: Any, infer: bool) -> None:
    with pytest.raises(ValidationError, match="must be str, dict, or list"):
        await memory.add(messages, user_id="alice", infer=infer)
    assert (await memory.get_all(user_id="alice"))["results"] == []


async def test_metadata_that_is_none_and_ids_that_are_no_texts(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="metadata must be a dict"):
        await memory.add("x", user_id="alice", metadata="tea")  # type: ignore[arg-type]
    assert await memory.get(5) is None  # type: ignore[arg-type]
    assert await memory.history(None) == []  # type: ignore[arg-type]


async def test_forgetting_is_real(memory: AsyncMemory, tmp_path: Path) -> None:
    added = await memory.add("Likes tea", user_id="alice")
    memory_id = added["results"][0]["id"]
    await memory.delete(memory_id)
    rows = await memory.history(memory_id)  # though she has no record any more
    assert [(row["event"], row["is_deleted"]) for row in rows] == [("ADD", False), ("DELETE", True)]
    assert {row["old_memory"] or row["new_memory"] for row in rows} == {None}


async def test_messages_are_all_stored_or_none(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="content"):
        await memory.add([{"role": "user", "content": "Likes tea"}, {"role": "user", "content": 5}], user_id="alice")
    assert await texts(memory.get_all(user_id="alice")) == []


async def test_messages_without_text_are_left_out(memory: AsyncMemory) -> None:
    image = {"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}
    given = [{"role": "user", "content": each} for each in ("  ", None, image, [image], "Likes tea")]
    assert await texts(memory.add(given, user_id="alice")) == ["Likes tea"]
    assert await memory.add([], user_id="alice") == {"results": []}


# --- time ------------------------------------------------------------------------------------------------


async def test_when_it_happened_can_be_said(memory: AsyncMemory) -> None:
    await memory.add("Moved to Oslo", user_id="alice", timestamp=1683554160)
    await memory.add("Moved to Rome", user_id="alice", metadata={"created_at": "2020-01-02T03:04:05+00:00"})
    [oslo] = (await memory.search("moved last week", user_id="alice", reference_date="2023-05-15"))["results"][:1]
    assert oslo["memory"] == "Moved to Oslo"
    [rome] = (await memory.get_all(user_id="alice", filters={"created_at": {"lt": "2021-01-01"}}))["results"]
    assert (rome["memory"], rome["created_at"]) == ("Moved to Rome", "2020-01-02T03:04:05+00:00")


async def test_newest_come_first(memory: AsyncMemory) -> None:
    for number in range(3):
        await memory.add([{"role": "user", "content": f"{number}{part}"} for part in "ab"], user_id="alice")
    found = (await memory.get_all(user_id="alice", limit=4))["results"]
    assert [each["memory"] for each in found] == ["2b", "2a", "1b", "1a"]


async def test_what_has_expired_is_not_shown_and_does_not_take_a_place(memory: AsyncMemory) -> None:
    for number in range(30):
        await memory.add(f"Visits Rome, time {number}", user_id="alice", expiration_date="2001-01-01")
    added = await memory.add("Visits Rome one day", user_id="alice", expiration_date="2999-01-01")
    assert await texts(memory.search("visits Rome", user_id="alice", limit=1)) == ["Visits Rome one day"]
    assert await texts(memory.get_all(user_id="alice", limit=5)) == ["Visits Rome one day"]
    assert len((await memory.get_all(user_id="alice", show_expired=True))["results"]) == 31
    assert (await memory.get(added["results"][0]["id"]) or {})["expiration_date"] == "2999-01-01"


# --- filters ---------------------------------------------------------------------------------------------


async def test_no_more_memories_than_asked_for(memory: AsyncMemory) -> None:
    for text in ("Likes tea", "Likes jam"):
        await memory.add(text, user_id="alice", infer=False)
    for top_k in (0, 1, 2, 3):
        assert len(await texts(memory.get_all(user_id="alice", top_k=top_k))) == min(top_k, 2)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tag": {"contains": "tea"}}, ["b"]),
        ({"tag": {"contains": "green"}}, []),
        ({"tag": {"icontains": "green"}}, ["b"]),
        ({"OR": [{"tag": {"icontains": "RED"}}, {"n": {"gte": 2}}]}, ["a", "b"]),
        ({"NOT": [{"tag": {"contains": "red"}}, {"n": {"gte": 2}}]}, ["c"]),
        ({"OR": [{"run_id": "one"}, {"n": 2}]}, ["a", "b"]),
        ({"role": {"ne": "user"}}, ["c"]),
        ({"AND": [{"AND": [{"n": {"gte": 1}}, {"n": {"lt": 2}}]}]}, ["a"]),
        ({"OR": [{"AND": [{"n": 1}, {"tag": "red"}]}, {"NOT": [{"n": {"in": [1, 2]}}]}]}, ["a", "c"]),
        ({"created_at": {"gte": "2001-01-01"}}, ["a", "b", "c"]),
        ({"n": {"gt": "1"}}, ["b"]),
        ({"updated_at": {"in": ["2001-01-01"]}}, []),
    ],
)
async def test_filters_that_go_further(memory: AsyncMemory, filters: dict[str, Any], expected: list[str]) -> None:
    await memory.add("a", user_id="alice", run_id="one", metadata={"tag": "red", "n": 1})
    await memory.add("b", user_id="alice", run_id="two", metadata={"tag": "Green tea", "n": 2})
    await memory.add({"role": "assistant", "content": "c"}, user_id="alice")
    assert await texts(memory.get_all(user_id="alice", filters=filters)) == expected
    assert await texts(memory.search("a b c", user_id="alice", filters=filters, limit=3)) == expected


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ({"n": {"near": 2}}, "Unsupported metadata filter operator: near"),
        ({"n": {}}, "no operator"),
        ({"n": {"in": 5}}, "in takes a list"),
        ({"n": {"contains": 5}}, "contains takes a text"),
        ({"n": {"gt": None}}, "compares with a number or a text"),
        ({"cost": {"gt": "x"}}, "gt of 'cost' takes a number or a time, not 'x'"),
        ({"OR": [5]}, "must be a dict"),
        ({"AND": 5}, "AND operator requires a list"),
        ("alice", "filters must be a dict"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_an_error(memory: AsyncMemory, filters: Any, text: str) -> None:
    for call in (
        memory.get_all(user_id="alice", filters=filters),
        memory.search("x", user_id="alice", filters=filters),
    ):
        with pytest.raises(ValueError, match=text):
            await call


async def test_the_except_clauses_of_mem0_catch_our_errors(memory: AsyncMemory) -> None:
    os.environ.setdefault("MEM0_TELEMETRY", "False")  # mem0 reads it once, when it is imported
    exceptions = pytest.importorskip("mem0.exceptions")
    with pytest.raises(exceptions.ValidationError) as raised:
        await memory.add("x")
    assert isinstance(raised.value, ValueError) and vars(raised.value)["error_code"]
    with pytest.raises(exceptions.MemoryNotFoundError, match="not found"):
        await memory.delete("none")


async def test_search_explains_itself(memory: AsyncMemory) -> None:
    await memory.add("Likes green tea", user_id="alice")
    [found] = (await memory.search("green tea", user_id="alice", explain=True))["results"]
    assert found["score_details"]["final_score"] == found["score"] > 0
    assert 0 < found["score_details"]["semantic_score"] <= 1
    assert found["score_details"].keys() >= {
        "semantic_score", "bm25_score", "entity_boost", "raw_score", "max_possible_score", "final_score", "threshold",
    }  # fmt: skip


async def test_a_deleted_memory_has_the_time_it_was_made_at_in_its_history(memory: AsyncMemory) -> None:
    made = "2020-01-02T03:04:05+00:00"
    [added] = (await memory.add("Moved to Rome", user_id="alice", metadata={"created_at": made}))["results"]
    await memory.update(added["id"], "Moved to Rome in May")
    await memory.delete(added["id"])
    rows = await memory.history(added["id"])
    assert [row["event"] for row in rows] == ["ADD", "UPDATE", "DELETE"]
    assert {row["created_at"] for row in rows} == {made} and rows[0]["updated_at"] == made
    assert not any("Rome" in str(row) for row in rows)


# --- with a chat model -----------------------------------------------------------------------------------


class Model:
    """A chat model that says what it is told, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, messages: Any) -> str:
        self.asked.append(messages)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, str) else json.dumps(answer)


def facts(*statements: str) -> dict[str, Any]:
    return {"facts": [{"statement": each, "date": "", "message": 1} for each in statements]}


async def test_a_chat_model_draws_facts_and_an_update_keeps_the_id_good(tmp_path: Path) -> None:
    update = {"decision": "contradicted", "fact": 1, "statement": ""}
    model = Model(facts("Alice lives in Oslo"), facts("Alice lives in Bergen"), update)
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash", chat_model=model) as memory:
        said = [{"role": "user", "content": "I live in Oslo"}, {"role": "assistant", "content": "Lovely"}]
        added = await memory.add(said, user_id="alice", metadata={"n": 1}, expiration_date="2999-01-01")
        [first] = added["results"]
        assert (first["memory"], first["event"]) == ("Alice lives in Oslo", "ADD")
        found = await memory.get(first["id"])
        assert found is not None and (found["metadata"], found["expiration_date"]) == ({"n": 1}, "2999-01-01")
        assert [row["event"] for row in await memory.history(first["id"])] == ["ADD"]

        [second] = (await memory.add("I moved to Bergen", user_id="alice"))["results"]
        assert (second["memory"], second["event"]) == ("Alice lives in Bergen", "UPDATE")
        assert second["previous_memory"] == "Alice lives in Oslo"
        assert await texts(memory.get_all(user_id="alice")) == ["Alice lives in Bergen"]
        assert (await memory.get(first["id"]) or {})["memory"] == "Alice lives in Bergen"
        rows = await memory.history(first["id"])
        changes = [(row["event"], row["old_memory"], row["new_memory"]) for row in rows]
        assert changes[0] == ("ADD", None, "Alice lives in Oslo")
        assert changes[-1] == ("UPDATE", "Alice lives in Oslo", "Alice lives in Bergen")
        await memory.delete(first["id"])
        assert await memory.get(second["id"]) is None

        await memory.add("I like tea", user_id="alice", infer=False)
        assert len(model.asked) == 3


async def test_what_is_there_already_is_no_result(tmp_path: Path) -> None:
    model = Model(facts("Alice likes tea"), facts("Alice likes tea"))
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash", chat_model=model) as memory:
        assert len((await memory.add("I like tea", user_id="alice"))["results"]) == 1
        assert await memory.add("I like tea", user_id="alice") == {"results": []}


async def test_a_model_that_fails_loses_nothing(tmp_path: Path) -> None:
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash", chat_model=Model("no JSON")) as memory:
        assert await texts(memory.add("I like tea", user_id="alice")) == ["I like tea"]


@pytest.mark.parametrize("name", ["custom_instructions", "custom_fact_extraction_prompt"])
async def test_instructions_steer_what_is_drawn(tmp_path: Path, name: str) -> None:
    model = Model(facts("Alice trinkt jeden Morgen eine Tasse Tee"), facts("Bob likes jam"))
    given = {name: "Only what is drunk, in German."}
    async with AsyncMemory(given, url=tmp_path / "memory.db", embedder="hash", chat_model=model) as memory:
        drunk = memory.add("I have a cup of tea and some jam in the morning", user_id="alice")
        assert await texts(drunk) == ["Alice trinkt jeden Morgen eine Tasse Tee"]
        await memory.add("I like tea and jam", user_id="bob", prompt="Only what is eaten.")
    [first, *_], [second, *_] = model.asked
    assert "Only what is drunk" in first["content"] and first["content"].startswith("You keep the long-term memory")
    assert "Only what is eaten." in second["content"] and "Only what is drunk" not in second["content"]


async def test_a_chat_model_by_name_is_opened_once_and_closed(
    tmp_path: Path, endpoint: str, answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    from memorist.language.endpoint import OpenAIChatModel

    closed: list[OpenAIChatModel] = []
    monkeypatch.setattr(OpenAIChatModel, "close", spied(OpenAIChatModel.close, closed))
    answers += [json.dumps(facts(f"Alice likes {each}")) for each in ("tea", "jam")]
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash", chat_model=f"{endpoint}#m") as memory:
        await memory.add("I like tea", user_id="alice")
        await memory.add("I like jam", user_id="bob")
        assert closed == []
    assert len(closed) == 1


def spied(close: Any, closed: list[Any]) -> Any:
    async def noting(self: Any) -> None:
        closed.append(self)
        await close(self)

    return noting


async def test_without_a_model_messages_are_stored_as_they_are(memory: AsyncMemory) -> None:
    added = await memory.add([{"role": "user", "content": "I like tea"}], user_id="alice")
    assert added["results"][0] | {"id": ""} == {
        "id": "", "memory": "I like tea", "event": "ADD", "actor_id": None, "role": "user"
    }  # fmt: skip


async def test_a_procedure_is_written_by_the_model(tmp_path: Path, memory: AsyncMemory) -> None:
    task: dict[str, Any] = {"messages": "Open the log, then grep it", "agent_id": "ops"}
    task["memory_type"] = "procedural_memory"
    with pytest.raises(InvalidInputError, match="chat model"):
        await memory.add(**task)
    model = Model("<think>Hm.</think>1. Open the log. 2. Search it.", " ", "```markdown\n1. Open the log.\n```")
    async with AsyncMemory(url=tmp_path / "other.db", embedder="hash", chat_model=model) as other:
        [added] = (await other.add(**task))["results"]
        found = await other.get(added["id"])
        assert found is not None and found["metadata"] == {"memory_type": "procedural_memory"}
        assert found["memory"] == "1. Open the log. 2. Search it."
        with pytest.raises(ValueError, match="returned no content") as raised:
            await other.add(**task)
        assert isinstance(raised.value, ModelError)
        assert (await other.add(**task))["results"][0]["memory"] == "1. Open the log."


async def test_a_procedure_may_be_written_by_a_model_of_langchain(memory: AsyncMemory) -> None:
    models = pytest.importorskip("langchain_core.language_models")
    added = await memory.add(
        "Open the log, then grep it",
        agent_id="ops",
        memory_type="procedural_memory",
        llm=models.FakeListChatModel(responses=["1. Open the log."]),
    )
    assert added["results"][0]["memory"] == "1. Open the log."


async def test_of_a_reply_in_blocks_the_text_is_taken(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    told = facts("Alice likes tea")
    blocks: Any = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": json.dumps(told)},
    ]
    model: Any = GenericFakeChatModel(messages=iter([AIMessage(content=blocks)]))
    async with AsyncMemory(url=tmp_path / "memory.db", embedder="hash", chat_model=model) as memory:
        [added] = (await memory.add("I like tea", user_id="alice"))["results"]
        assert added["memory"] == "Alice likes tea"


async def test_a_message_in_blocks_is_stored_without_its_thinking(memory: AsyncMemory) -> None:
    blocks: Any = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I like tea"},
    ]
    [added] = (await memory.add([{"role": "user", "content": blocks}], user_id="alice"))["results"]
    assert added["memory"] == "I like tea"


# --- opening and closing -----------------------------------------------------------------------------------


async def test_it_opens_with_the_first_call_and_closes_with_or_without_await(tmp_path: Path) -> None:
    url = tmp_path / "memory.db"
    memory = AsyncMemory(url=url, embedder="hash")
    await memory.add("Likes tea", user_id="alice")
    memory.close()
    await memory.close()
    with pytest.raises(ClosedError):
        await memory.get_all(user_id="alice")
    other = await AsyncMemory(url=url, embedder="hash")
    assert await texts(other.get_all(user_id="alice")) == ["Likes tea"]
    await other.close()


async def test_the_blocking_one_works_inside_a_running_loop(tmp_path: Path) -> None:
    with Memory(url=tmp_path / "memory.db", embedder="hash") as memory:
        [added] = memory.add("Likes tea", user_id="alice")["results"]
        assert (memory.get(added["id"]) or {})["memory"] == "Likes tea"
    with pytest.raises(ClosedError):
        memory.get(added["id"])
