from typing import Any

import pytest

from memorist.adapters import agentscope
from memorist.adapters.agentscope import (
    LongTermMemoryBase,
    Msg,
    ReMePersonalLongTermMemory,
    ReMeTaskLongTermMemory,
    ReMeToolLongTermMemory,
)
from memorist.agents.tools import ToolSchema

pytestmark = pytest.mark.anyio

KINDS = [ReMePersonalLongTermMemory, ReMeTaskLongTermMemory, ReMeToolLongTermMemory]
TOOLS = ["record_to_memory", "retrieve_from_memory"]


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("record", ([],)),
        ("retrieve", (None,)),
        ("record_to_memory", ("because", ["a"])),
        ("retrieve_from_memory", (["a"],)),
    ],
)
async def test_a_memory_has_what_its_class_gives_it(method: str, arguments: tuple[Any, ...]) -> None:
    class OnlyRetrieves(LongTermMemoryBase):
        async def retrieve(self, msg: Msg | list[Msg] | None, **kwargs: Any) -> str:
            return "something"

    if method == "retrieve":
        assert await OnlyRetrieves().retrieve(None) == "something"
    else:
        with pytest.raises(NotImplementedError, match=method):
            await getattr(OnlyRetrieves(), method)(*arguments)
    with pytest.raises(NotImplementedError, match=f"`{method}`"):
        await getattr(LongTermMemoryBase(), method)(*arguments)


@pytest.mark.parametrize("method", TOOLS)
@pytest.mark.parametrize("kind", [LongTermMemoryBase, agentscope.Mem0LongTermMemory, *KINDS])
def test_every_argument_of_a_tool_is_documented(kind: Any, method: str) -> None:
    schema = ToolSchema.of(getattr(kind, method).__get__(object()))
    assert schema.name == method
    assert schema.description
    required = ["thinking", "content"] if method == "record_to_memory" else ["keywords"]
    assert schema.parameters["required"] == required
    assert all(field["description"] for field in schema.parameters["properties"].values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_told_when_to_use_a_tool_and_cannot_choose_how_much_is_found(kind: Any) -> None:
    recording, retrieving = (ToolSchema.of(getattr(kind, method).__get__(object())) for method in TOOLS)
    assert set(recording.parameters["properties"]) == {"thinking", "content"}
    assert set(retrieving.parameters["properties"]) == {"keywords"}
    assert "\n\nWhen to record:\n- " in recording.description and "\n\nWhat to record: " in recording.description
    assert "BEFORE" in retrieving.description and "\n\nUse this when:\n- " in retrieving.description


@pytest.mark.agentscope1
@pytest.mark.parametrize("method", TOOLS)
@pytest.mark.parametrize("kind", [agentscope.Mem0LongTermMemory, *KINDS])
def test_agentscope_reads_the_same_schema_off_the_tools(kind: Any, method: str) -> None:
    from agentscope.tool import Toolkit

    toolkit = Toolkit()
    toolkit.register_tool_function(getattr(kind, method).__get__(object()))
    [schema] = toolkit.get_json_schemas()
    theirs = schema["function"]["parameters"]
    ours = ToolSchema.of(getattr(kind, method).__get__(object())).parameters
    assert set(theirs["properties"]) == set(ours["properties"])
    assert theirs["required"] == ours["required"]
    assert all(field["description"] for field in theirs["properties"].values())


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        _ = getattr(agentscope, "Nothing")  # noqa: B009
    assert all(hasattr(agentscope, name) for name in agentscope.__all__ if name != "MemoryMiddleware")
