"""The tools as a model calls them, through the SDK's client."""

import json
import logging
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError

from memorist.memory import Memory
from memorist.serve.auth import Right

pytestmark = pytest.mark.anyio

READING = {
    "get_context",
    "search_memories",
    "recent_memories",
    "get_memory",
    "list_changes",
    "recall_topic",
    "list_topics",
    "search_tool_uses",
}
WRITING = {"add_memory", "update_memory", "delete_memory", "rate_memory", "save_topic", "record_tool_use"}


async def test_every_tool_says_what_it_takes_gives_and_changes(tools: Client) -> None:
    found = {tool.name: tool for tool in (await tools.list_tools()).tools}
    assert set(found) == READING | WRITING
    for name, tool in found.items():
        hints = tool.annotations
        assert hints is not None and tool.title and tool.description and tool.output_schema
        assert hints.read_only_hint is (name in READING)
        assert hints.destructive_hint is (name == "delete_memory")
        assert hints.idempotent_hint is (name not in ("add_memory", "record_tool_use"))
        assert hints.open_world_hint is False
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert all(each["description"] for each in tool.input_schema["properties"].values())


async def test_no_tool_takes_a_user_or_a_tenant(tools: Client) -> None:
    for tool in (await tools.list_tools()).tools:
        assert not {"user", "user_id", "tenant", "scope"} & set(tool.input_schema["properties"])


async def test_a_memory_is_added_found_corrected_rated_and_deleted(tools: Client, value: Any, error: Any) -> None:
    added = await value(tools, "add_memory", content="Prefers homestays when she travels", metadata={"trip": "Oslo"})
    assert added["kind"] == "note" and added["version"] == 1

    [hit] = (await value(tools, "search_memories", query="homestays", limit=1))["hits"]
    assert hit["record"] == added and hit["matched"] == ["homestays"] and 0 < hit["score"] <= 1

    changed = await value(tools, "update_memory", id=added["id"], content="Prefers hotels", verified=True)
    assert changed["content"] == "Prefers hotels" and changed["verified"] and changed["metadata"] == {"trip": "Oslo"}
    rated = await value(tools, "rate_memory", id=added["id"], rating=0.5)
    assert await value(tools, "get_memory", id=added["id"]) == rated and rated["rating"] == 0.5

    assert await value(tools, "delete_memory", id=added["id"]) == {"id": added["id"], "deleted": True}
    assert await value(tools, "delete_memory", id=added["id"]) == {"id": added["id"], "deleted": False}
    assert "there is no record" in await error(tools, "get_memory", id=added["id"])


async def test_the_text_of_an_answer_is_its_structured_content(tools: Client) -> None:
    result = await tools.call_tool("add_memory", {"content": "Ærlig talt 🙂"})
    [content] = result.content
    assert content.type == "text" and json.loads(content.text) == result.structured_content
    assert "Ærlig talt 🙂" in content.text


async def test_a_new_fact_takes_the_place_of_the_old_one(tools: Client, value: Any) -> None:
    oslo = await value(tools, "add_memory", kind="fact", content="Alice lives in Oslo", happened_at="2023-05-01")
    bergen = await value(
        tools, "add_memory", kind="fact", content="Alice lives in Bergen", happened_at="2024-02-01",
        supersedes=oslo["id"],
    )  # fmt: skip
    for as_of, expected in ((None, bergen["id"]), ("2023-12-31", oslo["id"])):
        found = await value(tools, "search_memories", query="where does Alice live?", kind="fact", as_of=as_of)
        assert [hit["record"]["id"] for hit in found["hits"]] == [expected]
    assert (await value(tools, "get_memory", id=oslo["id"]))["superseded_by"] == bergen["id"]


async def test_an_experience_is_found_by_when_to_use_it(tools: Client, value: Any, error: Any) -> None:
    await value(
        tools, "add_memory", kind="experience", content="Qualify every column", when_to_use="ambiguous column name"
    )
    [hit] = (await value(tools, "search_memories", query="ambiguous column", kind=["experience"]))["hits"]
    assert hit["record"]["content"] == "Qualify every column" and hit["record"]["cue"] == "ambiguous column name"
    assert "needs when_to_use" in await error(tools, "add_memory", kind="experience", content="Never mind")


async def test_the_newest_memories_come_first(tools: Client, value: Any) -> None:
    for day in (3, 1, 2):
        await value(tools, "add_memory", content=f"day {day}", happened_at=f"2024-01-0{day}", session="s")
    found = await value(tools, "recent_memories", limit=2, session="s")
    assert [record["content"] for record in found["records"]] == ["day 3", "day 2"]
    found = await value(tools, "recent_memories", until="2024-01-02", kind="note")
    assert [record["content"] for record in found["records"]] == ["day 1"]


async def test_filters_narrow_a_search(tools: Client, value: Any) -> None:
    for nights in (1, 5):
        await value(tools, "add_memory", content=f"a trip of {nights} nights", metadata={"nights": nights})
    found = await value(tools, "search_memories", query="trip", where={"nights": {"$gte": 3}})
    assert [hit["record"]["content"] for hit in found["hits"]] == ["a trip of 5 nights"]


async def test_a_topic_has_one_value_under_its_exact_name(tools: Client, value: Any) -> None:
    first = await value(tools, "save_topic", topic="user.language", value="Elixir")
    again = await value(tools, "save_topic", topic="user.language", value="Gleam", source="chat")
    assert again["id"] == first["id"] and again["version"] == 2
    recalled = await value(tools, "recall_topic", topic="user.language")
    assert recalled["value"] == "Gleam" and recalled["record"]["source"] == "chat"
    assert await value(tools, "recall_topic", topic="User.language") == {"topic": "User.language", "value": None}


async def test_topics_are_listed_page_by_page(tools: Client, value: Any) -> None:
    for name in ("b.2", "a", "b.1", "b.3"):
        await value(tools, "save_topic", topic=name, value=name.upper())
    page = await value(tools, "list_topics", prefix="b.", limit=2)
    assert page["topics"] == {"b.1": "B.1", "b.2": "B.2"}
    page = await value(tools, "list_topics", prefix="b.", limit=2, cursor=page["next"])
    assert page == {"topics": {"b.3": "B.3"}}


async def test_a_tool_use_is_found_by_its_question(tools: Client, value: Any) -> None:
    await value(
        tools, "record_tool_use", tool="search_flights", arguments={"to": "OSL"}, question="flights to Oslo?",
        result=["SK1"], seconds=0.5,
    )  # fmt: skip
    await value(tools, "record_tool_use", tool="weather", arguments={}, question="rain in Oslo?", success=False)
    [hit] = (await value(tools, "search_tool_uses", question="flights to Oslo", success=True))["hits"]
    assert hit["record"]["payload"] == {
        "tool": "search_flights", "arguments": {"to": "OSL"}, "result": ["SK1"], "success": True, "seconds": 0.5,
    }  # fmt: skip
    [hit] = (await value(tools, "search_tool_uses", question="Oslo", tool="weather"))["hits"]
    assert hit["record"]["payload"]["success"] is False


# --- whose memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["user", "user_id", "tenant", "scope", "owner"])
async def test_an_argument_that_names_another_user_is_an_error(
    tools: Client, error: Any, everyone: Memory, name: str
) -> None:
    for tool, given in (("add_memory", {"content": "x"}), ("search_memories", {"query": "x"}), ("list_topics", {})):
        assert f"{tool} takes no argument '{name}'" in await error(tools, tool, **given, **{name: "bob"})
    assert await everyone.count(everyone=True) == 0


async def test_a_context_is_told_within_its_budget(tools: Client, value: Any) -> None:
    added = await value(tools, "add_memory", content="Alice always takes her coffee black")
    told = await value(tools, "get_context", query="how does Alice take her coffee?", tokens=200)
    assert "coffee black" in told["text"] and told["ids"] == [added["id"]] and told["tokens"] <= 200
    again = await value(tools, "get_context", query="how does Alice take her coffee?", known=told["ids"])
    assert again["ids"] == []


async def test_another_users_memory_cannot_be_reached_by_its_id(
    tools: Client, value: Any, error: Any, bob: Memory
) -> None:
    record = await bob.remember("Bob likes tea")
    assert "there is no record" in await error(tools, "get_memory", id=record.id)
    assert record.id in await error(tools, "update_memory", id=record.id, content="Bob likes coffee")
    assert record.id in await error(tools, "rate_memory", id=record.id, rating=-1)
    assert (await value(tools, "delete_memory", id=record.id))["deleted"] is False
    assert await bob.get(record.id) == record


async def test_what_all_users_share_is_seen_only_where_asked_for(tools: Client, value: Any, everyone: Memory) -> None:
    await everyone.remember("The office closes at six")
    assert (await value(tools, "search_memories", query="office"))["hits"] == []
    assert len((await value(tools, "search_memories", query="office", shared=True))["hits"]) == 1


async def test_a_reader_is_offered_and_allowed_only_what_changes_nothing(
    connect: Any, alice: Memory, value: Any, error: Any
) -> None:
    await alice.remember("Alice likes coffee")
    async with connect(alice, Right.READ) as reader:
        assert {tool.name for tool in (await reader.list_tools()).tools} == READING
        assert len((await value(reader, "search_memories", query="coffee"))["hits"]) == 1
        for name in WRITING:
            assert await error(reader, name) == f"{name} needs the right 'write'; this session has only 'read'"
    assert await alice.count() == 1


# --- what goes wrong ---------------------------------------------------------------------------------

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("add_memory", {}, "add_memory needs the argument content"),
    ("add_memory", {"content": "  "}, "must not be blank"),
    ("add_memory", {"content": 5}, "content must be a string, not 5"),
    ("add_memory", {"content": "x", "kind": "topic"}, "kind must be one of 'note', 'fact', 'experience'"),
    ("add_memory", {"content": "x", "metadata": "y"}, "metadata must be an object"),
    ("add_memory", {"content": "x", "happened_at": "May 2023"}, "is not a point in time"),
    ("add_memory", {"content": "x", "when_to_use": "y"}, "goes with the kind 'experience'"),
    ("add_memory", {"content": "x", "supersedes": "y"}, "goes with the kind 'fact'"),
    ("add_memory", {"content": "x", "kind": "fact", "supersedes": "y"}, "there is no fact 'y'"),
    ("add_memory", {"content": "x", "colour": "red"}, "add_memory takes no argument 'colour'"),
    ("search_memories", {"query": "x", "limit": "many"}, "limit must be a whole number"),
    ("search_memories", {"query": "x", "limit": 10_001}, "500 at most in a tool"),
    ("search_memories", {"query": "x", "kind": "dream"}, "kind must be one of"),
    ("search_memories", {"query": "x", "where": {"a": {"$near": 1}}}, "$near"),
    ("search_memories", {"query": "x", "since": "yesterday-ish"}, "is not a point in time"),
    ("get_memory", {"id": "none"}, "there is no record 'none' in this scope"),
    ("update_memory", {"id": "none"}, "name a field to revise"),
    ("update_memory", {"id": "none", "cue": None, "source": None}, "name a field to revise"),
    ("update_memory", {"id": "none", "cue": "x", "clear": ["cue"]}, "pass only one of the two"),
    ("update_memory", {"id": "none", "clear": ["cue"]}, "there is no record"),
    ("update_memory", {"id": "none", "content": "x"}, "there is no record 'none' in this scope"),
    ("rate_memory", {"id": "none", "rating": 1}, "there is no record 'none' in this scope"),
    ("rate_memory", {"id": "none"}, "rate_memory needs the argument rating"),
    ("save_topic", {"topic": " ", "value": "x"}, "topic must not be blank"),
    ("save_topic", {"topic": "a\0b", "value": "x"}, "NUL"),
    ("recall_topic", {"topic": ""}, "topic must not be blank"),
    ("list_topics", {"cursor": "nonsense"}, "cursor"),
    ("record_tool_use", {"tool": "t", "arguments": [1]}, "arguments must be an object"),
    ("record_tool_use", {"tool": "", "arguments": {}}, "tool must not be blank"),
    ("search_tool_uses", {"question": ["x"]}, "question must be a string"),
]


@pytest.mark.parametrize(("tool", "arguments", "text"), WRONG, ids=lambda each: str(each)[:40])
async def test_a_wrong_call_is_told_in_one_sentence_and_changes_nothing(
    tools: Client, error: Any, everyone: Memory, tool: str, arguments: dict[str, Any], text: str
) -> None:
    said = await error(tools, tool, **arguments)
    assert text in said and "Traceback" not in said and "\n" not in said
    assert await everyone.count(everyone=True) == 0


async def test_a_rating_out_of_range_is_refused(tools: Client, value: Any, error: Any) -> None:
    added = await value(tools, "add_memory", content="x")
    assert "rating must be a number from -1 to 1" in await error(tools, "rate_memory", id=added["id"], rating=2)
    assert await value(tools, "get_memory", id=added["id"]) == added


async def test_a_tool_that_is_not_there_is_an_error_that_lists_those_that_are(tools: Client) -> None:
    with pytest.raises(MCPError, match="there is no tool 'purge'; available: add_memory, ") as refused:
        await tools.call_tool("purge", {})
    assert refused.value.code == -32602


async def test_what_models_write_for_a_number_is_understood(tools: Client, value: Any) -> None:
    await value(tools, "add_memory", content="x", source=None)
    assert len((await value(tools, "recent_memories", limit="1"))["records"]) == 1


async def test_nothing_internal_is_told_or_logged(
    tools: Client, error: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = "Alice's secret in /srv/data"

    async def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(Memory, "ask", broken)
    with caplog.at_level(logging.DEBUG, logger="memorist"):
        assert await error(tools, "search_memories", query="x") == "the server failed; see its log"
    assert "RuntimeError" in caplog.text and "in broken" in caplog.text and "secret" not in caplog.text


async def test_a_memory_that_was_closed_says_so(tools: Client, error: Any, alice: Memory) -> None:
    await alice.close()
    assert "not open" in await error(tools, "recent_memories")
    with pytest.raises(MCPError, match="not open"):
        await tools.read_resource("memory://profile")


async def test_a_long_text_is_shown_in_parts_that_make_up_the_whole(tools: Client, alice: Memory, value: Any) -> None:
    text, metadata = " ".join(map(str, range(5_000))), {"list": list(range(3_000))}
    record = await alice.remember(text, metadata=metadata)
    [hit] = (await value(tools, "search_memories", query="4999"))["hits"]
    assert len(json.dumps(hit)) < 10_000
    assert hit["record"]["cut"]["content"] == {"from": 0, "to": 4_000, "of": len(text)}
    for field, whole in (("content", text), ("metadata", json.dumps(metadata))):
        read, at = "", 0
        while at < len(whole):
            part = await value(tools, "get_memory", id=record.id, field=field, offset=at)
            read += part["content"] if field == "content" else part["metadata"]["excerpt"]
            assert part["cut"][field]["from"] == at < part["cut"][field]["to"]
            at = part["cut"][field]["to"]
        assert read == whole


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_memories", {"query": "tea", "limit": 400}), ("recent_memories", {"limit": 400}),
        ("list_topics", {"limit": 400}), ("get_context", {"query": "tea", "tokens": 25_000}),
    ],
)  # fmt: skip
async def test_what_a_tool_returns_is_bounded(
    tools: Client, alice: Memory, value: Any, tool: str, arguments: dict[str, Any]
) -> None:
    await alice.remember([f"{number} tea {'x' * 5_000}" for number in range(200)])
    for number in range(200):
        await alice.topics.set(f"t{number}", "y" * 5_000)
    assert 1 < len(json.dumps(await value(tools, tool, **arguments))) < 300_000


async def test_a_topic_is_marked_where_it_is_cut(tools: Client, alice: Memory, value: Any) -> None:
    await alice.topics.set("long", "y" * 5_000)
    listed = await value(tools, "list_topics")
    assert listed["topics"]["long"].endswith("y… [4,000 of 5,000 characters]")
    told = await value(tools, "recall_topic", topic="long")
    assert told["value"] == "y" * 4_000 and told["record"]["cut"]["content"]["of"] == 5_000
