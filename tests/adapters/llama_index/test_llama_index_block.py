"""A block in LlamaIndex's own Memory, and an agent of its with a mock model."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ImageBlock, MockLLM
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.memory import Memory as ChatMemory
from sqlalchemy.ext.asyncio import create_async_engine

from memorist import Memory
from memorist.adapters.llama_index import MemoristMemoryBlock
from memorist.context.budget import LEAST_TOKENS
from memorist.errors import InvalidInputError

pytestmark = pytest.mark.anyio


STAYS = [
    f"In {city} the homestay with the {thing} was the best of all"
    for city, thing in zip(
        "Bergen Oslo Rome Paris Lima Quito Cairo Delhi Kyoto Seoul Hanoi Perth".split(),
        "garden stove piano cat view sauna library roof bakery pond terrace orchard".split(),
        strict=True,
    )
]


def words(text: str) -> Sequence[Any]:
    return text.split()


def message(text: str, role: str = "user") -> ChatMessage:
    return ChatMessage(role=role, content=text)


Chat = Callable[..., ChatMemory]


@pytest.fixture
async def chat_with(tmp_path: Path) -> AsyncIterator[Chat]:
    """Return a function that makes a chat memory of LlamaIndex's with one block."""
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/chats.db")

    def made(block: MemoristMemoryBlock, session: str = "monday", **given: Any) -> ChatMemory:
        given = {"token_limit": 400, "token_flush_size": 10, "chat_history_token_ratio": 0.1, **given}
        return ChatMemory.from_defaults(
            session_id=session, memory_blocks=[block], tokenizer_fn=words, async_engine=engine, **given
        )

    yield made
    await engine.dispose()


@pytest.fixture
def block(alice: Memory) -> MemoristMemoryBlock:
    return MemoristMemoryBlock(memory=alice, tokenizer_fn=words, options={"min_confidence": 0})


async def test_what_leaves_the_short_term_memory_is_kept_once_and_told(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    assert isinstance(block, BaseMemoryBlock)
    chat = chat_with(block)
    said = [message("I prefer homestays when I travel"), message("Noted.", "assistant")]
    said += [message(f"word {n} " * 20, "user" if n % 2 == 0 else "assistant") for n in range(6)]
    for each in said:
        await chat.aput(each)
    kept = [(each.role, each.content) for each in await alice.conversation("monday").window()]
    assert kept[:2] == [("user", "I prefer homestays when I travel"), ("assistant", "Noted.")]
    assert len(kept) < len(said)
    await block.aput(said[:2], session_id="monday")
    assert len(await alice.conversation("monday").window()) == len(kept)
    other = chat_with(block, "tuesday")
    await other.aput(message("Which homestays do I prefer?"))
    system, *rest = await other.aget()
    assert system.role.value == "system"
    assert "I prefer homestays when I travel" in str(system.content)
    assert [each.content for each in rest] == ["Which homestays do I prefer?"]


async def test_it_is_told_in_the_users_message_where_that_is_asked_for(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    await alice.remember("Prefers homestays")
    chat = chat_with(block, insert_method="user")
    await chat.aput(message("Which homestays?"))
    [told] = await chat.aget()
    assert "Prefers homestays" in str(told.content)
    assert str(told.content).endswith("Which homestays?")


async def test_a_block_that_is_too_long_is_told_in_fewer_tokens(alice: Memory, block: MemoristMemoryBlock) -> None:
    await alice.remember(STAYS)
    whole = await block.aget([message("How many homestays in Bergen or elsewhere were the best of all?")])
    part = len(words(whole)) // 3
    shorter = await block.atruncate(whole, part)
    assert shorter is not None
    assert len(words(shorter)) <= len(words(whole)) - part
    assert "Bergen" in shorter
    shortest = await block.atruncate(shorter, 4)
    assert shortest is not None
    assert len(words(shortest)) <= len(words(shorter)) - 4
    for left in (3, LEAST_TOKENS - 1):
        assert await block.atruncate(shorter, len(words(shorter)) - left) is None
    assert await block.atruncate("something else", 1) is None


async def test_a_token_limit_shortens_the_block_and_leaves_the_question(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    await alice.remember(STAYS)
    question = "How many homestays in Bergen or elsewhere were the best of all?"
    whole = await block.aget([message(question)])
    limit = len(words(whole)) * 3 // 4
    chat = chat_with(block, token_limit=limit)
    await chat.aput(message(question))
    messages = await chat.aget()
    assert messages[-1].content == question
    assert "Bergen" in str(messages[0].content)
    assert len(words(str(messages[0].content))) < len(words(whole))


async def test_nothing_known_is_nothing_told(block: MemoristMemoryBlock, chat_with: Chat) -> None:
    chat = chat_with(block)
    await chat.aput(message("Which homestays?"))
    assert [each.content for each in await chat.aget() if each.role.value == "user"] == ["Which homestays?"]
    assert await block.aget([]) == ""


async def test_users_are_apart(alice: Memory, bob: Memory) -> None:
    await alice.remember("Prefers homestays")
    told = MemoristMemoryBlock(memory=bob, tokenizer_fn=words, options={"min_confidence": 0})
    assert await told.aget([message("Which homestays?")]) == ""


async def test_without_a_session_nothing_can_be_kept(alice: Memory, block: MemoristMemoryBlock) -> None:
    with pytest.raises(InvalidInputError):
        await block.aput([message("I prefer homestays")])
    labelled = MemoristMemoryBlock(memory=alice.scoped(session="monday"), tokenizer_fn=words)
    await labelled.aput([message("I prefer homestays")])
    assert await alice.count(session="monday") == 1


async def test_a_chat_engine_with_a_mock_model_is_told(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    await alice.remember("Prefers homestays")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=chat_with(block))
    answer = await engine.achat("Which homestays?")
    assert "Prefers homestays" in str(answer)  # the mock repeats its prompt


async def test_a_block_can_be_shown_without_its_memory(block: MemoristMemoryBlock) -> None:
    assert set(block.model_dump()) == {
        "name", "description", "priority", "accept_short_term_memory", "tokens", "options", "keep",
    }  # fmt: skip


async def test_a_long_first_message_of_a_new_user_is_answered(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    chat = chat_with(block)
    await chat.aput(message("word " * 900))
    assert [each.content for each in await chat.aget()] == ["word " * 900]


async def test_a_short_talk_is_kept_as_it_is_read_and_each_message_once(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    chat = chat_with(block, token_limit=60)
    said: list[str] = []
    for number in range(6):
        for role, text in (("user", f"question {number} of six"), ("tool", f"found {number}"), ("assistant", "Noted.")):
            said.append(text)
            await chat.aput(message(text, role))
        await chat.aget()
        kept = [each.content for each in await alice.conversation("monday").all()]
        assert kept == said


async def test_a_picture_has_its_place_in_what_is_kept(
    alice: Memory, block: MemoristMemoryBlock, chat_with: Chat
) -> None:
    chat = chat_with(block)
    await chat.aput(ChatMessage(role="user", blocks=[ImageBlock(url="https://example.com/a.png")]))
    await chat.aput(message("A cat.", "assistant"))
    await chat.aget()
    assert [each.content for each in await alice.conversation("monday").all()] == ["[image]", "A cat."]
