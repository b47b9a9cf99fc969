"""The buffer on disk: what it is on top of the one in the process."""

import asyncio
import json
from typing import Any

import pytest

from agentscope_script import Script
from memorist.adapters.agentscope import DurableMemory, Msg
from memorist.errors import InvalidInputError
from memorist.memory import Memory

pytestmark = pytest.mark.anyio

SUMMARY = {"summary": {"summary": "They counted."}}


@pytest.fixture
def session(memory: Memory) -> Memory:
    return memory.scoped(user="alice", session="monday")


def say(text: str, role: str = "user") -> Msg:
    return Msg("Alice", text, role)


def texts(messages: list[Msg]) -> list[Any]:
    return [message.content for message in messages]


async def test_it_is_there_for_the_next_process_and_no_other_session(memory: Memory, session: Memory) -> None:
    message = say("Hello")
    await DurableMemory(session).add([message, say("Hi", "assistant")])
    again = DurableMemory(memory.scoped(user="alice", session="monday"))
    await again.add(message)
    assert texts(await again.get_memory()) == ["Hello", "Hi"]
    for user, name in (("alice", "tuesday"), ("bob", "monday")):
        assert await DurableMemory(memory.scoped(user=user, session=name)).size() == 0


async def test_the_messages_are_ordinary_records_that_recall_finds(session: Memory) -> None:
    await DurableMemory(session).add([say("The cellar door is green"), say("Noted", "assistant")])
    [hit] = await session.recall("the cellar door", limit=1)
    assert (hit.record.content, hit.record.payload["role"]) == ("The cellar door is green", "user")


async def test_recall_does_not_find_what_was_recalled_before(session: Memory) -> None:
    buffer = DurableMemory(session)
    note = "<long_term_memory>The content below are retrieved from long-term memory: green tea</long_term_memory>"
    results = [{"type": "tool_result", "id": "1", "name": "retrieve_from_memory", "output": "green tea"}]
    messages = [Msg("long_term_memory", note, "user"), Msg("system", results, "system"), say(f"{note} Thanks")]
    await buffer.add(messages)
    assert [each.to_dict() for each in await buffer.get_memory()] == [each.to_dict() for each in messages]
    contents = [record.content for record in (await session.browse(kind="message", order="oldest")).records]
    assert contents == ["(nothing said)", "(nothing said)", "Thanks"]
    assert await session.recall("green tea", mode="lexical") == []


async def test_without_a_budget_nothing_is_summarised(session: Memory) -> None:
    buffer = DurableMemory(session, model=Script())
    await buffer.add([say("word " * 1000) for _ in range(20)])
    assert len(await buffer.get_memory()) == 20


async def test_over_its_budget_the_oldest_messages_are_summarised(session: Memory) -> None:
    script = Script(**SUMMARY)
    buffer = DurableMemory(session, tokens=100, model=script, count_tokens=lambda text: 10)
    await buffer.add([say(f"number {n}") for n in range(10)])
    assert script.steps() == []
    await buffer.add(say("number 10"))
    assert texts(await buffer.get_memory()) == ["They counted.", *(f"number {n}" for n in range(6, 11))]
    assert [each["text"] for each in script.seen[0][1]["messages"]] == [f"number {n}" for n in range(6)]
    assert await buffer.size() == 11
    assert texts(await buffer.get_memory("summarised", prepend_summary=False)) == [f"number {n}" for n in range(6)]

    await buffer.add([say(f"number {n}") for n in range(11, 17)])
    assert script.seen[1][1]["summary"] == "They counted."
    assert texts(await DurableMemory(session).get_memory())[0] == "They counted."


async def test_messages_that_come_at_once_are_each_summarised_once(session: Memory) -> None:
    seen: list[str] = []

    async def model(messages: Any, schema: Any) -> str:
        seen.extend(each["text"] for each in json.loads(messages[-1]["content"])["messages"])
        await session.count()  # the others go on meanwhile
        return json.dumps(SUMMARY["summary"])

    buffer = DurableMemory(session, tokens=40, model=model, count_tokens=lambda text: 10)
    await asyncio.gather(*(buffer.add(say(f"number {n}")) for n in range(12)))
    assert len(seen) == len(set(seen)) == await buffer.size() - len(await buffer.get_memory(prepend_summary=False))


async def test_without_a_model_the_summary_is_made_of_first_sentences(session: Memory) -> None:
    buffer = DurableMemory(session, tokens=20)
    await buffer.add([say("The cellar door is green. It squeaks."), say("I see. " + "x" * 60, "assistant")])
    [summary, last] = await buffer.get_memory()
    assert "The cellar door is green." in summary.content
    assert str(last.content).startswith("I see.")


async def test_a_result_is_never_parted_from_its_call(session: Memory) -> None:
    buffer = DurableMemory(session, tokens=50, model=Script(**SUMMARY), count_tokens=lambda text: 10)
    use = Msg("F", [{"type": "tool_use", "id": "1", "name": "sql", "input": {}}], "assistant")
    result = Msg("system", [{"type": "tool_result", "id": "1", "name": "sql", "output": "1 row"}], "system")
    await buffer.add([say("a"), say("b"), say("c"), use, result, say("d")])
    assert texts(await buffer.get_memory()) == ["They counted.", "d"]


async def test_where_the_model_fails_the_budget_holds_and_nothing_is_lost(session: Memory) -> None:
    buffer = DurableMemory(session, tokens=20, model=Script(summary=TimeoutError("slow")))
    await buffer.add([say("The cellar door is green. It squeaks."), say("I see. " + "x" * 60, "assistant")])
    assert "The cellar door is green." in (await buffer.get_memory())[0].content
    assert await buffer.size() == 2


async def test_a_summary_is_not_recorded_as_if_somebody_had_said_it(session: Memory) -> None:
    from memorist.adapters.agentscope import ReMePersonalLongTermMemory

    buffer = DurableMemory(session, tokens=20)
    await buffer.add([say("I like tea. " + "x" * 60), say("I live in Oslo")])
    async with ReMePersonalLongTermMemory(user_name="alice", memory=session.unlabelled()) as long_term:
        await long_term.record([*await buffer.get_memory()])
    assert [each.content for each in await session.unlabelled().facts.all()] == ["I live in Oslo"]


@pytest.mark.parametrize("tokens", [0, -1, 1.5, True, "100"])
async def test_a_budget_is_a_number_of_tokens(session: Memory, tokens: Any) -> None:
    with pytest.raises(InvalidInputError, match="tokens"):
        DurableMemory(session, tokens=tokens)


async def test_it_needs_a_session(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="session"):
        DurableMemory(memory.scoped(user="alice"))
