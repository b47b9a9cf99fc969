"""Personal, task and tool memory, as their document describes them, by what is stored and what is told of it."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.agentscope import (
    Msg,
    ReMePersonalLongTermMemory,
    ReMeTaskLongTermMemory,
    ReMeToolLongTermMemory,
    ToolResponse,
)
from memorist.memory import Memory
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

KINDS = [ReMePersonalLongTermMemory, ReMeTaskLongTermMemory, ReMeToolLongTermMemory]
NOT_STARTED = "ReMeApp context not started. Please use 'async with' to initialize the app."
SEARCHES = {"tool_name": "search", "input": {"query": "Python"}, "output": "Found 10 results", "success": True}


def said(response: ToolResponse) -> str:
    [block] = response.content
    assert block["type"] == "text"
    return str(block["text"])


def user(text: Any) -> Msg:
    return Msg("Alice", text, "user")


def call(**fields: Any) -> str:
    return json.dumps({**SEARCHES, **fields})


class Elsewhere:
    """A runner of one's own, in the place of the engine's: it answers one text, or fails."""

    def __init__(self, answer: str | Exception) -> None:
        self.entered = 0
        self._answer = answer

    async def __aenter__(self) -> "Elsewhere":
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.entered -= 1

    async def async_execute(self, name: str, **arguments: Any) -> dict[str, Any]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return {"answer": self._answer, "success": True, "metadata": {}}


async def recorded(memory: Memory) -> list[list[str]]:
    """Return what was recorded of alice, oldest first: of a task its messages, of a call its result, else a text."""
    found = []
    for each in await memory.scoped(user="alice").recent(100):
        if each.kind is Kind.EXPERIENCE:
            found.append([message["content"] for message in each.payload["trajectory"]["messages"]])
        elif each.kind is Kind.TOOL_USE:
            found.append([each.payload["result"]])
        elif each.kind is Kind.FACT:
            found.append([each.content])
    return found[::-1]


Make = Callable[..., Any]


@pytest.fixture
async def entered(memory: Memory) -> AsyncIterator[Make]:
    """Return a function that makes a memory of a kind, entered."""
    made: list[Any] = []

    async def make(kind: Any, **arguments: Any) -> Any:
        made.append(await kind(user_name="alice", memory=memory, **arguments).__aenter__())
        return made[-1]

    yield make
    for one in made:
        await one.__aexit__()


# --- all three alike -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_it_must_be_entered_before_it_is_used(kind: Any, memory: Memory) -> None:
    unused = kind(agent_name="Friday", user_name="alice", memory=memory)
    assert (unused.workspace_id, unused._app_started) == ("alice", False)
    for work in (
        unused.record_to_memory("because", ["a"]),
        unused.retrieve_from_memory(["a"]),
        unused.record([user("a")]),
        unused.retrieve(user("a")),
    ):
        with pytest.raises(RuntimeError) as error:
            await work
        assert str(error.value) == NOT_STARTED
    async with unused as same:
        assert same is unused
        assert unused._app_started
        assert await unused.retrieve(user("a")) == ""
    with pytest.raises(RuntimeError):
        await unused.retrieve(user("a"))


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_to_record_or_to_ask_is_nothing_done(kind: Any, memory: Memory, entered: Make) -> None:
    one = await entered(kind)
    for nothing in (None, [], [None, None]):
        assert await one.record(nothing) is None
    assert await memory.count() == 0
    await one.record([user(call())])
    for empty in (None, list[Msg](), user("")):
        assert await one.retrieve(empty) == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["text", 5, {"role": "user"}])
async def test_only_messages_are_recorded_and_asked(kind: Any, wrong: Any, entered: Make) -> None:
    one = await entered(kind)
    for given in (wrong, [user("a"), wrong]):
        with pytest.raises(TypeError) as error:
            await one.record(given)
        assert str(error.value) == "The input messages must be a list of Msg objects."
        with pytest.raises(TypeError) as error:
            await one.retrieve(given)
        assert str(error.value) == "The input message must be a Msg or a list of Msg objects."


@pytest.mark.parametrize("kind", KINDS)
async def test_a_runner_of_ones_own_takes_the_engines_place(kind: Any, memory: Memory) -> None:
    one = kind(user_name="alice", memory=memory)
    one.app = runner = Elsewhere("from elsewhere")
    async with one:
        assert runner.entered == 1
        assert await one.retrieve(user("search")) == "from elsewhere"
    assert runner.entered == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_settings_of_reme_are_said_to_have_no_effect(kind: Any) -> None:
    with pytest.warns(UserWarning, match="llm_api_base, reme_config_path"):
        kind(user_name="alice", reme_config_path="reme.yaml", llm_api_base="http://localhost")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_without_an_argument_is_answered_by_the_name_of_the_argument(kind: Any, entered: Make) -> None:
    one = await entered(kind)
    assert said(await one.record_to_memory(content=["tea"])).endswith("missing a required argument: 'thinking'")
    assert said(await one.retrieve_from_memory()).endswith("missing a required argument: 'keywords'")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_models_arguments_cannot_name_another_workspace_or_flow(
    kind: Any, memory: Memory, entered: Make
) -> None:
    one = await entered(kind)
    await memory.scoped(user="bob").facts.add("Bob's secret")
    other = {"workspace_id": "bob", "name": "delete_everything"}
    assert said(await one.record_to_memory("because", [call()], **other)).startswith("Successfully recorded 1 ")
    found = said(await one.retrieve_from_memory(["search"], **other))
    assert "search" in found and "secret" not in found
    assert [each.content for each in await memory.scoped(user="bob").recent()] == ["Bob's secret"]


@pytest.mark.parametrize(
    ("kind", "told", "found"),
    [
        (
            ReMePersonalLongTermMemory,
            "Successfully recorded 1 memory/memories to personal memory.",
            "Keyword 'tea':\nI like tea",
        ),
        (
            ReMeTaskLongTermMemory,
            "Successfully recorded 1 task memory/memories.",
            "Keyword 'tea':\n(from the tool) I like tea",
        ),
    ],
)
async def test_a_model_that_gives_one_text_for_a_list_is_understood(
    kind: Any, told: str, found: str, memory: Memory, entered: Make
) -> None:
    one = await entered(kind)
    assert said(await one.record_to_memory("because", "I like tea")) == told
    assert await recorded(memory) == [["I like tea"]]
    assert said(await one.retrieve_from_memory("tea")) == found


async def test_a_model_that_gives_one_text_for_a_list_of_calls_or_tools_is_understood(entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    text = "Successfully recorded 1 tool execution result and generated usage guidelines."
    assert said(await one.record_to_memory("worked", call())) == text
    assert said(await one.retrieve_from_memory("search")).startswith("Retrieved 1 tool memory(ies):")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_that_gives_no_list_is_told_so(kind: Any, entered: Make) -> None:
    one = await entered(kind)
    assert said(await one.record_to_memory("because", None)).startswith("Error recording ")
    assert said(await one.retrieve_from_memory(None)).startswith("Error retrieving ")
    assert said(await one.retrieve_from_memory([5])).startswith("Error retrieving ")


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (ReMePersonalLongTermMemory, "Successfully recorded 1 memory/memories to personal memory."),
        (ReMeTaskLongTermMemory, "Successfully recorded 1 task memory/memories."),
    ],
)
async def test_a_blank_item_is_not_recorded_nor_is_what_stands_around_it(
    kind: Any, told: str, memory: Memory, entered: Make
) -> None:
    one = await entered(kind)
    assert said(await one.record_to_memory("because", ["Likes tea", "", " "])) == told
    for nothing in ([], [""], [None]):
        assert "1" not in said(await one.record_to_memory("because", nothing))
    assert [each.content for each in await memory.scoped(user="alice").recent()] == ["Likes tea"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_messages_content_may_be_a_list_of_texts(kind: Any, memory: Memory, entered: Make) -> None:
    one = await entered(kind)
    await one.record([user([call(), call(output="other")])])
    assert "Found 10 results" in str(found := await recorded(memory))
    assert "other" in str(found)
    assert "Python" in await one.retrieve(user(["search", "fetch"]))


async def test_entered_twice_it_opens_its_file_once(tmp_path: Path) -> None:
    one = ReMePersonalLongTermMemory(user_name="alice", memory=tmp_path / "a.db", embedding_model=HashEmbedder())
    async with one:
        first = one.app._root
        async with one:
            assert one.app._root is first
        assert one.app._root is None


# --- personal ----------------------------------------------------------------------------------------------


async def test_personal_record_to_memory(memory: Memory, entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory)
    response = await one.record_to_memory("It may help later", ["Likes tea", "Lives in Oslo"])
    assert said(response) == "Successfully recorded 2 memory/memories to personal memory."
    kept = response.metadata["result"]["metadata"]["memory_list"]
    assert [each["content"] for each in kept] == ["Likes tea", "Lives in Oslo"]
    assert await recorded(memory) == [["Likes tea"], ["Lives in Oslo"]]
    assert said(await one.record_to_memory("", ["Likes tea"])) == "Memory recording completed."  # it is known
    assert await memory.scoped(user="alice").count() == 2


async def test_personal_retrieve_from_memory(entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory)
    assert said(await one.retrieve_from_memory(["cars"])) == "No memories found for the given keywords."
    await one.record_to_memory("", ["Likes tea", "Lives in Oslo", "Plays chess", "Has a dog"])
    found = await one.retrieve_from_memory(["tea", "Oslo"], limit=1)
    assert said(found) == "Keyword 'tea':\nLikes tea\n\nKeyword 'Oslo':\nLives in Oslo"
    for options, most in (({}, 3), ({"limit": 7}, 4), ({"top_k": 2, "limit": 7}, 2)):
        assert len(said(await one.retrieve_from_memory(["tea"], **options)).splitlines()) == 1 + most


async def test_personal_record_and_retrieve(memory: Memory, entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory)
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted."}]
    await one.record([user("I like tea"), None, Msg("Friday", blocks, "assistant"), user("I live in Oslo")])
    assert await recorded(memory) == [["I like tea"], ["I live in Oslo"]]
    thought = [{"type": "thinking", "thinking": "what of"}, {"type": "text", "text": "tea?"}]
    assert await one.retrieve([user("Oslo"), Msg("Friday", thought, "assistant")], top_k=1) == "I like tea"


# --- task --------------------------------------------------------------------------------------------------


async def test_task_record_to_memory(memory: Memory, entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory)
    response = await one.record_to_memory("It was slow", ["Add an index", "Use EXPLAIN"], score=0.4)
    assert said(response) == "Successfully recorded 2 task memory/memories."
    kept = response.metadata["result"]["metadata"]["memory_list"]
    assert [each["content"] for each in kept] == ["Add an index", "Use EXPLAIN"]
    assert await recorded(memory) == [["Add an index"], ["Use EXPLAIN"]]
    await one.record_to_memory("", ["Sort first"])
    scores = {each.content: each.payload["score"] for each in await memory.scoped(user="alice").recent()}
    assert scores == {"Add an index": 0.4, "Use EXPLAIN": 0.4, "Sort first": 1.0}


async def test_task_retrieve_from_memory(entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory)
    assert said(await one.retrieve_from_memory(["x"])) == "No task experiences found for the given keywords."
    await one.record_to_memory("", ["Add an index", "Use EXPLAIN", "Sort first", "Ask for less"])
    found = said(await one.retrieve_from_memory(["index", "EXPLAIN"], limit=1))
    assert found == (
        "Keyword 'index':\n(from the tool) Add an index\n\nKeyword 'EXPLAIN':\n(from the tool) Use EXPLAIN"
    )
    for options, most in (({}, 3), ({"limit": 5}, 4), ({"top_k": 1}, 1), ({"top_k": 2, "limit": 5}, 2)):
        assert said(await one.retrieve_from_memory(["index"], **options)).count("(from the tool)") == most


async def test_task_record_and_retrieve(memory: Memory, entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory)
    calls = [{"type": "tool_use", "id": "1", "name": "sql", "input": {"q": "SELECT 1"}}]
    results = [{"type": "tool_result", "id": "1", "name": "sql", "output": "1 row"}]
    done = Msg("Friday", "Done", "assistant")
    await one.record(
        [user("Count"), Msg("Friday", calls, "assistant"), Msg("system", results, "system"), done], score=0.0
    )
    [record] = await memory.scoped(user="alice").recent()
    steps = [(each["role"], each["content"]) for each in record.payload["trajectory"]["messages"]]
    assert steps == [
        ("user", "Count"),
        ("assistant", 'sql({"q": "SELECT 1"})'),
        ("user", "sql: 1 row"),
        ("assistant", "Done"),
    ]
    assert (record.cue, record.payload["score"]) == ("Count", 0.0)
    await one.record([user("Sort the rows"), Msg("Friday", "Sorted", "assistant")])
    found = await one.retrieve([user("Count"), user("Sort the rows")], top_k=1)
    assert found.startswith("When to use: Sort the rows\nExperience: ")


# --- tool --------------------------------------------------------------------------------------------------


async def test_tool_record_to_memory(memory: Memory, entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    text = "Successfully recorded 1 tool execution result and generated usage guidelines."
    assert said(await one.record_to_memory("worked", [call()])) == text
    [use] = await memory.scoped(user="alice").recent(kind=Kind.TOOL_USE)
    assert use.payload == {
        "tool": "search", "arguments": {"query": "Python"}, "result": "Found 10 results", "success": True, "score": 1.0,
    }  # fmt: skip
    many = await one.record_to_memory("worked", [call(), call(tool_name="fetch"), call(output="other")])
    assert said(many) == "Successfully recorded 3 tool execution results and generated usage guidelines."
    assert sorted(await recorded(memory)) == [["Found 10 results"], ["Found 10 results"], ["other"]]
    guidelines = await memory.scoped(user="alice").recent(kind=Kind.TOOL_GUIDELINE)
    assert {each.key for each in guidelines} == {"search", "fetch"}


@pytest.mark.parametrize("bad", ["not json", '{"half": ', "[1, 2]", '"a text"', "5", "null"])
async def test_tool_record_to_memory_passes_over_what_is_no_object(bad: str, entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    with pytest.warns(UserWarning) as warned:
        response = await one.record_to_memory("worked", [bad])
    assert str(warned[0].message).startswith(f"Failed to parse tool call result JSON: {bad}. Error: ")
    assert said(response) == "No valid tool call results to record."
    with pytest.warns(UserWarning):
        response = await one.record_to_memory("worked", [bad, call()])
    assert said(response) == "Successfully recorded 1 tool execution result and generated usage guidelines."


@pytest.mark.parametrize("fields", [{"tool_name": ""}, {"tool_name": None}, {"output": ""}, {"output": None}])
async def test_a_call_without_a_name_or_an_output_is_not_said_to_be_recorded(fields: Any, entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    assert said(await one.record_to_memory("x", [call(**fields)])) == "No valid tool call results to record."


async def test_tool_retrieve_from_memory(entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    assert said(await one.retrieve_from_memory(["a", "b"])) == "No tool guidelines found for: a,b"
    await one.record_to_memory("worked", [call(), call(tool_name="fetch", success=False)])
    found = said(await one.retrieve_from_memory(["search", "fetch", "a"]))
    assert found.startswith("Retrieved 2 tool memory(ies):\n\nTool: search\n(from the tool) Worked with: ")
    assert "\n---\nTool: fetch\n(from the tool) Failed with: " in found
    for options in ({"limit": 1}, {"top_k": 1}, {"top_k": 1, "limit": 9}):
        assert said(await one.retrieve_from_memory(["search", "fetch"], **options)).startswith("Retrieved 1 ")


async def test_tool_record_and_retrieve(memory: Memory, entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory)
    blocks = [{"type": "text", "text": call()}, {"type": "text", "text": call(output="other")}]
    await one.record([Msg("Friday", blocks, "assistant"), user(call(tool_name="fetch"))])
    assert sorted(await recorded(memory)) == [["Found 10 results"], ["Found 10 results"], ["other"]]
    assert (await one.retrieve([user("no"), user("search,fetch")])).startswith("Retrieved 2 ")
    thought = [{"type": "thinking", "thinking": "search"}, {"type": "text", "text": "fetch"}]
    assert (await one.retrieve(Msg("Friday", thought, "assistant"))).startswith("Retrieved 2 ")
    with pytest.warns(UserWarning, match="Failed to parse tool call result JSON: Hello"):
        await one.record([user("Hello")])


# --- failures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "recording", "retrieving"),
    [
        (ReMePersonalLongTermMemory, "Error recording memory: no disk", "Error retrieving memory: no disk"),
        (ReMeTaskLongTermMemory, "Error recording task memory: no disk", "Error retrieving task memory: no disk"),
        (ReMeToolLongTermMemory, "Error recording tool memory: no disk", "Error retrieving tool memory: no disk"),
    ],
)
async def test_the_tools_tell_a_failure_in_words(kind: Any, recording: str, retrieving: str, entered: Make) -> None:
    one = await entered(kind)
    one.app = Elsewhere(OSError("no disk"))
    assert said(await one.record_to_memory("because", [call()])) == recording
    assert said(await one.retrieve_from_memory(["search"])) == retrieving


@pytest.mark.parametrize("kind", KINDS)
async def test_a_program_is_warned_of_a_failure_and_what_failed_can_be_recorded_again(
    kind: Any, memory: Memory, entered: Make
) -> None:
    one = await entered(kind)
    message, engine = user(call()), one.app
    one.app = Elsewhere(OSError("no disk"))
    with pytest.warns(UserWarning, match=r"Error recording .*no disk"):
        assert await one.record([message]) is None
    with pytest.warns(UserWarning, match=r"Error retrieving .*no disk"):
        assert await one.retrieve(user("search")) == ""
    one.app = engine
    await one.record([message, user(call(output="other"))])
    assert "Found 10 results" in str(await recorded(memory))


@pytest.mark.parametrize("kind", KINDS)
async def test_the_engines_own_failures_are_told_the_same_way(kind: Any, memory: Memory, entered: Make) -> None:
    one = await entered(kind)
    await memory.close()
    assert "Error recording" in said(await one.record_to_memory("because", [call()]))
    assert "Error retrieving" in said(await one.retrieve_from_memory(["search"]))
    with pytest.warns(UserWarning, match="Error recording"):
        await one.record([user(call())])
    with pytest.warns(UserWarning, match="Error retrieving"):
        assert await one.retrieve(user("search")) == ""


# --- recorded once -----------------------------------------------------------------------------------------


async def test_an_agent_that_hands_over_all_it_remembers_has_each_exchange_recorded_once(
    memory: Memory, entered: Make
) -> None:
    one = await entered(ReMeTaskLongTermMemory)
    talk = [user("I like tea"), Msg("Friday", "Noted", "assistant")]
    await one.record(talk)
    recalled = "<long_term_memory>The content below are retrieved from long-term memory: tea</long_term_memory>"
    talk += [
        Msg("long_term_memory", recalled, "user"),
        user(f"{recalled} I like jazz"),
        Msg("Friday", "Ok", "assistant"),
    ]
    await one.record(talk)
    await one.record([talk[-2], *talk, extra := user("Bye"), extra])  # some agents give the question twice
    assert await recorded(memory) == [["I like tea", "Noted"], ["I like jazz", "Ok"], ["Bye"]]


async def test_a_recalled_text_is_no_fact_of_the_users(memory: Memory, entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory)
    recalled = "<long_term_memory>The content below are retrieved from long-term memory: tea</long_term_memory>"
    await one.record([Msg("long_term_memory", recalled, "user"), user(f"{recalled} I like jazz")])
    assert await recorded(memory) == [["I like jazz"]]


async def test_what_was_recorded_is_known_in_the_next_process_where_the_state_is_loaded(
    memory: Memory, entered: Make
) -> None:
    one, other = await entered(ReMeTaskLongTermMemory), await entered(ReMeTaskLongTermMemory)
    talk = [user("I like tea")]
    await one.record(talk)
    state = json.loads(json.dumps(one.state_dict()))
    other.load_state_dict({})  # the state of a memory that was none of ours
    other.load_state_dict(state)
    await other.record([*talk, user("I like jazz")])
    assert await recorded(memory) == [["I like tea"], ["I like jazz"]]


@pytest.mark.parametrize("kind", KINDS)
async def test_who_records_nothing_but_old_messages_does_so_on_purpose(
    kind: Any, memory: Memory, entered: Make
) -> None:
    one = await entered(kind)
    message = user(call())
    await one.record([message])
    before = await recorded(memory)
    for each in await memory.scoped(user="alice").recent():
        await memory.forget(each.id)
    await one.record([message])
    assert await recorded(memory) == before != []


async def test_what_the_memorys_own_tools_said_is_not_recorded(memory: Memory, entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory)
    uses = [{"type": "tool_use", "id": "1", "name": "retrieve_from_memory", "input": {"keywords": ["a"]}}]
    results = [{"type": "tool_result", "id": "1", "name": "retrieve_from_memory", "output": "Keyword 'a':\nsecret"}]
    await one.record([Msg("Friday", uses, "assistant"), Msg("system", results, "system"), user("Hello")])
    assert await recorded(memory) == [["Hello"]]
