"""Both providers and the tools in a real agent with a scripted client."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("agent_framework")

from agent_framework import Agent, AgentSession, Content, Message, SessionContext

from agent_framework_client import ScriptedClient
from memorist import Memory
from memorist.adapters.agent_framework import MemoristContextProvider, MemoristHistoryProvider, memory_tools
from memorist.errors import ClosedError, InvalidInputError, StoreUnavailableError
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio

QUESTION = "Where do I prefer to stay when I travel?"


def helper(client: ScriptedClient, *providers: Any, **fields: Any) -> Agent:
    return Agent(client=client, context_providers=list(providers), **fields)


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


async def test_the_next_session_is_told_and_knows_where_from(alice: Memory) -> None:
    provider = MemoristContextProvider(alice, min_confidence=0)
    client = ScriptedClient("Noted.", "In homestays.")
    agent = helper(client, provider)
    await agent.run("I prefer homestays when I travel", session=agent.create_session(session_id="monday"))
    await agent.run(QUESTION, session=agent.create_session(session_id="tuesday"))
    [told] = [each for each in client.inputs[1] if "_attribution" in each.additional_properties]
    assert "I prefer homestays when I travel" in told.text
    attribution = told.additional_properties["_attribution"]
    assert (attribution["source_id"], attribution["origin_session_ids"]) == ("memorist", ["monday"])


async def test_what_was_said_is_kept_once_and_what_was_told_is_not(alice: Memory) -> None:
    provider = MemoristContextProvider(alice, min_confidence=0)
    client = ScriptedClient("Noted.", "In homestays.")
    agent = helper(client, provider)
    session = agent.create_session(session_id="monday")
    await agent.run("I prefer homestays when I travel", session=session)
    await agent.run(QUESTION, session=session)
    kept = await alice.conversation("monday").all()
    assert [(each.role, each.content) for each in kept] == [
        ("user", "I prefer homestays when I travel"),
        ("assistant", "Noted."),
        ("user", QUESTION),
        ("assistant", "In homestays."),
    ]


async def test_a_memory_may_be_read_alone(alice: Memory) -> None:
    await alice.remember("I prefer homestays when I travel")
    client = ScriptedClient("In homestays.")
    agent = helper(client, MemoristContextProvider(alice, keep=False, min_confidence=0))
    await agent.run(QUESTION, session=agent.create_session())
    assert "homestays" in str(texts(client.inputs[0]))
    assert await alice.count(kind=tuple(Kind)) == 1


async def test_nothing_to_tell_adds_nothing(alice: Memory) -> None:
    client = ScriptedClient("Hello.")
    agent = helper(client, MemoristContextProvider(alice))
    await agent.run("Hello", session=agent.create_session())
    assert texts(client.inputs[0]) == ["Hello"]


async def test_the_user_comes_from_the_session(everyone: Memory) -> None:
    provider = MemoristContextProvider(everyone, user=lambda session: session.state["user"], min_confidence=0)
    client = ScriptedClient("Noted.", "I do not know.")
    agent = helper(client, provider)
    for user, text in (("alice", "I prefer homestays when I travel"), ("bob", QUESTION)):
        session = agent.create_session()
        session.state["user"] = user
        await agent.run(text, session=session)
    assert "homestays" not in str(texts(client.inputs[1]))
    assert set(await everyone.admin.users()) == {"alice", "bob"}
    unnamed = helper(ScriptedClient("Noted."), MemoristContextProvider(everyone, user=lambda session: None))
    with pytest.raises(InvalidInputError, match="returned no name"):
        await unnamed.run("I prefer homestays", session=unnamed.create_session())


async def test_a_streamed_run_is_kept(alice: Memory) -> None:
    agent = helper(ScriptedClient("Noted."), MemoristContextProvider(alice))
    stream = agent.run("I prefer homestays", session=agent.create_session(session_id="monday"), stream=True)
    async for _ in stream:
        pass
    await stream.get_final_response()
    assert [each.content for each in await alice.conversation("monday").all()] == ["I prefer homestays", "Noted."]


async def test_a_store_that_fails_leaves_a_run_without_memory(
    alice: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*args: Any, **kwargs: Any) -> None:
        raise StoreUnavailableError("the database is away")

    for verb in ("context", "remember"):
        monkeypatch.setattr(Memory, verb, fail)
    client = ScriptedClient("Hello.")
    agent = helper(client, MemoristContextProvider(alice))
    assert (await agent.run("Hello", session=agent.create_session())).text == "Hello."
    assert texts(client.inputs[0]) == ["Hello"]
    assert caplog.text.count("the database is away") == 2


async def test_an_agent_goes_on_where_it_was(reopen: Callable[..., Memory]) -> None:
    for turn, expected in (("first", []), ("second", ["first", "Answer."])):
        async with reopen(user="alice") as memory:
            client = ScriptedClient("Answer.")
            agent = helper(client, MemoristHistoryProvider(memory))
            await agent.run(turn, session=AgentSession(session_id="monday"))
            assert texts(client.inputs[0]) == [*expected, turn]


async def test_a_history_keeps_messages_whole(alice: Memory) -> None:
    history = MemoristHistoryProvider(alice)
    given = [
        Message("user", ["Hello", Content.from_uri("https://example.com/a.png", media_type="image/png")]),
        Message("assistant", [Content.from_function_call("c1", "look", arguments={"a": [1]})], message_id="m2"),
        Message("tool", [Content.from_function_result("c1", result="nothing")]),
        Message("assistant", [""], author_name="helper", additional_properties={"x": 1}),
    ]
    await history.save_messages("monday", given[:2])
    await history.save_messages("monday", given[2:])
    await history.save_messages("monday", [])
    read = await history.get_messages("monday")
    assert [each.to_dict() for each in read] == [each.to_dict() for each in given]
    assert await history.get_messages("tuesday") == []
    assert texts(await MemoristHistoryProvider(alice, limit=2).get_messages("monday")) == texts(given[2:])
    assert await MemoristHistoryProvider(alice, "audit").get_messages("monday") == []
    assert await alice.recall("hello") == []
    assert await history.clear("monday") == 4
    assert await history.get_messages("monday") == []


async def test_histories_of_users_are_apart(alice: Memory, bob: Memory) -> None:
    await MemoristHistoryProvider(alice).save_messages("monday", [Message("user", ["Hello"])])
    assert await MemoristHistoryProvider(bob).get_messages("monday") == []


async def test_a_history_needs_a_session_and_an_open_memory(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        history = MemoristHistoryProvider(memory)
        with pytest.raises(InvalidInputError, match="session"):
            await history.get_messages(None)
    with pytest.raises(ClosedError):
        await history.get_messages("monday")


async def test_both_providers_go_together(alice: Memory) -> None:
    client = ScriptedClient("Noted.", "In homestays.")
    agent = helper(client, MemoristHistoryProvider(alice), MemoristContextProvider(alice, min_confidence=0))
    session = agent.create_session(session_id="monday")
    await agent.run("I prefer homestays when I travel", session=session)
    await agent.run(QUESTION, session=session)
    assert texts(client.inputs[1]) == ["I prefer homestays when I travel", "Noted.", QUESTION]  # told nothing twice
    history = await MemoristHistoryProvider(alice).get_messages("monday")
    assert texts(history) == ["I prefer homestays when I travel", "Noted.", QUESTION, "In homestays."]
    assert await alice.count(kind="message") == 4


async def test_the_model_saves_and_searches(alice: Memory) -> None:
    client = ScriptedClient(
        ("add_memory", {"content": "Alice prefers homestays"}), ("search_memories", {"query": "homestays"}), "Done."
    )
    agent = helper(client, tools=memory_tools(alice))
    await agent.run("I prefer homestays")
    [note] = await alice.recent()
    assert note.content == "Alice prefers homestays"
    assert note.id in client.inputs[2][-1].contents[0].result
    assert [tool.name for tool in memory_tools(alice, only=["get_context"])] == ["get_context"]


async def test_the_provider_is_called_as_the_framework_calls_it(alice: Memory) -> None:
    provider = MemoristContextProvider(alice)
    session = AgentSession(session_id="monday")
    context = SessionContext(session_id="monday", input_messages=[Message("user", [" "])])
    await provider.before_run(agent=None, session=session, context=context, state={})
    await provider.after_run(agent=None, session=session, context=context, state={})
    assert context.get_messages() == []
    assert await alice.count(kind=tuple(Kind)) == 0
