"""The short-term memory, in the process (InMemoryMemory) and on disk (DurableMemory): one interface."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from memorist.adapters.agentscope import DurableMemory, InMemoryMemory, MemoryBase, Msg
from memorist.memory import Memory

pytestmark = pytest.mark.anyio

NEEDED = ("add", "delete", "retrieve", "size", "clear", "get_memory", "state_dict", "load_state_dict")


def say(text: str, role: str = "user") -> Msg:
    return Msg("Alice", text, role)


def theirs_or_none() -> Any:
    """AgentScope's own memory with marks, as from 1.0.10 on; None where another version is installed, or none."""
    try:
        from agentscope.memory import InMemoryMemory as Theirs
    except ImportError:
        return None
    return Theirs() if hasattr(Theirs, "update_messages_mark") else None


def texts(messages: list[Msg]) -> list[Any]:
    return [message.content for message in messages]


@pytest.fixture(params=["in the process", "on disk"])
def make(request: pytest.FixtureRequest, memory: Memory) -> Callable[[], Any]:
    """Return a function that makes an empty buffer."""
    numbers = iter(range(9))
    if request.param == "on disk":
        return lambda: DurableMemory(memory.scoped(user="alice", session=f"s{next(numbers)}"))
    return InMemoryMemory


@pytest.fixture
def buffer(make: Callable[[], Any]) -> Any:
    return make()


def test_a_buffer_must_have_every_method() -> None:
    class Half(MemoryBase):
        async def add(self, *args: Any, **kwargs: Any) -> None: ...

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
    assert all(getattr(getattr(MemoryBase, name), "__isabstractmethod__", False) for name in NEEDED)


async def test_messages_come_back_in_the_order_they_were_added(buffer: Any) -> None:
    await buffer.add(say("one"))
    await buffer.add([say("two"), say("three")])
    await buffer.add(None)
    await buffer.add([])
    assert texts(await buffer.get_memory()) == ["one", "two", "three"]
    assert await buffer.size() == 3


async def test_a_message_comes_back_whole(buffer: Any) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "let me look"},
        {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "tea"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    messages = [Msg("Bob", blocks, "assistant", metadata={"a": [1]}), Msg("Bob", "", "assistant"), Msg("B", [], "user")]
    await buffer.add(messages)
    assert [each.to_dict() for each in await buffer.get_memory()] == [each.to_dict() for each in messages]


async def test_the_same_message_is_added_once_unless_duplicates_are_allowed(buffer: Any) -> None:
    message, other = say("hello"), say("hello")
    await buffer.add([message, message, other])
    await buffer.add(message)
    assert await buffer.size() == 2
    await buffer.add([message, message], allow_duplicates=True)
    await buffer.add(message, True)
    assert await buffer.size() == 5


@pytest.mark.parametrize("wrong", ["text", 5, {"role": "user"}, (1, 2)])
async def test_only_messages_can_be_added_all_or_nothing(buffer: Any, wrong: Any) -> None:
    expected = f"The memories should be a list of Msg or a single Msg, but got {type(wrong)}."
    for given in (wrong, [say("fine"), wrong]):
        with pytest.raises(TypeError) as error:
            await buffer.add(given)
        assert str(error.value) == expected
    assert await buffer.size() == 0


@pytest.mark.parametrize(
    ("index", "left"),
    [
        (0, "bcd"),
        ([1, 3], "ac"),
        (lambda: (each for each in (0, 1, 2)), "d"),
        (range(4), ""),
        ([], "abcd"),
        ([2, 2], "abd"),
    ],
)
async def test_delete_takes_a_place_or_several(buffer: Any, index: Any, left: str) -> None:
    await buffer.add([say(each) for each in "abcd"])
    await buffer.delete(index() if callable(index) else index)
    assert texts(await buffer.get_memory()) == list(left)


@pytest.mark.parametrize(("index", "bad"), [(4, [4]), (-1, [-1]), ([0, 9, 7], [9, 7]), (lambda: iter([1, 5]), [5])])
async def test_a_place_that_does_not_exist_deletes_nothing(buffer: Any, index: Any, bad: list[int]) -> None:
    await buffer.add([say(each) for each in "abcd"])
    with pytest.raises(IndexError) as error:
        await buffer.delete(index() if callable(index) else index)
    assert str(error.value) == f"The index {bad} does not exist."
    assert await buffer.size() == 4


async def test_the_arguments_of_later_versions_are_taken_too(buffer: Any) -> None:
    messages = [say(each) for each in "abc"]
    await buffer.add(messages[:2], "important")
    await buffer.add(messages[0], None, True)
    await buffer.add(messages[2], ["important", "new"], allow_duplicates=False)
    assert texts(await buffer.get_memory()) == ["a", "b", "a", "c"]
    assert texts(await buffer.get_memory(mark="new")) == ["c"]
    assert {"b", "c"} <= set(texts(await buffer.get_memory(mark="important")))
    assert await buffer.delete(msg_ids=[messages[1].id, "nobody"]) == 1
    assert await buffer.delete(msg_ids=[]) == 0
    assert texts(await buffer.get_memory()) == ["a", "a", "c"]
    with pytest.raises(TypeError, match="msg_ids"):
        await buffer.delete()


async def test_delete_also_takes_the_ids_of_messages(buffer: Any) -> None:
    messages = [say(each) for each in "abc"]
    await buffer.add(messages)
    assert await buffer.delete([messages[0].id, "nobody"]) == 1
    assert texts(await buffer.get_memory()) == ["b", "c"]


async def test_it_does_not_search(buffer: Any) -> None:
    with pytest.raises(NotImplementedError) as error:
        await buffer.retrieve("anything")
    assert str(error.value) == f"The retrieve method is not implemented in {type(buffer).__name__} class."


async def test_clear_empties_it(buffer: Any) -> None:
    await buffer.add([say("a"), say("b")])
    await buffer.update_compressed_summary("before")
    await buffer.clear()
    assert await buffer.size() == 0
    assert await buffer.get_memory(prepend_summary=False) == []
    await buffer.add(say("c"))
    assert await buffer.size() == 1


async def test_the_state_is_the_list_of_messages(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    messages = [say("a"), Msg("Bob", [{"type": "text", "text": "b"}], "assistant")]
    await first.add(messages)
    state = first.state_dict()
    assert state == {"content": [message.to_dict() for message in messages]}

    before = deepcopy(state)
    await second.add(say("old"))
    second.load_state_dict(state)
    assert [each.to_dict() for each in await second.get_memory()] == state["content"]
    (await second.get_memory())[1].content.append({"type": "text", "text": "more"})
    assert state == before
    assert second.load_state_dict({"content": []}) is None
    assert await second.size() == 0


async def test_a_state_without_content_is_refused_before_anything_is_lost(buffer: Any) -> None:
    await buffer.add(say("kept"))
    with pytest.raises(KeyError, match="content"):
        buffer.load_state_dict({})
    with pytest.raises(KeyError):
        buffer.load_state_dict({"content": [{"name": "no role"}]})
    buffer.load_state_dict({}, strict=False)
    assert texts(await buffer.get_memory()) == ["kept"]


async def test_marks_and_a_summary_are_part_of_the_state_where_there_are_any(make: Callable[[], Any]) -> None:
    first, second = make(), make()
    await first.add([say("a"), say("b")])
    await first.add(say("hint"), marks="hint")
    await first.update_compressed_summary("They said hello.")
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == first.state_dict()
    assert texts(await second.get_memory(exclude_mark="hint")) == ["They said hello.", "a", "b"]
    assert texts(await second.get_memory(mark="hint", prepend_summary=False)) == ["hint"]
    # AgentScope's own memory reads that state, and its own is a list of pairs, each a message with its marks.
    if theirs := theirs_or_none():
        theirs.load_state_dict(first.state_dict())
        assert texts(await theirs.get_memory(mark="hint", prepend_summary=False)) == ["hint"]
        assert texts(await theirs.get_memory(exclude_mark="hint")) == ["They said hello.", "a", "b"]
        second.load_state_dict(theirs.state_dict())
        assert second.state_dict() == first.state_dict()
    second.load_state_dict({"content": [[say("x").to_dict(), ["hint"]], [say("y").to_dict(), []]]})
    assert texts(await second.get_memory(exclude_mark="hint")) == ["y"]


async def test_messages_can_be_marked_remarked_and_deleted_by_mark(buffer: Any) -> None:
    messages = [say(each) for each in "abc"]
    await buffer.add(messages, marks=["draft", "todo"])
    assert await buffer.update_messages_mark("final", old_mark="draft", msg_ids=[messages[0].id]) == 1
    assert await buffer.update_messages_mark("final", msg_ids=[messages[0].id]) == 0
    assert texts(await buffer.get_memory(mark="final")) == ["a"]
    assert await buffer.update_messages_mark(None, old_mark="todo") == 3
    assert await buffer.get_memory(mark="todo") == []
    assert await buffer.delete_by_mark(["draft", "nothing"]) == 2
    assert texts(await buffer.get_memory()) == ["a"]
    with pytest.raises(TypeError):
        await buffer.add(say("d"), marks=5)
    with pytest.raises(TypeError):
        await buffer.get_memory(mark=["draft"])
