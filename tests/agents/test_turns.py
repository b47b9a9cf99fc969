import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist import Memory, sync
from memorist.agents import after_turn, before_turn, frame
from memorist.agents import sync as blocking
from memorist.errors import InvalidInputError, StoreError
from memorist.kinds import Conversation, Message
from memorist.records.origins import Author
from memorist.testing import HashEmbedder

Talk = list[dict[str, Any]]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "m.db", user="ann", session="s1") as memory:
        yield memory


def talk(*texts: str) -> Talk:
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


async def contents(memory: Memory) -> list[str]:
    return [message.content for message in await memory.conversation().all()]


async def test_what_is_kept_after_a_turn_is_told_before_the_next(memory: Memory) -> None:
    await after_turn(memory, talk("My cat is called Mio.", "A lovely name!"))
    told = await before_turn(memory, [{"role": "user", "content": "What is the name of my cat?"}])
    assert "Mio" in told.text
    assert told.error is None


async def test_what_was_said_in_another_session_is_told(memory: Memory) -> None:
    await after_turn(memory, talk("My cat is called Mio.", "A lovely name!"))
    other = memory.unlabelled().scoped(session="s2")
    assert "Mio" in (await before_turn(other, "What is the name of my cat?")).text
    assert (await before_turn(other, "What is the name of my cat?", session="s2")).text == ""


async def test_a_growing_conversation_is_stored_once(memory: Memory) -> None:
    whole = talk("one", "two", "thanks", "four", "thanks", "six")
    for end in (2, 4, 4, 6, 6):
        await after_turn(memory, whole[:end])
    assert await contents(memory) == ["one", "two", "thanks", "four", "thanks", "six"]


async def test_single_turns_and_a_sliding_window_are_stored_once(memory: Memory) -> None:
    whole = talk("one", "two", "three", "four", "five", "six")
    for start, end in ((0, 2), (2, 4), (2, 4), (1, 6), (4, 6)):
        await after_turn(memory, whole[start:end])
    assert await contents(memory) == ["one", "two", "three", "four", "five", "six"]


async def test_an_answer_in_the_words_of_the_last_one_is_kept(memory: Memory) -> None:
    await after_turn(memory, talk("Turn the light on.", "Understood."))
    await after_turn(memory, talk("And the heating.", "Understood."))
    await after_turn(memory, talk("And the heating.", "Understood."))
    said = ["Turn the light on.", "Understood.", "And the heating.", "Understood."]
    assert await contents(memory) == said


async def test_a_late_repetition_of_a_turn_is_not_stored_again(memory: Memory) -> None:
    whole = talk("one", "two", "three", "four")
    for turn in (whole[:2], whole[2:], whole[:2]):
        await after_turn(memory, turn)
    assert await contents(memory) == ["one", "two", "three", "four"]


async def test_another_answer_to_the_same_question_is_stored_once(memory: Memory) -> None:
    await after_turn(memory, talk("one", "two"))
    for _ in range(2):
        await after_turn(memory, talk("one", "another", "three"))
    assert await contents(memory) == ["one", "two", "another", "three"]


async def test_messages_with_ids_are_known_by_them(memory: Memory) -> None:
    turn: Talk = [{"role": "user", "id": "1", "content": "ok"}, {"role": "assistant", "id": "2", "content": "done"}]
    again: Talk = [{"role": "user", "id": "3", "content": "ok"}, {"role": "assistant", "id": "4", "content": "done"}]
    for each in (turn, again, turn, again):
        await after_turn(memory, each)
    assert await contents(memory) == ["ok", "done", "ok", "done"]


async def test_a_message_that_got_its_id_later_is_stored_once(memory: Memory) -> None:
    await after_turn(memory, talk("one", "two"))
    await after_turn(memory, [{"role": "user", "id": "x", "content": "one"}, {"role": "assistant", "content": "two"}])
    assert await contents(memory) == ["one", "two"]


async def test_calls_at_the_same_time_store_a_turn_once(memory: Memory) -> None:
    await asyncio.gather(*(after_turn(memory, talk("one", "two")) for _ in range(5)))
    assert await contents(memory) == ["one", "two"]


async def test_what_was_recalled_is_never_stored(memory: Memory) -> None:
    recalled = frame(["My cat is called Mio."])
    kept = await after_turn(
        memory,
        [
            {"role": "system", "content": f"Be brief. {recalled}"},
            {"role": "user", "content": f"{recalled}\nIs it grey?"},
            {"role": "assistant", "content": recalled},
            {"role": "tool", "content": "42", "tool_call_id": "c"},
        ],
    )
    assert [record.content for record in kept] == ["Is it grey?"]


async def test_only_new_messages_are_returned(memory: Memory) -> None:
    first = await after_turn(memory, talk("one", "two"))
    assert [record.content for record in first] == ["one", "two"]
    assert [record.content for record in await after_turn(memory, talk("one", "two", "three"))] == ["three"]
    assert await after_turn(memory, talk("one", "two", "three")) == []


async def test_a_turn_of_a_long_conversation_reads_no_more_than_one_of_a_short_one(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = talk(*(f"message {number}" for number in range(300)))
    await after_turn(memory, whole)
    asked: list[int | None] = []
    window = Conversation.window

    async def counted(self: Conversation, count: int | None = None, **options: Any) -> list[Message]:
        asked.append(count)
        return await window(self, count, **options)

    monkeypatch.setattr(Conversation, "window", counted)
    kept = await after_turn(memory, [*whole, *talk("the next question", "the next answer")])
    assert [record.content for record in kept] == ["the next question", "the next answer"]
    assert asked == [2]


async def test_a_conversation_that_another_process_went_on_with_is_stored_once(tmp_path: Path) -> None:
    whole = talk("one", "ok", "three", "ok", "five", "ok", "seven", "ok")
    async with (
        Memory.open(tmp_path / "shared.db", embedder=HashEmbedder(), session="s1") as first,
        Memory.open(tmp_path / "shared.db", embedder=HashEmbedder(), session="s1") as second,
    ):
        for end, each in ((2, first), (4, second), (6, first), (6, second), (8, first)):
            await after_turn(each, whole[:end])
        assert await contents(first) == [each["content"] for each in whole]


async def test_a_thread_that_is_trimmed_or_branches_loses_and_repeats_nothing(memory: Memory) -> None:
    whole = talk("one", "two", "three", "four", "five", "six", "seven", "eight")
    for part in (whole[:4], whole[2:6], whole[4:8]):
        await after_turn(memory, part)
    assert await contents(memory) == [each["content"] for each in whole]
    for branch in (["one", "two", "another", "way"], ["one", "two", "another", "way", "on"]):
        await after_turn(memory, talk(*branch))
    assert (await contents(memory))[8:] == ["another", "way", "on"]


async def test_an_early_message_that_was_edited_is_stored_as_it_reads_now(memory: Memory) -> None:
    whole = talk("one", "two", "three", "four")
    await after_turn(memory, whole)
    await after_turn(memory, [{**whole[0], "content": "one, corrected"}, *whole[1:], *talk("five")])
    assert sorted(await contents(memory)) == sorted(["one", "two", "three", "four", "one, corrected", "five"])


async def test_a_turn_whose_store_failed_is_stored_by_the_next_call(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    await after_turn(memory, talk("one", "two"))
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "remember", fail)
        with pytest.raises(StoreError):
            await after_turn(memory, talk("one", "two", "three", "four"))
    await after_turn(memory, talk("one", "two", "three", "four", "five"))
    assert await contents(memory) == ["one", "two", "three", "four", "five"]


async def test_a_message_that_was_forgotten_does_not_come_back_with_the_next_turn(memory: Memory) -> None:
    [first, *_] = await after_turn(memory, talk("My PIN is 4711.", "I see.", "Hello.", "Hi."))
    await memory.forget(first.id)
    await after_turn(memory, talk("My PIN is 4711.", "I see.", "Hello.", "Hi.", "Bye."))
    assert await contents(memory) == ["I see.", "Hello.", "Hi.", "Bye."]


async def test_after_a_purge_the_whole_conversation_can_be_stored_again(memory: Memory) -> None:
    await after_turn(memory, talk("one", "two"))
    await memory.unlabelled().purge()
    await after_turn(memory, talk("one", "two", "three"))
    assert await contents(memory) == ["one", "two", "three"]


async def test_an_answer_is_no_more_trusted_than_the_tool_whose_result_came_in_an_earlier_call(memory: Memory) -> None:
    asked: Talk = [{"role": "user", "content": "Rain?"}, {"role": "tool", "tool_call_id": "c", "content": "Sun."}]
    await after_turn(memory, asked)
    [kept] = await after_turn(memory, [*asked, {"role": "assistant", "content": "It is sunny."}])
    assert kept.origin.authors == Author.ASSISTANT | Author.TOOL


async def test_a_turn_needs_a_session(memory: Memory) -> None:
    bob = memory.unlabelled()
    with pytest.raises(InvalidInputError, match="session"):
        await after_turn(bob, talk("one"))
    assert [record.scope.session for record in await after_turn(bob, talk("one"), session="s2")] == ["s2"]


async def test_a_short_question_is_asked_with_what_was_said_before(memory: Memory) -> None:
    await memory.notes.add("In May the garden club meets on Mondays")
    await memory.notes.add("The invoice of May is paid")
    said = talk("When does the garden club meet in April?", "On Tuesdays, at the greenhouse.", "And in May?")
    told = await before_turn(memory, said, tokens=40)
    assert "garden club" in told.text


async def test_what_the_conversation_holds_already_is_not_told_again(memory: Memory) -> None:
    await memory.notes.add("My cat is grey")
    said = talk("My cat is called Mio.", "A lovely name for a cat!", "What is the name of my cat?")
    await after_turn(memory, said)
    told = await before_turn(memory, said, min_confidence=0)
    assert [item.text for item in told.items] == ["My cat is grey"]
    assert (await before_turn(memory, said, min_confidence=0, known="my cat is grey")).text == ""
    assert "Mio" in (await before_turn(memory, said[2:], min_confidence=0)).text


async def test_half_a_character_stops_no_turn_and_is_kept_with_a_mark_once(memory: Memory) -> None:
    await memory.notes.add("My cat is called Mio")
    said = talk("broken \ud800", "ok", "What is the name of my cat?")
    assert "Mio" in (await before_turn(memory, said)).text
    other = memory.unlabelled().scoped(session="half \ud83d")
    for turn in (said[:2], said, [{"id": "\ud83d", **each} for each in said[:1]] * 2):
        await after_turn(other, turn)
    assert await contents(other) == ["broken \ufffd", "ok", "What is the name of my cat?", "broken \ufffd"]


@pytest.mark.parametrize("messages", [[], [{"role": "system", "content": "Be brief."}]])
async def test_without_a_question_only_what_always_holds_is_told(memory: Memory, messages: Talk) -> None:
    await memory.notes.add("The sky is blue")
    assert (await before_turn(memory, messages)).text == ""


async def test_a_failing_store_lets_the_turn_go_on_and_says_so(
    memory: Memory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(Memory, "context", fail)
    told = await before_turn(memory, "Where do I live?")
    assert (told.text, told.items, told.error) == ("", (), "the disk is gone")
    assert "memory failed, so the turn continues without it: the disk is gone" in caplog.text
    with pytest.raises(StoreError):
        await before_turn(memory, "Where do I live?", raise_errors=True)


async def test_a_wrong_argument_is_raised(memory: Memory) -> None:
    with pytest.raises(InvalidInputError):
        await before_turn(memory, "Where do I live?", tokens=-1)


def test_blocking_calls(tmp_path: Path) -> None:
    with sync.Memory.open(tmp_path / "m.db", user="ann", session="s1") as memory:
        [kept] = blocking.after_turn(memory, [{"role": "user", "content": "My cat is called Mio."}])
        tools = blocking.memory_tools(memory, only={"search_memories"})
        assert tools.call("search_memories", {"query": "the cat's name"}).data[0]["id"] == kept.id
        assert [schema.name for schema in tools.schemas] == ["search_memories"]
        assert "Mio" in blocking.before_turn(memory, "What is the name of my cat?").text


async def after_turns(turns: list[Talk]) -> list[str]:
    """Return what a conversation holds after these calls."""
    async with Memory.open(":memory:", embedder=HashEmbedder(), session="s1") as memory:
        for turn in turns:
            await after_turn(memory, turn)
        return await contents(memory)


@settings(max_examples=25)
@given(st.data(), st.lists(st.sampled_from(["ok", "yes", "no"]), min_size=1, max_size=12))
def test_a_conversation_of_the_same_few_words_is_stored_as_it_grew(data: st.DataObject, said: list[str]) -> None:
    whole = talk(*said)
    ends = sorted(data.draw(st.lists(st.integers(1, len(whole)), max_size=6)))
    assert asyncio.run(after_turns([whole[:end] for end in [*ends, len(whole)]])) == said


@settings(max_examples=25)
@given(st.data(), st.sets(st.integers(2, 11), max_size=4))
def test_windows_in_any_order_of_repetition_store_each_message_once(data: st.DataObject, ends: set[int]) -> None:
    whole = talk(*(f"message {number}" for number in range(12)))
    turns: list[Talk] = []
    for before, end in pairwise([0, *sorted(ends), 12]):
        turns.append(whole[data.draw(st.integers(0, min(before, end - 2))) : end])
        turns += data.draw(st.lists(st.sampled_from(turns), max_size=2))
    assert asyncio.run(after_turns(turns)) == [each["content"] for each in whole]


async def test_an_edited_message_and_one_that_comes_bit_by_bit_are_revised(memory: Memory) -> None:
    question = {"id": "q", "role": "user", "content": "Where is my cat?"}
    for said in ("In", "In the", "In the garden."):
        answer = {"id": "a", "role": "assistant", "content": said}
        [*_, last] = await after_turn(memory, [question, answer])
        assert last.content == said
    assert await after_turn(memory, [question, answer]) == []
    edited = {**question, "content": "Where is my dog?"}
    assert [each.content for each in await after_turn(memory, [edited, answer])] == ["Where is my dog?"]
    assert await contents(memory) == ["Where is my dog?", "In the garden."]
    assert [change.action for change in await memory.history(last.id)] == ["remembered", "revised", "revised"]


async def test_what_the_user_corrected_is_not_undone_by_the_next_turn(memory: Memory) -> None:
    said = [{"id": str(n), **each} for n, each in enumerate(talk("My cat is called Mio.", "Lovely!"))]
    first, _ = await after_turn(memory, said)
    await memory.revise(first, content="My cat is called Mia.")
    assert await after_turn(memory.through("other"), [*said, {"id": "2", "role": "user", "content": "More"}]) != []
    assert await contents(memory) == ["My cat is called Mia.", "Lovely!", "More"]


async def test_a_thread_that_is_brought_along_is_stored_before_it_is_embedded(tmp_path: Path) -> None:
    """An agent's first turn may bring thousands of messages, whose embedding takes minutes."""
    embedded, may_go_on = list[int](), asyncio.Event()

    async def embed(texts: list[str]) -> list[list[float]]:
        embedded.append(len(texts))
        await may_go_on.wait()
        return [[1.0, float(len(text))] for text in texts]

    thread = talk(*(f"line {number} about the harbour" for number in range(100)))
    async with Memory.open(tmp_path / "many.db", embedder=embed, user="ann", session="s1") as memory:
        stored = await after_turn(memory, thread)
        assert len(stored) == 100
        assert await after_turn(memory, thread) == []  # the next turn has nothing new
        assert len(await memory.recent(1000)) == 100
        assert await memory.vectors(stored[:1]) == {}
        may_go_on.set()
    assert sum(embedded) >= 100
    async with Memory.open(tmp_path / "many.db", embedder=embed, user="ann", session="s1") as memory:
        assert len(await memory.vectors(stored)) == 100  # closing waits for them
        [last] = await after_turn(memory, [*thread, *talk("one more")])
        assert len(await memory.vectors([last])) == 1  # a turn has its vectors when the call returns
