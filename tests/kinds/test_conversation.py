import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.errors import InvalidInputError, MemoristError
from memorist.kinds import Conversation, Message, estimate_tokens
from memorist.memory import Memory
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


@pytest.fixture
def talk(alice: Memory) -> Conversation:
    return alice.conversation("monday")


async def contents(talk: Conversation) -> list[str]:
    return [message.content for message in await talk.all()]


# --- appending ---------------------------------------------------------------------------------------


async def test_messages_come_back_as_they_were_said(talk: Conversation) -> None:
    await talk.append("Where was I?", name="Alice", happened_at=NOON, metadata={"mood": "lost"})
    await talk.append({"role": "assistant", "content": "In Oslo.", "id": "m2", "data": {"tool_calls": [1]}})
    await talk.append(Message(content="Thanks", role="user"))

    first, second, third = await talk.all()
    assert (first.role, first.name, first.happened_at, first.metadata) == ("user", "Alice", NOON, {"mood": "lost"})
    assert (second.role, second.name, second.id, second.data) == ("assistant", None, "m2", {"tool_calls": [1]})
    assert third.record is not None and third.id == third.record.id
    assert third.happened_at is not None and third.happened_at > NOON


async def test_recall_knows_the_speaker_and_the_caller_alone_writes_metadata(talk: Conversation, alice: Memory) -> None:
    await talk.append("I live in Oslo", name="Alice")

    [hit] = await alice.recall("who lives in Oslo?", kind=Kind.MESSAGE)
    assert (hit.record.payload["speaker"], hit.record.payload["role"]) == ("Alice", "user")
    assert hit.record.metadata == {}


async def test_many_are_appended_in_order_or_not_at_all(talk: Conversation) -> None:
    assert [each.content for each in await talk.append(["one", {"content": "two"}])] == ["one", "two"]

    with pytest.raises(InvalidInputError):
        await talk.append(["three", {"content": " "}])
    assert await contents(talk) == ["one", "two"]
    assert await talk.append([]) == []


async def test_an_earlier_time_does_not_change_the_order(talk: Conversation, alice: Memory) -> None:
    times = [NOON, NOON - timedelta(days=400), NOON, NOON + timedelta(hours=1), datetime.max.replace(tzinfo=UTC)]
    for number, time in enumerate(times):
        await talk.append(str(number), happened_at=time)
    await talk.append("5")
    await talk.append("6")

    messages = await talk.all()
    assert [each.content for each in messages] == list("0123456")
    assert [each.happened_at for each in messages[:5]] == times
    assert [each.content for each in await talk.window(3)] == ["4", "5", "6"]


async def test_a_message_with_a_known_id_is_left_out(talk: Conversation) -> None:
    first = await talk.append("Hello", id="a")
    again = await talk.append(
        [{"content": "Hello", "id": "a"}, {"content": "new", "id": "b"}, {"content": "new", "id": "b"}]
    )

    assert again[0] == first
    assert again[1] == again[2]
    assert await contents(talk) == ["Hello", "new"]


async def test_a_message_that_says_something_else_is_revised_and_keeps_its_history(
    talk: Conversation, alice: Memory
) -> None:
    await talk.append([{"content": "Take 40", "id": "a"}, "between"])
    await talk.append("Take 40 mg", id="a")
    [edited] = await talk.append([{"content": "Take 60 mg of it", "id": "a", "data": {"n": 1}}])

    assert (edited.content, edited.data) == ("Take 60 mg of it", {"n": 1})
    assert await contents(talk) == ["Take 60 mg of it", "between"]
    assert edited.record is not None
    said = [change.record.content for change in await alice.history(edited.record) if change.record]
    assert said == ["Take 40", "Take 40 mg", "Take 60 mg of it"]
    assert [hit.record.content for hit in await alice.recall("take of it 60", limit=1)] == ["Take 60 mg of it"]
    await talk.append("Take 40", id="a")
    assert await contents(talk) == ["Take 40", "between"]


async def test_of_two_messages_with_one_id_the_last_is_what_it_says(talk: Conversation) -> None:
    said = [{"content": "Hel", "id": "a"}, {"content": "Hello", "id": "a"}, {"content": "!", "id": "b"}]
    for _ in range(2):
        assert [each.content for each in await talk.append(said)] == ["Hello", "Hello", "!"]
        assert await contents(talk) == ["Hello", "!"]


async def test_an_id_that_several_roles_share_names_a_message_of_each(talk: Conversation) -> None:
    turn = [{"content": "How?", "id": "t1"}, {"content": "So.", "id": "t1", "role": "assistant"}]
    for _ in range(2):
        await talk.append(turn)
    await talk.append("Like so.", id="t1", role="assistant")
    assert await contents(talk) == ["How?", "Like so."]


async def test_what_somebody_else_has_changed_stays_until_the_message_says_something_new(
    talk: Conversation, alice: Memory
) -> None:
    [said] = await talk.append([{"content": "My card is 1234", "id": "a"}])
    assert said.record is not None
    await alice.rate(said.record, 1)
    await alice.revise(said.record, content="My card is (removed)")
    await talk.append("My card is 1234", id="a")
    assert await contents(talk) == ["My card is (removed)"]
    await talk.append("My card is lost", id="a")
    await talk.append("My card is lost", id="a")
    assert await contents(talk) == ["My card is lost"]


async def test_duplicates_are_kept_where_they_are_wanted(talk: Conversation) -> None:
    twice = [{"content": "Hello", "id": "a"}] * 2
    assert [each.id for each in await talk.append(twice, allow_duplicates=True)] == ["a", "a"]
    await talk.append("Hello", id="a", allow_duplicates=True)
    await talk.append("Hello", id="a")

    assert await talk.size() == 3
    assert await talk.delete("a") == 3


async def test_two_sessions_may_have_the_same_message(alice: Memory) -> None:
    for session in ("monday", "tuesday"):
        await alice.conversation(session).append("Hello", id="a")
        assert await alice.conversation(session).size() == 1


async def test_concurrent_appends_of_one_id_store_it_once(talk: Conversation) -> None:
    await asyncio.gather(*(talk.append("Hello", id="a") for _ in range(8)))
    assert await talk.size() == 1


@pytest.mark.parametrize(
    "message",
    [
        "", "  ", 5, None, {}, {"role": "user"}, {"content": None}, {"content": ["a"]}, {"content": "a", "role": ""},
        {"content": "a", "text": "b"}, {"content": "a", "id": 7}, {"content": "a", "name": " "}, {"content": "a", 5: 6},
        {"content": "a", "happened_at": "soon"}, {"content": "a", "metadata": [1]},
        {"content": "a", "metadata": {"x": {1}}},
        {"content": "a", "data": "b"}, ["a", 5], [["a"]],
    ],
)  # fmt: skip
async def test_what_is_no_message_is_refused(talk: Conversation, message: Any) -> None:
    with pytest.raises(InvalidInputError):
        await talk.append(message)
    assert await talk.size() == 0


async def test_fields_go_with_a_text_alone(talk: Conversation) -> None:
    with pytest.raises(InvalidInputError, match="role goes with a string"):
        await talk.append({"content": "a"}, role="assistant")


async def test_a_conversation_needs_a_session(alice: Memory) -> None:
    with pytest.raises(InvalidInputError, match="session"):
        alice.conversation()
    assert await alice.scoped(session="monday").conversation().size() == 0


# --- reading -----------------------------------------------------------------------------------------


async def test_a_window_holds_the_newest_that_fit(talk: Conversation) -> None:
    await talk.append(["a" * 40, "b" * 8, "c" * 9, "d"])

    assert [each.content[0] for each in await talk.window()] == list("abcd")
    assert [each.content[0] for each in await talk.window(2)] == list("cd")
    assert [each.content[0] for each in await talk.window(tokens=6)] == list("bcd")
    assert [each.content[0] for each in await talk.window(tokens=5)] == list("cd")
    assert [each.content[0] for each in await talk.window(2, tokens=100)] == list("cd")
    assert [each.content[0] for each in await talk.window(tokens=9, count_tokens=len)] == list("d")
    assert await talk.window(0) == await talk.window(tokens=0) == []


@pytest.mark.parametrize("wrong", [{"count": -1}, {"tokens": -1}, {"count": 1.5}, {"tokens": True}, {"count": "3"}])
async def test_a_window_has_a_whole_size(talk: Conversation, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        await talk.window(**wrong)


def test_a_token_is_about_four_characters() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


async def test_a_long_conversation_is_read_page_by_page(talk: Conversation) -> None:
    said = [f"message {number}" for number in range(1203)]
    await talk.append(said)

    assert [message.content async for message in talk] == said
    assert [each.content for each in await talk.window(1001)] == said[-1001:]
    assert await talk.size() == 1203


async def test_a_message_is_found_by_either_id(talk: Conversation) -> None:
    own, made = await talk.append([{"content": "a", "id": "mine"}, {"content": "b"}])
    assert own.record is not None and made.id is not None

    assert await talk.get("mine") == await talk.get(own.record.id) == own
    assert await talk.get(made.id) == made
    assert await talk.get("other") is None


# --- deleting ----------------------------------------------------------------------------------------


async def test_messages_are_deleted_by_either_id(talk: Conversation, alice: Memory) -> None:
    note = await alice.notes.add("not a message")
    _, made = await talk.append([{"content": "a", "id": "mine"}, {"content": "b"}])
    await talk.append("c")
    assert made.id is not None

    assert await talk.delete() == 0
    assert await talk.delete("nobody", note.id) == 0
    assert await talk.delete("mine", made.id) == 2
    assert await contents(talk) == ["c"]
    assert await alice.get(note.id) is not None

    await talk.append("again", id="mine")
    assert await contents(talk) == ["c", "again"]


async def test_very_many_are_deleted_at_once(talk: Conversation) -> None:
    await talk.append([{"content": "x", "id": str(number)} for number in range(1300)])
    assert await talk.delete(*map(str, range(1299))) == 1299
    assert await talk.size() == 1


async def test_clear_empties_this_session_alone(alice: Memory) -> None:
    await alice.conversation("monday").append(["a", "b"])
    await alice.conversation("tuesday").append("c")
    await alice.scoped(session="monday").notes.add("stays")

    assert await alice.conversation("monday").clear() == 2
    assert await alice.conversation("monday").size() == 0
    assert await alice.conversation("tuesday").size() == 1
    assert await alice.count(kind=Kind.NOTE) == 1


# --- walls and time ----------------------------------------------------------------------------------


async def test_another_user_has_another_conversation(alice: Memory, bob: Memory) -> None:
    await alice.conversation("monday").append("mine", id="a")

    talk = bob.conversation("monday")
    assert await talk.all() == [] and await talk.get("a") is None and await talk.delete("a") == 0
    await talk.append("his", id="a")
    assert await contents(alice.conversation("monday")) == ["mine"]


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        said = await memory.conversation("monday").append(["a", "b"])
    async with reopen(user="alice") as memory:
        assert await memory.conversation("monday").all() == said


# --- state -------------------------------------------------------------------------------------------


async def test_a_state_restores_everything_elsewhere(alice: Memory, bob: Memory) -> None:
    talk = alice.conversation("monday")
    await talk.append("late", name="Alice", id="a", happened_at=NOON, metadata={"x": [1]}, data={"y": None})
    await talk.append("early", role="assistant", happened_at=NOON - timedelta(days=1))
    await talk.append("late", id="a", allow_duplicates=True)
    state = json.loads(json.dumps(await talk.state()))
    before = copy.deepcopy(state)

    other = bob.conversation("tuesday")
    await other.append(["gone", "gone too"])
    await other.restore(state)

    assert state == before == await other.state()
    assert await contents(other) == ["late", "early", "late"]
    await other.restore({"version": 1, "messages": []})
    assert await other.size() == 0


@pytest.mark.parametrize(
    "state",
    [
        None, [], {}, {"messages": []}, {"version": 2, "messages": []}, {"version": 1, "messages": {}},
        {"version": 1, "messages": [{"role": "user"}]},
        {"version": 1, "messages": [{"content": "a"}, {"content": "", "id": "x"}]},
        {"version": 1, "messages": [{"content": "a", "metadata": {"x": float("nan")}}]},
    ],
)  # fmt: skip
async def test_a_wrong_state_changes_nothing(talk: Conversation, state: Any) -> None:
    await talk.append("stays")
    with pytest.raises(InvalidInputError):
        await talk.restore(state)
    assert await contents(talk) == ["stays"]


async def test_a_restore_that_fails_changes_nothing(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    await talk.append("stays")

    async def fail(*_: Any) -> Any:
        raise MemoristError("no embedding today")

    monkeypatch.setattr(HashEmbedder, "embed", fail)
    with pytest.raises(MemoristError, match="today"):
        await talk.restore({"version": 1, "messages": [{"content": "new"}]})
    assert await contents(talk) == ["stays"]


# --- what always holds -------------------------------------------------------------------------------

moments = st.none() | st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
messages = st.builds(
    Message,
    content=st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.strip),
    role=st.sampled_from(["user", "assistant", "tool"]),
    name=st.sampled_from([None, "Ann"]),
    id=st.sampled_from([None, None, "a", "b", "c"]),
    happened_at=moments,
)


@settings(max_examples=40)
@given(
    batches=st.lists(st.tuples(st.lists(messages, max_size=4), st.booleans()), max_size=6),
    gone=st.sampled_from(["a", "b"]),
    count=st.integers(0, 12),
    tokens=st.integers(0, 30),
)
def test_it_is_a_list(batches: list[tuple[list[Message], bool]], gone: str, count: int, tokens: int) -> None:
    """Whatever the times and ids, the conversation is the list of what was appended."""
    model: list[Message] = []
    for batch, allow_duplicates in batches:
        if allow_duplicates:
            model.extend(batch)
            continue
        latest = {object() if each.id is None else (each.id, each.role): each for each in batch}
        for known, message in latest.items():
            place = next((at for at, each in enumerate(model) if (each.id, each.role) == known), None)
            if place is None:
                model.append(message)
            elif message.content != model[place].content:
                name = message.name or model[place].name
                model[place] = replace(model[place], content=message.content, name=name)
    fitting = model[max(0, len(model) - count) :]
    while sum(len(each.content) for each in fitting) > tokens:
        fitting = fitting[1:]

    async def check() -> None:
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            talk = memory.conversation("s")
            for batch, allow_duplicates in batches:
                await talk.append(batch, allow_duplicates=allow_duplicates)
            assert same(await talk.all(), model)
            assert same(await talk.window(count, tokens, count_tokens=len), fitting)
            assert await talk.size() == len(model)

            state = await talk.state()
            copied = memory.conversation("copy")
            await copied.append("to be replaced", id="a")
            await copied.restore(state)
            assert await copied.state() == state

            assert await talk.delete(gone) == sum(each.id == gone for each in model)
            assert same(await talk.all(), [each for each in model if each.id != gone])

    asyncio.run(check())


def same(stored: list[Message], given: list[Message]) -> bool:
    return len(stored) == len(given) and all(
        (one.content, one.role, one.name) == (other.content, other.role, other.name)
        and (other.id is None or one.id == other.id)
        and (other.happened_at is None or one.happened_at == other.happened_at)
        for one, other in zip(stored, given, strict=True)
    )
