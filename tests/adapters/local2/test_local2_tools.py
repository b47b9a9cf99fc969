"""The tools: what a model is told of them, and every text they answer with."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clocks import MovedClock
from memorist.adapters.local2 import (
    DUAL_MODE_TOOLS,
    TOOLS,
    MemoryRecallTool,
    MemorySaveTool,
    MemoryService,
    MemoryTool,
    RecallTopicTool,
    SaveMemoryTool,
    SaveTopicTool,
    SearchMemoryTool,
)
from memorist.adapters.local2.layout import without_quoted
from memorist.config import Settings
from memorist.sync import Memory

pytestmark = pytest.mark.anyio

PARIS = "Q: What is the capital of France?\nA: Paris."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    settings = Settings(clock=lambda: datetime(2026, 6, 1, 12, tzinfo=UTC))
    with Memory.open(tmp_path / "local2.db", embedder="hash", settings=settings) as memory:
        yield memory


@pytest.fixture
def service(memory: Memory) -> MemoryService:
    return MemoryService(memory=memory)


# --- schemas -------------------------------------------------------------------------------------------


def test_the_dual_mode_tools_have_the_schemas_of_the_document() -> None:
    assert MemoryRecallTool.SCHEMA == {
        "type": "function",
        "function": {
            "name": "memory_recall",
            "description": (
                "Retrieve from memory. Two modes: "
                "(1) topic lookup — pass topic key to retrieve a stored preference, "
                "constraint, or project fact (e.g. topic='user.language_preference'); "
                "(2) similarity search — pass query string to search prior Q&A history "
                "for relevant past context. Use topic lookup when you know the key; "
                "use query search when looking for prior conversation context."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "topic": {
                        "type": "string",
                        "description": "Topic key for exact lookup (e.g. 'user.name', 'project.deadline').",
                    },
                    "query": {
                        "type": "string",
                        "description": "Free-text query for similarity search over past Q&A history.",
                    },
                },
            },
        },
    }
    assert MemorySaveTool.SCHEMA == {
        "type": "function",
        "function": {
            "name": "memory_save",
            "description": (
                "Save a preference, constraint, or project fact to memory under a "
                "topic key for exact retrieval later. Use topic prefixes: "
                "user.* for user preferences and personal facts, "
                "project.* for project decisions and metadata, "
                "constraint.* for things to avoid or enforce. "
                "Example: memory_save(topic='user.name', content='Richard'). "
                "Overwrites any previous value for the same topic key."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "topic": {"type": "string", "description": "Topic key (e.g. 'user.name', 'project.deadline')."},
                    "content": {"type": "string", "description": "The value to store."},
                },
                "required": ["topic", "content"],
            },
        },
    }


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [
        (SaveTopicTool, "save_topic", ["topic", "content"]),
        (RecallTopicTool, "recall_topic", ["topic"]),
        (SaveMemoryTool, "save_memory", ["content"]),
        (SearchMemoryTool, "search_memory", ["query"]),
    ],
)
def test_the_four_tools_have_one_purpose_and_need_all_their_arguments(
    tool: type[MemoryTool], name: str, arguments: list[str]
) -> None:
    function = tool.SCHEMA["function"]
    assert function["name"] == tool.name == name
    assert function["description"].startswith("Call this ")
    assert list(function["parameters"]["properties"]) == function["parameters"]["required"] == arguments
    assert all(each["type"] == "string" for each in function["parameters"]["properties"].values())


def test_the_four_replace_the_two() -> None:
    assert [tool.name for tool in TOOLS] == ["save_topic", "recall_topic", "save_memory", "search_memory"]
    assert [tool.name for tool in DUAL_MODE_TOOLS] == ["memory_recall", "memory_save"]


# --- topics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("save", [SaveTopicTool, MemorySaveTool])
@pytest.mark.parametrize("recall", [RecallTopicTool, MemoryRecallTool])
async def test_a_saved_topic_is_recalled(
    service: MemoryService, save: type[MemoryTool], recall: type[MemoryTool]
) -> None:
    saved = await save(service).call({"topic": "user.language_preference", "content": "Elixir"})
    assert saved == "Memory saved: user.language_preference"
    recalled = await recall(service).call({"topic": "user.language_preference"})
    assert recalled == "[Memory: user.language_preference]\nElixir"


@pytest.mark.parametrize("recall", [RecallTopicTool, MemoryRecallTool])
async def test_nothing_found_is_said_also_for_a_topic(service: MemoryService, recall: type[MemoryTool]) -> None:
    assert await recall(service).call({"topic": "user.shoe_size"}) == "No memories found."


@pytest.mark.parametrize("save", [SaveTopicTool, MemorySaveTool])
async def test_a_key_that_starts_with_no_prefix_is_refused_in_words(
    service: MemoryService, save: type[MemoryTool]
) -> None:
    for topic in ("language", "", "user."):
        text = await save(service).call({"topic": topic, "content": "Elixir"})
        assert "start with user., project. or constraint." in text
        assert service.recall_topic(topic) is None


# --- the older recall ----------------------------------------------------------------------------------


async def test_a_topic_wins_over_a_query(service: MemoryService) -> None:
    service.write_topic("user.name", "Richard")
    service.write_episodic(PARIS)
    text = await MemoryRecallTool(service).call({"topic": "user.name", "query": "capital of France"})
    assert text == "[Memory: user.name]\nRichard"


async def test_a_blank_argument_counts_as_missing(service: MemoryService) -> None:
    service.write_episodic(PARIS)
    recall = MemoryRecallTool(service)
    assert "Paris" in await recall.call({"topic": " ", "query": "capital of France"})
    assert "Paris" in await recall.call({"topic": None, "query": "capital of France"})


@pytest.mark.parametrize("args", [{}, None, "", {"topic": ""}, {"query": "  "}, {"topic": "", "query": ""}])
async def test_neither_of_the_two_is_a_text_that_says_what_to_pass(service: MemoryService, args: object) -> None:
    text = await MemoryRecallTool(service).call(args)  # type: ignore[arg-type]
    assert text.startswith("Pass topic") and "query" in text


# --- episodes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [SearchMemoryTool, MemoryRecallTool])
async def test_episodes_are_laid_out_with_their_relevance_and_day(
    service: MemoryService, search: type[MemoryTool]
) -> None:
    service.write_episodic(PARIS, {"timestamp_utc": "2026-05-30T08:00:00+00:00"})
    score = service.search_episodic("What is the capital of France?")[0]["score"]
    assert await search(service).call({"query": "What is the capital of France?"}) == (
        "[Memory recall — 2026-06-01]\n"
        "\n"
        f"1. (relevance: {score:.2f}) 2026-05-30\n"
        "   Q: What is the capital of France?\n"
        "   A: Paris."
    )


async def test_the_day_is_by_the_memorys_clock(tmp_path: Path, clock: MovedClock) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hash", settings=Settings(clock=clock)) as memory:
        service = MemoryService(memory=memory)
        clock.advance(40 * 86_400)
        await SaveMemoryTool(service).call({"content": "The capital of France is Paris"})
        found = await SearchMemoryTool(service).call({"query": "the capital of France"})
        assert found.startswith(f"[Memory recall — {clock():%Y-%m-%d}]")
        assert f"{clock():%Y-%m-%d}\n   The capital" in found


async def test_more_lines_of_an_answer_stand_under_it(service: MemoryService) -> None:
    service.write_episodic(
        "Q: How do I\nboil an egg?\nA: Like so:\n\n1. Boil water.\nA: is not a label here.\nQ: nor is this.",
        {"timestamp_utc": "2026-05-30T08:00:00Z"},
    )
    text = await SearchMemoryTool(service).call(
        {"query": "How do I boil an egg? Like so: Boil water. is not a label here"}
    )
    assert text.split("\n", 3)[3] == (
        "   Q: How do I\n"
        "      boil an egg?\n"
        "   A: Like so:\n"
        "\n"
        "      1. Boil water.\n"
        "      A: is not a label here.\n"
        "      Q: nor is this."
    )


async def test_several_episodes_are_numbered_best_first(service: MemoryService) -> None:
    service.write_episodic("capital of France, and of Spain too", {"timestamp_utc": "2026-05-29T08:00:00Z"})
    service.write_episodic("capital of France", {"timestamp_utc": "2026-05-28T08:00:00Z"})
    text = await SearchMemoryTool(service).call({"query": "capital of France"})
    header, first, second = text.split("\n\n")
    assert header == "[Memory recall — 2026-06-01]"
    assert first == "1. (relevance: 1.00) 2026-05-28\n   capital of France"
    assert second.startswith("2. (relevance: 0.") and second.endswith(
        "2026-05-29\n   capital of France, and of Spain too"
    )


@pytest.mark.parametrize("search", [SearchMemoryTool, MemoryRecallTool])
async def test_a_search_in_a_cold_memory_says_so(service: MemoryService, search: type[MemoryTool]) -> None:
    assert await search(service).call({"query": "capital of France"}) == "No memories found."


async def test_what_is_noted_is_found_and_has_a_day(service: MemoryService) -> None:
    assert await SaveMemoryTool(service).call({"content": "The staging server moved to Oslo"}) == "Memory saved."
    text = await SearchMemoryTool(service).call({"query": "where did the staging server move"})
    assert text.endswith("2026-06-01\n   The staging server moved to Oslo")


# --- what goes wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args", "said"),
    [
        (SaveTopicTool, {"topic": "user.name"}, "needs the argument content"),
        (SaveTopicTool, {"topic": "user.name", "content": ["a"]}, "content must be a string"),
        (SaveTopicTool, {"topic": "user.name", "content": " "}, "content must not be blank"),
        (RecallTopicTool, {"topic": ""}, "Pass topic"),
        (SaveMemoryTool, {"content": ""}, "content must not be blank"),
        (SearchMemoryTool, {"query": " "}, "Pass query"),
        (SearchMemoryTool, {"question": "who?"}, "ignored: question"),
        (SearchMemoryTool, "{", "not JSON"),
        (SearchMemoryTool, [1], "must be an object"),
    ],
)
async def test_a_bad_call_is_answered_with_a_text(
    service: MemoryService, tool: type[MemoryTool], args: object, said: str
) -> None:
    assert said in await tool(service).call(args)  # type: ignore[arg-type]


@pytest.mark.parametrize("tool", [*TOOLS, *DUAL_MODE_TOOLS])
async def test_a_store_that_fails_is_answered_with_a_text(
    memory: Memory, service: MemoryService, tool: type[MemoryTool]
) -> None:
    memory.close()
    args = dict.fromkeys(tool.SCHEMA["function"]["parameters"]["properties"], "user.name")
    text = await tool(service).call(args)
    assert text.startswith(f"{tool.name} failed: the memory is not open")


async def test_arguments_may_come_as_the_text_of_an_object(service: MemoryService) -> None:
    text = await SaveTopicTool(service).call('{"topic": "user.name", "content": "Richard"}')
    assert text == "Memory saved: user.name"


async def test_a_call_that_names_another_user_reads_nothing_of_theirs(tmp_path: Path) -> None:
    settings = {"store": str(tmp_path / "m.db"), "embedding_model": "hash"}
    with MemoryService(settings, user="bob") as bobs:
        bobs.write_topic("user.secret", "plans")
    with MemoryService(settings, user="ada") as adas:
        text = await RecallTopicTool(adas).call({"topic": "user.secret", "user_id": "bob"})
    assert text == "No memories found.\n\n(Not understood, and ignored: user_id.)"


# --- what small models add -----------------------------------------------------------------------------


async def test_an_argument_that_a_model_adds_is_named_and_the_call_is_done(service: MemoryService) -> None:
    saved = await SaveTopicTool(service).call(
        {"topic": "user.name", "content": "Richard", "note": "he said so", "user_id": "eve"}
    )
    assert saved == "Memory saved: user.name\n\n(Not understood, and ignored: note, user_id.)"
    assert service.recall_topic("user.name") == "Richard"
    found = await RecallTopicTool(service).call('{"topic": "user.name", "reason": "asked"}')
    assert found == "[Memory: user.name]\nRichard\n\n(Not understood, and ignored: reason.)"
    missing = await SaveTopicTool(service).call({"topic": "user.name", "value": "Rich"})
    assert missing.startswith("save_topic failed: ") and "content" in missing and "ignored: value" in missing
    assert service.recall_topic("user.name") == "Richard"


# --- what an answer quotes -----------------------------------------------------------------------------


def without(text: str, **topics: str) -> str:
    return without_quoted(text, lambda topic: topics.get(topic.replace(".", "_")))


async def test_recalled_memories_are_taken_out_of_a_text_that_quotes_them(service: MemoryService) -> None:
    service.write_episodic("Q: Capital of France?\nA: Paris.\n\nIt lies on the Seine.", {"timestamp_utc": "2026-05-30"})
    service.write_episodic("Q: Capital of Spain?\nA: Madrid.")
    block = await SearchMemoryTool(service).call({"query": "Capital of France? Paris. Capital of Spain? Madrid."})
    assert block.count("(relevance: ") == 2
    assert without(f"I found this:\n\n{block}\n\nSo it is Paris.") == "I found this:\n\nSo it is Paris."
    assert without(block) == ""
    quoted = "\n".join(f"> {line}" for line in block.splitlines())
    assert "Seine" not in without(f"{quoted}\n\nSo it is Paris.") and "So it is Paris." in without(
        f"{quoted}\n\nSo it is Paris."
    )


def test_a_quoted_topic_goes_with_its_value() -> None:
    topic = "[Memory: user.bio]\nLikes tea\nand jazz"
    assert without(f"{topic}\nThat is all I know.", user_bio="Likes tea\nand jazz") == "That is all I know."
    assert without("[Memory: user.name]\nRichard\nHello!") == "Hello!"
    assert without("[Memory: user.name]\nRichard") == ""
    assert without("I recall: [Memory: user.name]\nRichard\nHello!") == "I recall: \nHello!"
    assert without("I recall **[Memory: user.name] Richard**, hello!", user_name="Richard") == "I recall ****, hello!"
    assert without("I recall: [Memory: user.name] Rick\nHello!", user_name="Richard") == "I recall: \nHello!"


async def test_what_was_recalled_is_taken_out_amid_a_line_too(service: MemoryService) -> None:
    service.write_episodic("Q: Capital of France?\nA: Paris.")
    block = await SearchMemoryTool(service).call({"query": "Capital of France? Paris."})
    assert without(f"I recall: {block}\n\nSo it is Paris.") == "I recall: So it is Paris."
    assert without(f"I recall: {' '.join(block.split())}\nSo it is Paris.") == "I recall: So it is Paris."


@pytest.mark.parametrize(
    "text",
    ["Paris.", "1. (relevance: high) is what I would say", "See [Memory: a] in the text", "  indented\n\n", ""],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert without(text) == text
