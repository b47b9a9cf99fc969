import re
import subprocess
import sys
from typing import Any

import pytest

from memorist.adapters.agentscope import Msg, StateModule, ToolResponse, shapes
from memorist.adapters.agentscope.types import agentscope_version

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


@pytest.fixture(params=[Msg, shapes.Msg], ids=["in use", "our own"])
def message_class(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_message_has_an_id_and_the_time_to_the_millisecond(message_class: Any) -> None:
    first, second = message_class("Alice", "Hi", "user"), message_class("Alice", "Hi", "user")
    assert first.id != second.id
    assert 16 <= len(first.id) <= 32
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", first.timestamp)
    assert (first.name, first.content, first.role, first.metadata or {}) == ("Alice", "Hi", "user", {})


def test_a_message_survives_the_way_through_a_dict(message_class: Any) -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "look"}, PICTURE]
    message = message_class("Bob", blocks, "assistant", metadata={"mood": "good"}, timestamp="2024-03-04 05:06:07.089")
    fields = message.to_dict()
    assert set(fields) == {"id", "name", "role", "content", "metadata", "timestamp"}
    assert message_class.from_dict(fields).to_dict() == fields


def test_blocks_are_told_apart_by_type(message_class: Any) -> None:
    message = message_class("Bob", [{"type": "text", "text": "a"}, PICTURE, {"type": "text", "text": "b"}], "assistant")
    assert message.get_text_content() == "a\nb"
    assert message.get_content_blocks("image") == [PICTURE]
    assert len(message.get_content_blocks()) == 3
    assert message.has_content_blocks("text") and not message.has_content_blocks("audio")
    plain = message_class("Bob", "a", "user")
    assert plain.get_content_blocks() == [{"type": "text", "text": "a"}]
    assert message_class("Bob", [PICTURE], "user").get_text_content() is None


def test_a_role_or_content_of_another_kind_is_refused(message_class: Any) -> None:
    with pytest.raises(AssertionError):
        message_class("Bob", "a", "robot")
    with pytest.raises(AssertionError):
        message_class("Bob", 5, "user")


@pytest.mark.parametrize("response_class", [ToolResponse, shapes.ToolResponse])
def test_a_tool_response_holds_blocks(response_class: Any) -> None:
    response = response_class(content=[{"type": "text", "text": "done"}])
    assert response.content == [{"type": "text", "text": "done"}]
    assert (response.metadata, response.stream, response.is_last, response.is_interrupted) == (None, False, True, False)
    assert response.id != response_class(content=[]).id


@pytest.mark.parametrize("base", [StateModule, shapes.StateModule], ids=["in use", "our own"])
def test_the_state_of_a_module_is_its_registered_attributes_and_the_modules_in_it(base: Any) -> None:
    class Counter(base):  # type: ignore[misc]
        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count
            self.register_state("count")

    class Pair(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = Counter(1)
            self.names = {"a"}
            self.register_state("names", sorted, set)

    pair = Pair()
    assert pair.state_dict() == {"inner": {"count": 1}, "names": ["a"]}
    pair.load_state_dict({"inner": {"count": 7}, "names": ["x", "y"]})
    assert (pair.inner.count, pair.names) == (7, {"x", "y"})
    with pytest.raises(KeyError):
        pair.load_state_dict({"inner": {"count": 9}})
    pair.load_state_dict({"names": []}, strict=False)
    assert (pair.inner.count, pair.names) in [(7, set()), (9, set())]


@pytest.mark.agentscope1
def test_with_agentscope_1_they_are_its_own_classes() -> None:
    import agentscope.memory
    import agentscope.message
    import agentscope.module
    import agentscope.tool

    from memorist.adapters import agentscope as ours

    assert agentscope_version() == 1
    assert (Msg, ToolResponse) == (agentscope.message.Msg, agentscope.tool.ToolResponse)
    assert StateModule is agentscope.module.StateModule
    assert issubclass(ours.MemoryBase, agentscope.memory.MemoryBase)
    assert issubclass(ours.InMemoryMemory, agentscope.memory.MemoryBase)
    for name in ("LongTermMemoryBase", "Mem0LongTermMemory", "ReMePersonalLongTermMemory"):
        assert issubclass(getattr(ours, name), agentscope.memory.LongTermMemoryBase)


BROKEN = """
import sys, warnings
sys.modules["mcp"] = None
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    from memorist.adapters.agentscope import Msg, shapes
assert Msg is shapes.Msg
print([str(each.message) for each in warned if "AgentScope is installed but cannot be used" in str(each.message)])
"""


@pytest.mark.agentscope1
def test_where_agentscope_itself_cannot_be_imported_our_own_classes_stand_in_and_say_so() -> None:
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, check=True)
    assert "mcp" in done.stdout
