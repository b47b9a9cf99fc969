import functools
import json
from enum import Enum
from typing import Any, Literal

import pytest

from memorist.agents import Toolbox, ToolResult, ToolSchema
from memorist.agents.tools import ToolFunction
from memorist.errors import InvalidInputError
from memorist.memory import Memory

pytestmark = pytest.mark.anyio


def memory_tools(memory: Memory) -> Toolbox:
    async def save_memory(content: str) -> dict[str, str]:
        """Save something worth remembering.

        Call it whenever the user tells
        something lasting.

        Args:
            content: what to remember, in a sentence
                that can be understood alone.

        Returns:
            The id.
        """
        return {"saved_id": (await memory.notes.add(content)).id}

    async def search_memory(query: str, limit: int = 3) -> list[str]:
        """Search what was remembered.

        Args:
            query: a question.
            limit: how many texts at most.
        """
        return [hit.record.content for hit in await memory.notes.search(query, limit=limit)]

    return Toolbox([save_memory, search_memory])


async def test_a_schema_is_read_off_a_function(everyone: Memory) -> None:
    save, search = memory_tools(everyone).schemas
    assert save.openai == {
        "type": "function",
        "function": {
            "name": "save_memory",
            "description": "Save something worth remembering.\n\nCall it whenever the user tells something lasting.",
            "parameters": {
                "type": "object",
                "properties": {
                    "content": {
                        "type": "string",
                        "description": "what to remember, in a sentence that can be understood alone.",
                    }
                },
                "required": ["content"],
            },
        },
    }
    assert search.parameters["required"] == ["query"]
    assert search.parameters["properties"]["limit"] == {
        "type": "integer",
        "description": "how many texts at most.",
        "default": 3,
    }


def test_types_become_json_types() -> None:
    class Colour(Enum):
        RED = "red"

    def tool(
        a: str | None = None,
        b: list[int] | None = None,
        c: dict[str, float] | None = None,
        d: Literal["x", "y"] = "x",
        e: Colour | None = None,
        f: int | str = 0,
        g: Any = None,
        h: bool = False,
    ) -> None:
        """Do.

        Args:
            a: A.
            b (list): B.
            c: C.
            d: D.
            e: E.
            f: F: with a colon.
            g: G.
            h: H.
        """

    properties = ToolSchema.of(tool, name="other").parameters["properties"]
    texts = ("description", "default")
    assert {
        name: {key: value for key, value in schema.items() if key not in texts} for name, schema in properties.items()
    } == {
        "a": {"type": "string"},
        "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object", "additionalProperties": {"type": "number"}},
        "d": {"type": "string", "enum": ["x", "y"]},
        "e": {"type": "string", "enum": ["red"]},
        "f": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "g": {},
        "h": {"type": "boolean"},
    }
    assert properties["f"]["description"] == "F: with a colon."
    assert "required" not in ToolSchema.of(tool).parameters


async def test_tools_are_called_by_name(alice: Memory) -> None:
    tools = memory_tools(alice)
    saved = await tools.call("save_memory", {"content": "Likes homestays"})
    assert saved.success and saved.error is None
    assert await alice.count() == 1
    assert await tools.call("search_memory", '{"query": "homestays", "limit": "1"}') == ToolResult(
        success=True, data=["Likes homestays"]
    )


async def test_what_models_write_for_an_object_or_a_list_is_read() -> None:
    def keep(arguments: dict[str, Any], tags: list[str]) -> Any:
        """Keep.

        Args:
            arguments: an object.
            tags: a list.
        """
        return arguments, tags

    result = await Toolbox([keep]).call("keep", {"arguments": '{"a": [1]}', "tags": '["x"]'})
    assert result.data == ({"a": [1]}, ["x"])
    assert "must be an object" in ((await Toolbox([keep]).call("keep", {"arguments": "[1]", "tags": []})).error or "")


async def test_a_tool_gets_the_members_of_its_enums() -> None:
    class Colour(Enum):
        RED = "red"
        BLUE = "blue"

    async def paint(one: Colour = Colour.RED, more: list[Colour] | None = None, other: Colour | str = "") -> Any:
        """Paint.

        Args:
            one: a colour.
            more: more colours.
            other: a colour, or a word for one.
        """
        return one, more, other

    box = Toolbox([paint])
    assert json.loads(json.dumps(box.schemas[0].openai))["function"]["parameters"]["properties"]["one"] == {
        "type": "string",
        "enum": ["red", "blue"],
        "description": "a colour.",
        "default": "red",
    }
    assert (await box.call("paint", {})).data == (Colour.RED, None, "")
    given = {"one": "blue", "more": ["red", "blue"], "other": "mauve"}
    assert (await box.call("paint", given)).data == (Colour.BLUE, [Colour.RED, Colour.BLUE], "mauve")


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("save", {}, "there is no tool 'save'; available: save_memory, search_memory"),
        (["save_memory"], {}, "there is no tool ['save_memory']"),
        ("save_memory", {}, "save_memory needs the argument content"),
        ("save_memory", None, "needs the argument content"),
        ("save_memory", {"content": 5}, "content must be a string, not 5"),
        ("save_memory", {"content": None}, "content must be a string, not None"),
        ("save_memory", {"content": "a", "colour": "red"}, "takes no argument 'colour'; available: content"),
        ("save_memory", "{", "the arguments are not JSON"),
        ("save_memory", "[]", "the arguments must be an object, not list"),
        ("save_memory", {"content": "  "}, "must not be blank"),
        ("search_memory", {"query": "a", "limit": "many"}, "limit must be a whole number, not 'many'"),
        ("search_memory", {"query": "a", "limit": True}, "limit must be a whole number, not True"),
    ],
)
async def test_a_wrong_call_is_an_unsuccessful_result(alice: Memory, name: Any, arguments: Any, complaint: str) -> None:
    result = await memory_tools(alice).call(name, arguments)
    assert not result.success and result.data is None
    assert complaint in (result.error or "")
    assert await alice.count() == 0


async def test_an_exception_of_a_tool_is_an_unsuccessful_result() -> None:
    def broken() -> None:
        """Break."""
        raise RuntimeError("no more ink")

    def silent() -> None:
        """Break."""
        raise KeyError

    async def judged() -> ToolResult:
        """Judge."""
        return ToolResult(success=False, error="nothing to delete")

    tools = Toolbox([broken, silent, judged])
    assert await tools.call("broken") == ToolResult(success=False, error="no more ink")
    assert (await tools.call("silent")).error == "KeyError"
    assert (await tools.call("judged", "")).to_dict() == {"success": False, "data": None, "error": "nothing to delete"}


@pytest.mark.parametrize("argument", ["user", "user_id", "USER_ID", "tenant", "owner", "scope"])
async def test_a_call_that_names_another_user_reads_nothing_of_theirs(
    alice: Memory, bob: Memory, argument: str
) -> None:
    await bob.notes.add("Bob keeps his key under the mat")
    await alice.notes.add("Alice keeps a diary")
    found = await memory_tools(alice).call("search_memory", {"query": "where is the key?", argument: "bob"})
    assert found == ToolResult(success=True, data=["Alice keeps a diary"])
    await memory_tools(alice).call("save_memory", {"content": "hello", argument: "bob"})
    assert (await bob.count(), await alice.count()) == (1, 2)


def tool_for_a_user(user_id: str) -> None:
    """Do.

    Args:
        user_id: whose.
    """


def untold(text: str) -> None:
    """Do."""


def untyped(text) -> None:  # type: ignore[no-untyped-def]
    """Do.

    Args:
        text: a text.
    """


def odd(text: complex) -> None:
    """Do.

    Args:
        text: a number.
    """


def nameless(text: str, /) -> None:
    """Do.

    Args:
        text: a text.
    """


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (nameless, "'text' of the tool 'nameless' cannot be passed by name"),
        (functools.partial(odd, 1), "cannot be read"),
        (tool_for_a_user, "takes 'user_id': a tool may not take a user id"),
        (untold, "'text' of the tool 'untold' needs a type annotation and a description"),
        (untyped, "'text' of the tool 'untyped' needs a type annotation and a description"),
        (odd, "cannot be the type of a tool's argument"),
    ],
)
def test_a_function_that_is_no_tool_is_refused(function: ToolFunction, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        Toolbox([function])


def test_two_tools_of_one_name_are_refused() -> None:
    def tool() -> None:
        """Do."""

    with pytest.raises(InvalidInputError, match="a tool 'tool' is already registered"):
        Toolbox([tool, tool])
    box = Toolbox([tool])
    box.add(tool, name="again", description="Do it again.")
    assert [schema.description for schema in box.schemas] == ["Do.", "Do it again."]
    assert "again" in box and "other" not in box
