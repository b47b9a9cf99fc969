"""Personal, task and tool memory, as their document describes them: arguments, texts, errors, and flows."""

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


class Runner:
    """A runner of one's own, in the place of the engine's: it notes what it is asked, and answers or fails."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.entered = 0
        self._answers = list(answers)

    async def __aenter__(self) -> "Runner":
        self.entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.entered -= 1

    async def async_execute(self, name: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((name, arguments))
        answer = self._answers.pop(0) if self._answers else {"answer": "", "success": True, "metadata": {}}
        if isinstance(answer, Exception):
            raise answer
        return answer


Make = Callable[..., Any]


@pytest.fixture
async def entered(memory: Memory) -> AsyncIterator[Make]:
    """Return a function that makes a memory of a kind, entered; with answers, on a runner that gives them."""
    made: list[Any] = []

    async def make(kind: Any, *answers: Any, **arguments: Any) -> Any:
        one = kind(user_name="alice", memory=memory, **arguments)
        if answers:
            one.app = Runner(*answers)
        made.append(await one.__aenter__())
        return one

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
async def test_nothing_to_record_or_to_ask_is_nothing_done(kind: Any, entered: Make) -> None:
    one = await entered(kind, {"answer": "something"})
    assert await one.record(None) is None
    assert await one.record([]) is None
    assert await one.record([None, None]) is None
    assert await one.retrieve(None) == ""
    assert await one.retrieve([]) == ""
    assert await one.retrieve(user("")) == ""
    assert one.app.asked == []


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
    one.app = runner = Runner({"answer": "from elsewhere"})
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
async def test_the_models_arguments_cannot_name_another_workspace_or_flow(kind: Any, entered: Make) -> None:
    one = await entered(kind, {"answer": ""}, {"answer": ""})
    await one.record_to_memory("because", [call()], workspace_id="bob", name="delete_everything")
    await one.retrieve_from_memory(["search"], workspace_id="bob", name="delete_everything")
    assert {arguments["workspace_id"] for _, arguments in one.app.asked} == {"alice"}
    assert "delete_everything" not in {name for name, _ in one.app.asked}


@pytest.mark.parametrize(
    ("kind", "told", "found"),
    [
        (ReMePersonalLongTermMemory, "Memory recording completed.", "Keyword 'tea':\ngreen"),
        (ReMeTaskLongTermMemory, "Successfully recorded 1 task memory/memories.", "Keyword 'tea':\ngreen"),
    ],
)
async def test_a_model_that_gives_one_text_for_a_list_is_understood(
    kind: Any, told: str, found: str, entered: Make
) -> None:
    one = await entered(kind, {"answer": ""}, {"answer": "green"})
    assert said(await one.record_to_memory("because", "I like tea")) == told
    contents = [each["content"] for each in one.app.asked[0][1]["trajectories"][0]["messages"]]
    assert contents[:2] == ["because", "I like tea"]
    assert len(contents) == 3
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
async def test_a_messages_content_may_be_a_list_of_texts(kind: Any, entered: Make) -> None:
    one = await entered(kind, {"answer": ""}, {"answer": ""}, {"answer": "something"})
    await one.record([user([call(), call(output="other")])])
    assert "Found 10 results" in str(one.app.asked)
    assert "other" in str(one.app.asked)
    await one.retrieve(user(["search", "fetch"]))
    assert "search\nfetch" in one.app.asked[-1][1].values()


async def test_entered_twice_it_opens_its_file_once(tmp_path: Path) -> None:
    one = ReMePersonalLongTermMemory(user_name="alice", memory=tmp_path / "a.db", embedding_model=HashEmbedder())
    async with one:
        first = one.app._root
        async with one:
            assert one.app._root is first
        assert one.app._root is None


# --- personal ----------------------------------------------------------------------------------------------


async def test_personal_record_to_memory(entered: Make) -> None:
    result = {"answer": "", "success": True, "metadata": {"memory_list": [{"content": "a"}, {"content": "b"}]}}
    one = await entered(ReMePersonalLongTermMemory, result, {"answer": "", "metadata": {}})
    response = await one.record_to_memory("It may help later", ["Likes tea", "Lives in Oslo"])
    assert said(response) == "Successfully recorded 2 memory/memories to personal memory."
    assert response.metadata == {"result": result}
    understood = {"role": "assistant", "content": "I understand and will remember this information."}
    messages = [
        {"role": "user", "content": "It may help later"},
        {"role": "user", "content": "Likes tea"},
        understood,
        {"role": "user", "content": "Lives in Oslo"},
        understood,
    ]
    arguments = {"workspace_id": "alice", "trajectories": [{"messages": messages}]}
    assert one.app.asked == [("summary_personal_memory", arguments)]
    assert said(await one.record_to_memory("", ["Likes tea"])) == "Memory recording completed."


async def test_personal_retrieve_from_memory(entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory, {"answer": "Likes tea"}, {"answer": ""}, {"answer": "In Oslo"})
    found = await one.retrieve_from_memory(["drinks", "cars", "city"], limit=7)
    assert said(found) == "Keyword 'drinks':\nLikes tea\n\nKeyword 'city':\nIn Oslo"
    assert one.app.asked[0] == ("retrieve_personal_memory", {"workspace_id": "alice", "query": "drinks", "top_k": 7})
    assert said(await one.retrieve_from_memory(["cars"])) == "No memories found for the given keywords."
    assert one.app.asked[-1][1]["top_k"] == 3


async def test_personal_record_and_retrieve(entered: Make) -> None:
    one = await entered(ReMePersonalLongTermMemory, {"answer": ""}, {"answer": "Likes tea"})
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted."}]
    await one.record([user("I like tea"), None, Msg("Friday", blocks, "assistant")])
    messages = [{"role": "user", "content": "I like tea"}, {"role": "assistant", "content": "hm\nNoted."}]
    assert one.app.asked == [
        ("summary_personal_memory", {"workspace_id": "alice", "trajectories": [{"messages": messages}]})
    ]
    assert await one.retrieve([user("not this"), Msg("Friday", blocks, "assistant")]) == "Likes tea"
    assert one.app.asked[-1] == (
        "retrieve_personal_memory",
        {"workspace_id": "alice", "query": "hm\nNoted.", "top_k": 3},
    )


# --- task --------------------------------------------------------------------------------------------------


async def test_task_record_to_memory(entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory, {"answer": "x"}, {"answer": ""})
    response = await one.record_to_memory("It was slow", ["Add an index", "Use EXPLAIN"], score=0.4)
    assert said(response) == "Successfully recorded 2 task memory/memories."
    assert response.metadata == {"result": {"answer": "x"}}
    recorded = {"role": "assistant", "content": "Task information recorded."}
    messages = [
        {"role": "user", "content": "It was slow"},
        {"role": "user", "content": "Add an index"},
        recorded,
        {"role": "user", "content": "Use EXPLAIN"},
        recorded,
    ]
    arguments = {"workspace_id": "alice", "trajectories": [{"messages": messages, "score": 0.4}]}
    assert one.app.asked == [("summary_task_memory", arguments)]
    await one.record_to_memory("", ["Add an index"])
    assert one.app.asked[-1][1]["trajectories"][0]["score"] == 1.0


async def test_task_retrieve_from_memory(entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory, {"answer": "Add an index"}, {"answer": "Use EXPLAIN"})
    found = await one.retrieve_from_memory(["slow queries", "plans"])
    assert said(found) == "Keyword 'slow queries':\nAdd an index\n\nKeyword 'plans':\nUse EXPLAIN"
    asked = {"workspace_id": "alice", "query": "slow queries", "top_k": 3}
    assert one.app.asked[0] == ("retrieve_task_memory", asked)
    assert said(await one.retrieve_from_memory(["x"])) == "No task experiences found for the given keywords."
    for options, most in (({"limit": 5}, 5), ({"top_k": 8}, 8), ({"top_k": 8, "limit": 5}, 8)):
        await one.retrieve_from_memory(["x"], **options)
        assert one.app.asked[-1][1]["top_k"] == most


async def test_task_record_and_retrieve(entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory, {"answer": ""}, {"answer": "Add an index"})
    calls = [{"type": "tool_use", "id": "1", "name": "sql", "input": {"q": "SELECT 1"}}]
    results = [{"type": "tool_result", "id": "1", "name": "sql", "output": "1 row"}]
    done = Msg("Friday", "Done", "assistant")
    await one.record(
        [user("Count"), Msg("Friday", calls, "assistant"), Msg("system", results, "system"), done], score=0.0
    )
    [(flow, arguments)] = one.app.asked
    assert flow == "summary_task_memory"
    assert arguments["trajectories"] == [
        {
            "messages": [
                {"role": "user", "content": "Count"},
                {"role": "assistant", "content": 'sql({"q": "SELECT 1"})'},
                {"role": "user", "content": "sql: 1 row"},
                {"role": "assistant", "content": "Done"},
            ],
            "score": 0.0,
        }
    ]
    assert await one.retrieve(user("It is slow"), top_k=2) == "Add an index"
    assert one.app.asked[-1][1] == {"workspace_id": "alice", "query": "It is slow", "top_k": 2}


# --- tool --------------------------------------------------------------------------------------------------


async def test_tool_record_to_memory(entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory, {"answer": ""})
    text = "Successfully recorded 1 tool execution result and generated usage guidelines."
    assert said(await one.record_to_memory("worked", [call()])) == text
    assert one.app.asked == [
        ("add_tool_call_result", {"workspace_id": "alice", "tool_call_results": [SEARCHES]}),
        ("summary_tool_memory", {"workspace_id": "alice", "tool_names": ["search"]}),
    ]
    many = await one.record_to_memory("worked", [call(), call(tool_name="fetch"), call(output="other")])
    assert said(many) == "Successfully recorded 3 tool execution results and generated usage guidelines."
    assert one.app.asked[-1][1]["tool_names"] == ["search", "fetch"]


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
    one = await entered(ReMeToolLongTermMemory, {"answer": "the guidelines"})
    assert said(await one.retrieve_from_memory(["search", "fetch"])) == "the guidelines"
    assert one.app.asked == [("retrieve_tool_memory", {"workspace_id": "alice", "tool_names": "search,fetch"})]
    assert said(await one.retrieve_from_memory(["a", "b"])) == "No tool guidelines found for: a,b"
    for options in ({"limit": 4}, {"top_k": 4}, {"top_k": 4, "limit": 9}):
        await one.retrieve_from_memory(["a"], **options)
        assert one.app.asked[-1][1]["top_k"] == 4


async def test_tool_record_and_retrieve(entered: Make) -> None:
    one = await entered(ReMeToolLongTermMemory, {"answer": ""}, {"answer": ""}, {"answer": "the guidelines"})
    blocks = [{"type": "text", "text": call()}, {"type": "text", "text": call(output="other")}]
    await one.record([Msg("Friday", blocks, "assistant"), user(call(tool_name="fetch"))])
    [(first, added), (second, named)] = one.app.asked
    assert (first, second) == ("add_tool_call_result", "summary_tool_memory")
    assert [each["output"] for each in added["tool_call_results"]] == ["Found 10 results", "other", "Found 10 results"]
    assert named["tool_names"] == ["search", "fetch"]
    assert await one.retrieve([user("no"), user("search,fetch")]) == "the guidelines"
    assert one.app.asked[-1] == ("retrieve_tool_memory", {"workspace_id": "alice", "tool_names": "search,fetch"})
    thought = [{"type": "thinking", "thinking": "search"}, {"type": "text", "text": "fetch"}]
    await one.retrieve(Msg("Friday", thought, "assistant"))
    assert one.app.asked[-1][1]["tool_names"] == "search\nfetch"
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
    one = await entered(kind, OSError("no disk"), OSError("no disk"))
    assert said(await one.record_to_memory("because", [call()])) == recording
    assert said(await one.retrieve_from_memory(["search"])) == retrieving


@pytest.mark.parametrize("kind", KINDS)
async def test_a_program_is_warned_of_a_failure_and_what_failed_can_be_recorded_again(kind: Any, entered: Make) -> None:
    one = await entered(kind, OSError("no disk"), OSError("no disk"))
    message = user(call())
    with pytest.warns(UserWarning, match=r"Error recording .*no disk"):
        assert await one.record([message]) is None
    with pytest.warns(UserWarning, match=r"Error retrieving .*no disk"):
        assert await one.retrieve(user("search")) == ""
    await one.record([message, user(call(output="other"))])
    assert "Found 10 results" in str(one.app.asked[2])


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


@pytest.mark.parametrize("kind", [ReMePersonalLongTermMemory, ReMeTaskLongTermMemory])
async def test_an_agent_that_hands_over_all_it_remembers_has_each_exchange_recorded_once(
    kind: Any, entered: Make
) -> None:
    one = await entered(kind, {"answer": ""})
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
    contents = [
        [each["content"] for each in arguments["trajectories"][0]["messages"]] for _, arguments in one.app.asked
    ]
    assert contents == [["I like tea", "Noted"], ["I like jazz", "Ok"], ["Bye"]]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_recorded_is_known_in_the_next_process_where_the_state_is_loaded(
    kind: Any, entered: Make
) -> None:
    one, other = await entered(kind, {"answer": ""}), await entered(kind, {"answer": ""})
    talk = [user(call())]
    await one.record(talk)
    state = json.loads(json.dumps(one.state_dict()))
    other.load_state_dict({})  # the state of a memory that was none of ours
    other.load_state_dict(state)
    await other.record([*talk, user(call(output="other"))])
    assert "other" in str(other.app.asked)
    assert "Found 10 results" not in str(other.app.asked)


@pytest.mark.parametrize("kind", KINDS)
async def test_who_records_nothing_but_old_messages_does_so_on_purpose(kind: Any, entered: Make) -> None:
    one = await entered(kind, {"answer": ""})
    message = user(call())
    await one.record([message])
    before = len(one.app.asked)
    await one.record([message])
    assert len(one.app.asked) == 2 * before


async def test_what_the_memorys_own_tools_said_is_not_recorded(entered: Make) -> None:
    one = await entered(ReMeTaskLongTermMemory, {"answer": ""})
    uses = [{"type": "tool_use", "id": "1", "name": "retrieve_from_memory", "input": {"keywords": ["a"]}}]
    results = [{"type": "tool_result", "id": "1", "name": "retrieve_from_memory", "output": "Keyword 'a':\nsecret"}]
    await one.record([Msg("Friday", uses, "assistant"), Msg("system", results, "system"), user("Hello")])
    assert "secret" not in str(one.app.asked)
    assert one.app.asked[0][1]["trajectories"][0]["messages"] == [{"role": "user", "content": "Hello"}]
