import asyncio
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.errors import InvalidInputError
from memorist.kinds import ToolStatistics, ToolUse
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def test_a_call_is_found_by_its_question(alice: Memory) -> None:
    arguments = {"to": "OSL", "days": [1, 2], "options": {"direct": True}}
    record = await alice.tools.record("Flights to Oslo?", "search_flights", arguments, "3 flights", seconds=0.8)

    assert record.content == ('search_flights({"to": "OSL", "days": [1, 2], "options": {"direct": true}})\n3 flights')
    assert ToolUse.of(record) == ToolUse(
        tool="search_flights", arguments=arguments, result="3 flights", success=True, seconds=0.8
    )
    assert [hit.record for hit in await alice.tools.search("flights to Oslo tomorrow")] == [record]
    assert await alice.tools.search("OSL", mode="lexical") == []


async def test_without_a_question_the_call_itself_is_found(alice: Memory) -> None:
    record = await alice.tools.record(None, "search_flights", {"to": "OSL"}, {"found": 3})

    assert record.content == 'search_flights({"to": "OSL"})\n{"found": 3}'
    assert [hit.record for hit in await alice.tools.search("OSL", mode="lexical")] == [record]
    assert (await alice.tools.record("q", "ping", {})).content == "ping({})"


async def test_a_search_may_be_narrowed(alice: Memory) -> None:
    good = await alice.tools.record("count the users", "sql", {"q": "a"}, "5", verified=True)
    plain = await alice.tools.record("count the users", "sql", {"q": "b"}, "6")
    failed = await alice.tools.record("count the users", "shell", {"q": "c"}, "error", success=False)

    async def found(**options: Any) -> set[str]:
        return {hit.record.id for hit in await alice.tools.search("count the users", **options)}

    assert await found() == {good.id, plain.id, failed.id}
    assert await found(verified=True) == {good.id}
    assert await found(verified=False) == {plain.id, failed.id}
    assert await found(tool="sql") == {good.id, plain.id}
    assert await found(success=False) == {failed.id}
    assert await found(tool="sql", success=False) == await found(tool="s") == set()
    assert [hit.record for hit in await alice.tools.examples("how many users?")] == [good]
    assert await alice.tools.examples("how many users?", tool="shell", verified=False) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": " "}, {"question": 5}, {"tool": ""}, {"tool": None}, {"arguments": ["a"]}, {"arguments": None},
        {"arguments": {"when": datetime(2024, 1, 1)}}, {"arguments": {"x": math.nan}}, {"arguments": {(1, 2): 3}},
        {"result": {1, 2}}, {"result": math.inf}, {"success": "yes"}, {"success": None},
        {"seconds": "1"}, {"tokens": math.nan}, {"cost": True}, {"score": math.inf},
    ],
)  # fmt: skip
async def test_what_is_no_call_is_refused(alice: Memory, wrong: dict[str, Any]) -> None:
    call: dict[str, Any] = {"question": "q", "tool": "t", "arguments": {}, "result": "r"}
    with pytest.raises(InvalidInputError):
        await alice.tools.record(**{**call, **wrong})
    assert await alice.tools.uses("t") == []


async def test_statistics_count_what_is_stored(alice: Memory, bob: Memory) -> None:
    await alice.tools.record("q", "sql", {}, "r", seconds=1, tokens=100, score=1)
    await alice.tools.record("q", "sql", {}, "r", success=False, seconds=0.5)
    await alice.tools.record("q", "sqlite", {}, "r")
    await bob.tools.record("q", "sql", {}, "r")

    assert await alice.tools.statistics("sql") == ToolStatistics(
        tool="sql", calls=2, successes=1, success_rate=0.5,
        mean_seconds=0.75, mean_tokens=100, mean_cost=None, mean_score=1,
    )  # fmt: skip
    nothing = await alice.tools.statistics("unknown")
    assert (nothing.calls, nothing.success_rate, nothing.mean_seconds) == (0, 0.0, None)


async def test_only_the_newest_calls_are_kept(alice: Memory) -> None:
    for number in range(5):
        await alice.tools.record("q", "sql", {"n": number}, "r")
    await alice.tools.record("q", "shell", {}, "r")

    assert [each.payload["arguments"]["n"] for each in await alice.tools.uses("sql", limit=2)] == [4, 3]
    assert await alice.tools.uses("sql", limit=0) == []
    assert await alice.tools.trim("sql", 3) == 2
    assert await alice.tools.trim("sql", 3) == 0
    assert [each.payload["arguments"]["n"] for each in await alice.tools.uses("sql")] == [4, 3, 2]
    assert await alice.tools.trim("sql", 0) == 3
    assert len(await alice.tools.uses("shell")) == 1
    for keep in (-1, True, 1.5):
        with pytest.raises(InvalidInputError):
            await alice.tools.trim("sql", keep)  # type: ignore[arg-type]


async def test_a_guideline_belongs_to_the_exact_name(everyone: Memory, alice: Memory, bob: Memory) -> None:
    first = await alice.tools.set_guideline("sql", "Select few columns")
    second = await alice.tools.set_guideline("sql", "Name the columns", source="model")
    await everyone.tools.set_guideline("shell", "Quote paths")

    assert second.id == first.id and second.version == 2
    assert await alice.tools.guideline("sql") == "Name the columns"
    assert await alice.tools.guideline("SQL") is await alice.tools.guideline("sq") is None
    assert await bob.tools.guideline("sql") is await bob.tools.guideline("shell") is None
    assert await bob.tools.guideline("shell", shared=True) == "Quote paths"
    assert await alice.recall("name the columns") == []
    assert await alice.topics.get("sql") is None

    assert await bob.tools.delete_guideline("sql") is False
    assert await alice.tools.delete_guideline("sql") is True
    assert await alice.tools.guideline("sql") is None


async def test_a_guideline_holds_in_every_session_but_calls_are_counted_in_theirs(alice: Memory) -> None:
    monday, tuesday = alice.scoped(session="monday"), alice.scoped(session="tuesday")
    await monday.tools.set_guideline("sql", "Name the columns")
    await monday.tools.record("q", "shell", {}, "r")

    assert await tuesday.tools.guideline("sql") == "Name the columns"
    assert await tuesday.tools.tools() == ["sql"]
    assert (await tuesday.tools.statistics("shell")).calls == 0
    assert (await alice.tools.statistics("shell")).calls == 1
    assert await tuesday.tools.delete_guideline("sql") is True


async def test_the_known_tools_are_listed(alice: Memory, bob: Memory) -> None:
    await alice.tools.record("q", "sql", {}, "r")
    await alice.tools.record("q", "sql", {}, "r")
    await alice.tools.set_guideline("shell", "Quote paths")
    await bob.tools.record("q", "secret", {}, "r")

    assert await alice.tools.tools() == ["shell", "sql"]


@pytest.mark.parametrize("wrong", ["", " ", None, 5])
async def test_a_tool_has_a_name(alice: Memory, wrong: Any) -> None:
    tools = alice.tools
    for verb in (tools.guideline, tools.delete_guideline, tools.statistics, tools.uses):
        with pytest.raises(InvalidInputError, match=r"^tool must"):
            await verb(wrong)
    with pytest.raises(InvalidInputError, match=r"^tool must"):
        await tools.set_guideline(wrong, "x")
    with pytest.raises(InvalidInputError, match=r"^guideline must"):
        await tools.set_guideline("sql", wrong)


async def test_get_and_delete_know_tool_uses_alone(alice: Memory, bob: Memory) -> None:
    record = await alice.tools.record("q", "sql", {}, "r")
    guideline = await alice.tools.set_guideline("sql", "x")

    assert await alice.tools.get(record.id) == record
    assert await alice.tools.get(guideline.id) is await bob.tools.get(record.id) is None
    assert (
        await bob.tools.delete(record.id) == await alice.tools.delete(guideline.id) == await alice.tools.delete() == 0
    )
    assert await alice.tools.delete(record.id) == 1


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        record = await memory.tools.record("q", "sql", {"a": None}, None, cost=0.1)
        await memory.tools.set_guideline("sql", "x")
    async with reopen(user="alice") as memory:
        assert await memory.tools.uses("sql") == [record]
        assert await memory.tools.guideline("sql") == "x"


measures = st.none() | st.floats(0, 1e6)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), measures), max_size=12))
def test_statistics_are_exact(calls: list[tuple[str, bool, float | None]]) -> None:
    async def check() -> None:
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            for tool, success, seconds in calls:
                await memory.tools.record("q", tool, {}, "r", success=success, seconds=seconds)
            for name in "ab":
                found = await memory.tools.statistics(name)
                own = [call for call in calls if call[0] == name]
                known = [call[2] for call in own if call[2] is not None]
                assert (found.calls, found.successes) == (len(own), sum(call[1] for call in own))
                assert found.mean_seconds == (math.fsum(known) / len(known) if known else None)

    asyncio.run(check())
