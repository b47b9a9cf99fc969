"""The session by itself: the cases that the SDK's own SQLite session is tested with, and ours."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents.memory")

from agents import RunContextWrapper
from agents.extensions.memory import EncryptedSession
from agents.memory import Session, SessionSettings

from memorist import Memory
from memorist.adapters.openai_agents import MemoristSession
from memorist.embedders import Role, Vectors
from memorist.errors import ClosedError, EmbedderUnavailableError, InvalidInputError, ScopeError
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

QUESTION = {"role": "user", "content": "Where do I like to stay?"}
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"who": "me"}', "id": "fc_1"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "homestays"}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "In homestays.", "annotations": []}],
}
ITEMS: list[Any] = [QUESTION, CALL, RESULT, ANSWER]


@pytest.fixture
def session(alice: Memory) -> MemoristSession:
    return MemoristSession("monday", alice)


async def test_items_come_back_as_they_were_given_and_in_order(session: MemoristSession) -> None:
    assert isinstance(session, Session)
    await session.add_items(ITEMS)
    await session.add_items([QUESTION])
    assert await session.get_items() == [*ITEMS, QUESTION]


async def test_half_of_a_character_comes_back_as_it_was_given(session: MemoristSession) -> None:
    call = {"type": "function_call_output", "call_id": "1", "output": "cut \ud83d"}
    cut: list[Any] = [call, {"role": "user", "content": "cut \ud83d"}, {**QUESTION, "id": "\ud83d"}]
    await session.add_items(cut)
    assert await session.get_items() == cut


async def test_a_limit_counts_the_newest_items(session: MemoristSession, alice: Memory) -> None:
    await session.add_items(ITEMS)
    assert await session.get_items(2) == [RESULT, ANSWER]
    assert await session.get_items(0) == []
    assert await session.get_items(-1) == ITEMS
    session.session_settings = MemoristSession("x", alice, session_settings={"limit": 1}).session_settings
    assert session.session_settings == SessionSettings(limit=1)
    assert await session.get_items() == [ANSWER]
    assert await session.get_items(3) == [CALL, RESULT, ANSWER]


async def test_an_empty_session_has_nothing_to_give(session: MemoristSession) -> None:
    await session.add_items([])
    assert await session.get_items() == []
    assert await session.pop_item() is None
    await session.clear_session()


async def test_pop_takes_the_newest_and_clear_the_rest(session: MemoristSession) -> None:
    await session.add_items(ITEMS)
    assert await session.pop_item() == ANSWER
    assert await session.get_items() == ITEMS[:3]
    await session.clear_session()
    assert await session.get_items() == []


async def test_no_item_is_popped_twice(session: MemoristSession) -> None:
    items: list[Any] = [{"role": "user", "content": f"number {number}"} for number in range(8)]
    await session.add_items(items)
    popped = await asyncio.gather(*(session.pop_item() for _ in range(10)))
    found = [item["content"] for item in popped if item is not None]
    assert sorted(found) == [item["content"] for item in items]


async def test_what_is_added_at_once_stays_together(everyone: Memory) -> None:
    sessions = [MemoristSession("one", everyone) for _ in range(4)]
    batches: list[list[Any]] = [[{"role": "user", "content": f"{one}{two}"} for two in range(5)] for one in range(4)]
    await asyncio.gather(*(each.add_items(batch) for each, batch in zip(sessions, batches, strict=True)))
    items = await sessions[0].get_items()
    parts = [items[start : start + 5] for start in range(0, 20, 5)]
    assert sorted(parts, key=lambda part: part[0]["content"]) == batches


@pytest.mark.parametrize("name", ["sé🎉", "'; DROP TABLE records; --", "a/b", "a%b_c"])
async def test_any_name_is_a_session_of_its_own(alice: Memory, name: str) -> None:
    await MemoristSession(name, alice).add_items(ITEMS)
    assert await MemoristSession(name, alice).get_items() == ITEMS
    assert await MemoristSession(name + "x", alice).get_items() == []


async def test_users_have_sessions_of_their_own(alice: Memory, bob: Memory) -> None:
    await MemoristSession("monday", alice).add_items(ITEMS)
    assert await MemoristSession("monday", bob).get_items() == []
    await MemoristSession("monday", bob).clear_session()
    assert await MemoristSession("monday", alice).get_items() == ITEMS


async def test_what_was_said_is_recalled_and_calls_are_not(alice: Memory, session: MemoristSession) -> None:
    await session.add_items(ITEMS)
    found = await alice.recall("homestays stay", limit=10)
    assert {hit.record.content for hit in found} == {"Where do I like to stay?", "In homestays."}
    assert {hit.record.payload["role"] for hit in found} == {"user", "assistant"}
    assert {hit.record.scope.session for hit in found} == {"monday"}


async def test_other_messages_of_the_same_session_are_left_alone(alice: Memory, session: MemoristSession) -> None:
    await alice.conversation("monday").append("Said elsewhere")
    await session.add_items([QUESTION])
    assert await session.get_items() == [QUESTION]
    await session.clear_session()
    assert [message.content for message in await alice.conversation("monday").all()] == ["Said elsewhere"]


async def test_the_user_comes_from_the_runs_context(everyone: Memory) -> None:
    session = MemoristSession("monday", everyone, user=lambda context: context["user"])
    wrapper = RunContextWrapper({"user": "alice"})
    await session.add_items([QUESTION], wrapper=wrapper)
    assert await session.get_items(wrapper=RunContextWrapper({"user": "bob"})) == []
    assert await session.get_items(wrapper=wrapper) == [QUESTION]
    assert await everyone.scoped(user="alice").count(kind=tuple(Kind)) == 1
    other = MemoristSession("monday", everyone.scoped(user="bob"), user=lambda context: context["user"])
    with pytest.raises(ScopeError, match="cannot be rescoped to"):
        await other.get_items(wrapper=wrapper)
    for call in (session.get_items, session.pop_item, session.clear_session, lambda: session.add_items([QUESTION])):
        with pytest.raises(InvalidInputError, match="wrapper"):  # not the user of the call before
            await call()
    assert await session.get_items(wrapper=wrapper) == [QUESTION]
    unknown = MemoristSession("monday", everyone, user=lambda context: context["user"])
    with pytest.raises(InvalidInputError, match="wrapper"):
        await unknown.add_context([], [QUESTION])
    with pytest.raises(InvalidInputError, match="returned no name"):
        await MemoristSession("monday", everyone, user=lambda context: None).add_items([QUESTION], wrapper=wrapper)
    assert await everyone.count(kind=tuple(Kind)) == 0


async def test_an_encrypted_session_stands_on_it(alice: Memory, session: MemoristSession) -> None:
    encrypted = EncryptedSession("monday", session, encryption_key="a secret of thirty-two letters!!")
    await encrypted.add_items(ITEMS)
    assert await encrypted.get_items() == ITEMS
    assert await alice.recall("homestays") == []
    assert await encrypted.pop_item() == ANSWER


async def test_a_cancelled_write_is_whole_or_absent_when_the_caller_hears_of_it(session: MemoristSession) -> None:
    for pause in (0, 0, 1, 2, 3, 5, 8, 13):
        await session.clear_session()
        task = asyncio.create_task(session.add_items(ITEMS))
        for _ in range(pause):
            await asyncio.sleep(0)
        task.cancel()  # which may come too late
        await asyncio.wait({task})
        assert await session.get_items() == (ITEMS if pause else [])


async def test_a_failed_write_leaves_nothing_behind(session: MemoristSession) -> None:
    bad: list[Any] = [QUESTION, {"role": "user", "content": {1, 2}}]
    with pytest.raises(InvalidInputError, match="not JSON"):
        await session.add_items(bad)
    assert await session.get_items() == []
    await session.add_items([QUESTION])
    assert await session.get_items() == [QUESTION]


async def test_a_closed_memory_refuses(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        session = MemoristSession("monday", memory)
    with pytest.raises(ClosedError):
        await session.get_items()
    with pytest.raises(ClosedError):
        await session.add_items(ITEMS)


async def test_what_an_answer_quotes_of_the_context_is_not_found_again(alice: Memory, session: MemoristSession) -> None:
    await alice.remember("I prefer homestays")
    told = (await alice.context("What do I prefer?", min_confidence=0)).text
    answer: Any = {"role": "assistant", "content": f"{told}\nHere you are."}
    await session.add_items([answer, {"role": "assistant", "content": told}])
    assert [record.content for record in await alice.recent(kind="message")] == ["Here you are."]
    assert (await session.get_items())[0] == answer


async def test_what_was_told_is_not_stored_and_a_developers_own_words_are(alice: Memory) -> None:
    await alice.remember("I prefer homestays")
    told = await MemoristSession("monday", alice, min_confidence=0).add_context([], [QUESTION])
    own = {"role": "developer", "content": "Answer briefly."}
    session = MemoristSession("monday", alice)  # of another process, say
    await session.add_items([*told, own])
    assert [told[0]["role"], told[1:]] == ["developer", [QUESTION]]
    assert await session.get_items() == [QUESTION, own]


class Slow(HashEmbedder):
    """Embeds nothing until it may, and is away if it must."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.away = asyncio.Event(), False

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        if role is Role.DOCUMENT:
            await self.may.wait()
            if self.away:
                raise EmbedderUnavailableError("away")
        return await super().embed(texts, role)


async def test_a_session_that_is_brought_along_is_on_disk_before_it_is_embedded(tmp_path: Path) -> None:
    embedder = Slow()
    items = [{"role": "user", "content": f"Number {number} is a violin"} for number in range(100)]
    async with Memory.open(tmp_path / "m.db", user="alice", embedder=embedder) as memory:
        session = MemoristSession("monday", memory)
        await session.add_items(items)
        assert await session.get_items() == items
        assert len(await memory.recall("violin", mode="lexical", limit=200)) == 100
        embedder.may.set()
    async with Memory.open(tmp_path / "m.db", user="alice", embedder=HashEmbedder()) as memory:
        kept = [record.id async for record in memory.iterate()]
        assert len(await memory.vectors(kept)) == 100


async def test_what_an_embedder_that_fails_left_is_embedded_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Slow()
    embedder.may.set()
    embedder.away = True
    items = [{"role": "user", "content": f"Number {number} is a violin"} for number in range(100)]
    async with Memory.open(tmp_path / "m.db", embedder=embedder) as memory:
        await MemoristSession("monday", memory.scoped(user="alice")).add_items(items)
    assert "finds them by words only" in caplog.text
    async with Memory.open(tmp_path / "m.db", embedder=HashEmbedder()) as memory:
        alice = memory.scoped(user="alice")
        assert await MemoristSession("monday", alice).get_items() == items
        assert await memory.admin.reindex(missing=True) == 100
        assert len(await alice.vectors([record.id async for record in alice.iterate()])) == 100
