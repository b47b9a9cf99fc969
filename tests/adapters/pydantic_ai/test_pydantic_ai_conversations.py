"""Pydantic AI's conversations on our store and on its own beside it."""

import asyncio
from functools import partial
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.conversation_store")

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore, InMemoryConversationStore
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import BinaryContent, ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel

from memorist import Memory
from memorist.adapters.pydantic_ai import MemoristConversationStore
from memorist.records.record import Kind

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["ours", "theirs"])
def store(request: pytest.FixtureRequest, everyone: Memory) -> ConversationStore:
    """Our store, and Pydantic AI's own, which must do the same."""
    return MemoristConversationStore(everyone) if request.param == "ours" else InMemoryConversationStore()


def agent(answer: str = "ok") -> Agent[None, str]:
    return Agent(TestModel(custom_output_text=answer))


async def talk(store: ConversationStore, id: str, *prompts: Any, **given: Any) -> Conversation:
    conversation = await store.load(id) or Conversation(conversation_id=id)
    for prompt in prompts:
        result = await agent(f"to {prompt}").run(prompt, conversation=conversation)
        await store.save(result, **given)
        conversation = result.conversation
    return conversation


plain = partial(ModelMessagesTypeAdapter.dump_python, mode="json")


def texts(conversation: Conversation | None) -> list[Any]:
    assert conversation is not None
    return [part.content for message in conversation.messages for part in message.parts]  # type: ignore[union-attr, unused-ignore]


async def test_a_conversation_goes_on_where_it_was(store: ConversationStore) -> None:
    assert await store.load("monday") is None
    await talk(store, "monday", "one", "two")
    await talk(store, "monday", "three")
    loaded = await store.load("monday")
    assert texts(loaded) == ["one", "to one", "two", "to two", "three", "to three"]
    assert loaded is not None
    assert loaded.usage.requests == 3
    assert texts(await store.load("monday", limit=2)) == ["three", "to three"]
    entries = await store.load_entries("monday")
    assert entries is not None
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]


async def test_of_two_who_save_the_same_one_wins(store: ConversationStore) -> None:
    await talk(store, "monday", "one")
    one, two = await store.load("monday"), await store.load("monday")
    first = await agent().run("mine", conversation=one)
    second = await agent().run("yours", conversation=two)
    await store.save(first)
    with pytest.raises(ConversationConflict):
        await store.save(second)
    assert texts(await store.load("monday")) == ["one", "to one", "mine", "ok"]
    with pytest.raises(ConversationConflict):
        await store.save(await agent().run("new", conversation=Conversation(conversation_id="monday")))
    results = [await agent().run(str(n), conversation=await store.load("monday")) for n in range(5)]
    done = await asyncio.gather(*(store.save(each) for each in results), return_exceptions=True)
    assert sum(isinstance(each, ConversationConflict) for each in done) == 4
    entries = await store.load_entries("monday")
    assert entries is not None
    assert len(entries) == 6


async def test_a_deleted_conversation_is_gone_and_cannot_be_saved_over(store: ConversationStore) -> None:
    late = await agent().run("late", conversation=await talk(store, "monday", "one"))
    await store.delete("monday")
    assert await store.load("monday") is None
    with pytest.raises(ConversationConflict):
        await store.save(late)
    await talk(store, "monday", "anew")
    assert texts(await store.load("monday")) == ["anew", "to anew"]


async def test_forks_and_branches_share_what_is_before_them(store: ConversationStore) -> None:
    await talk(store, "monday", "one", "two")
    forked = await store.fork("monday", at=2, new_conversation_id="tuesday")
    assert texts(forked) == ["one", "to one"]
    await talk(store, "tuesday", "other")
    loaded = await store.load("monday")
    assert loaded is not None
    branched = await store.branch("monday", at=2, expected_revision=loaded.revision)
    await store.save(await agent("to 2").run("2", conversation=branched))
    assert texts(await store.load("monday")) == ["one", "to one", "2", "to 2"]
    await store.delete("monday")
    assert texts(await store.load("tuesday")) == ["one", "to one", "other", "to other"]
    await store.delete("tuesday")
    assert await store.list_conversations() == []


async def test_conversations_are_listed_by_scope_the_last_saved_first(store: ConversationStore) -> None:
    await talk(store, "monday", "x", scope="alice")
    await talk(store, "tuesday", "x", scope="alice")
    await talk(store, "wednesday", "x", scope="bob")
    await talk(store, "monday", "y", scope="alice")
    assert [each.conversation_id for each in await store.list_conversations(scope="alice")] == ["monday", "tuesday"]
    assert [each.conversation_id for each in await store.list_conversations(limit=1)] == ["monday"]
    assert await store.load("monday", scope="bob") is None


async def test_images_and_waiting_tool_calls_come_back(store: ConversationStore) -> None:
    asking = Agent(TestModel(), output_type=[str, DeferredToolRequests])

    @asking.tool_plain  # type: ignore[untyped-decorator, unused-ignore]
    def pay(amount: int) -> str:
        raise ApprovalRequired

    picture = BinaryContent(b"\x89PNG\x00\xff", media_type="image/png")
    result = await asking.run(["look", picture], conversation=Conversation(conversation_id="monday"))
    assert isinstance(result.output, DeferredToolRequests)
    await store.save(result)
    loaded = await store.load("monday")
    assert loaded is not None
    assert plain(loaded.messages) == plain(result.all_messages())
    assert loaded.deferred_tool_requests is not None
    assert [call.tool_name for call in loaded.deferred_tool_requests.approvals] == ["pay"]


async def test_a_missing_entry_is_an_error(store: ConversationStore) -> None:
    with pytest.raises(KeyError):
        await store.read_entry("none")


async def test_forgetting_is_real_and_walls_hold(alice: Memory, bob: Memory) -> None:
    store = MemoristConversationStore(alice)
    await talk(store, "monday", "I prefer homestays", "two", "three")
    assert await MemoristConversationStore(bob).load("monday") is None
    assert await alice.recall("homestays") == []
    assert await alice.count(kind=tuple(Kind), session="monday") == 7  # one record and six entries
    assert await alice.count(kind=tuple(Kind), superseded=True) == 7
    await store.delete("monday")
    assert await alice.count(kind=tuple(Kind), superseded=True) == 0


async def test_a_long_history_is_read_whole(alice: Memory) -> None:
    store = MemoristConversationStore(alice)
    conversation = await talk(store, "monday", "one")
    conversation.messages.extend(list(conversation.messages) * 300)
    await store.save(conversation)
    loaded = await store.load("monday")
    assert loaded is not None
    assert loaded.messages == conversation.messages
