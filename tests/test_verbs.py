"""A verb is declared once, by its request: every door takes its arguments, defaults and texts from there."""

import inspect
from contextlib import suppress
from dataclasses import MISSING
from typing import Any, Literal, get_args, get_origin

import pytest

from memorist.admin import Admin
from memorist.agents.parameters import schema_of
from memorist.agents.tools import ToolSchema
from memorist.cli.table import Commands
from memorist.errors import InvalidInputError, UnknownArgumentError
from memorist.kinds import SearchOptions
from memorist.memory import Memory
from memorist.operations import requests
from memorist.operations.request import NARROWING
from memorist.records.record import Draft, Kind
from memorist.serve.mcp.connector import READING
from memorist.serve.mcp.tools import TOOLS, MemoryTools
from memorist.sync import Memory as Blocking
from memorist.system.hints import fields_of, read_hint
from memorist.verbs.declared import AdminVerbs, MemoryVerbs
from memorist.verbs.texts import texts_of

VERBS = [
    (owner, name)
    for owner, base in ((Memory, MemoryVerbs), (Admin, AdminVerbs))
    for name in vars(base)
    if not name.startswith("_")
]
COMMANDS = {name: command for name, command in Commands().items() if getattr(command, "asks", None)}
SCOPE = {"user", "agent", "session"}
"""What is a scope's on the command line, and a field of a request besides."""
TOOLS_OF_MCP = {name: getattr(MemoryTools, name) for name in TOOLS if name not in READING}


def request_of(name: str) -> type[requests.Request[Any]]:
    kind: type[requests.Request[Any]] = getattr(requests, name.capitalize())
    return kind


@pytest.mark.parametrize(("owner", "name"), VERBS)
def test_a_verb_takes_the_fields_of_its_request(owner: type, name: str) -> None:
    kind, method = request_of(name), getattr(owner, name)
    taken = dict(inspect.signature(method).parameters)
    narrowing = NARROWING if "narrowing" in taken else ()
    assert {*taken, *narrowing} - {"self", "narrowing"} == set(kind.arguments())
    for argument, parameter in taken.items():
        if argument in kind.arguments() and parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            default = kind.__dataclass_fields__[argument].default
            assert parameter.default == (inspect.Parameter.empty if default is MISSING else default)
    assert method.__doc__ == kind.__doc__
    assert method.__qualname__.endswith(f".{name}") and method.__module__ == "memorist.verbs.declared"


def test_a_verb_says_what_is_wrong_with_its_arguments() -> None:
    memory = Blocking.open(":memory:")
    with pytest.raises(TypeError, match=r"get\(\): missing a required argument: 'id'"):
        memory.get()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"rate\(\): got an unexpected keyword argument 'why'"):
        memory.rate("a", 1, why="so")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"recall\(\): multiple values for argument 'query'"):
        memory.recall("tea", query="tea")  # type: ignore[misc]
    with pytest.raises(UnknownArgumentError, match="did you mean 'limit'"):
        memory.recall("tea", top_k=5)  # type: ignore[call-arg]
    memory.close()


def test_a_search_of_a_view_takes_what_a_recall_does() -> None:
    views_own = {"query", "limit", "kind", "payload", "key", "key_prefix", "from_source"}
    assert set(SearchOptions.__annotations__) == set(requests.Recall.arguments()) - views_own


@pytest.mark.parametrize("tool", TOOLS_OF_MCP.values(), ids=TOOLS_OF_MCP)
def test_an_argument_of_a_tool_of_mcp_has_the_text_and_the_type_of_its_field(tool: Any) -> None:
    kind, fields = tool.__takes__
    schema = ToolSchema.of(tool.__get__(object())).parameters
    assert set(schema["properties"]) == set(inspect.signature(tool).parameters) - {"self"} >= set(fields)
    for name, field in fields.items():
        told = schema["properties"][name]
        assert told["description"].startswith(texts_of(kind)[field])
        assert {each["type"] for each in told.get("anyOf", [told])} <= json_types(kind, field)


def json_types(kind: Any, field: str) -> set[str]:
    """Return the types in JSON that a field may have."""
    schemas = []
    for each in read_hint(fields_of(kind)[field]).kinds:
        with suppress(InvalidInputError):
            schemas.append(schema_of(each))
    return {each["type"] for schema in schemas for each in schema.get("anyOf", [schema])}


def test_every_command_that_makes_one_request_says_which() -> None:
    asked = {command.asks.lower() for command in COMMANDS.values()}  # type: ignore[attr-defined]
    assert asked >= {name for _, name in VERBS if name in Commands()} - {"inbox", "audit", "retention", "users"}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_option_that_is_a_field_of_the_request_has_its_text_and_its_type(command: Any) -> None:
    kind = getattr(requests, command.asks)
    fields = {**(fields_of(Draft) if kind is requests.Remember else {}), **fields_of(kind)}
    options = {each.name: each for each in command.params if each.name in fields and each.name != "user"}
    assert options.keys() >= {each.name for each in command.params if each.name in fields} - SCOPE
    for name, option in options.items():
        text = texts_of(kind)[name]
        assert (getattr(option, "about", None) or option.help).startswith(text[0].upper() + text[1:])
        if (command.name, name) != ("rate", "rating"):  # a number, or the word none
            assert forms_of(option) <= {form for each in read_hint(fields[name]).kinds for form in forms_of_kind(each)}
        default = kind.__dataclass_fields__[name].default if name in kind.__dataclass_fields__ else None
        if name in ("min_score", "min_similarity", "mode", "order", "tokens", "if_exists"):
            assert option.default == default


def forms_of(option: Any) -> set[Any]:
    """Return what an option's value may be: words, or the name of a type."""
    if choices := getattr(option.type, "choices", None):
        return set(choices)
    if getattr(option, "is_flag", False):
        return {"bool"}
    return {{"integer": "int", "integer range": "int", "float": "float", "float range": "float"}.get(
        option.type.name, "str"
    )}  # fmt: skip


def forms_of_kind(kind: Any) -> set[Any]:
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    if kind is Kind:
        return {str(each) for each in Kind}
    return {kind.__name__} if kind in (bool, int, float) else {"str"}  # a text, which is read into anything else
