"""A verb is declared once, by its request: every door takes its arguments, defaults and texts from there."""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, get_args

import pytest

from memorist.admin import Admin
from memorist.cli.table import Commands
from memorist.errors import UnknownArgumentError
from memorist.kinds import SearchOptions
from memorist.memory import Memory
from memorist.operations import requests
from memorist.operations.request import NARROWING
from memorist.serve.mcp.tools import MemoryTools
from memorist.sync import Memory as Blocking
from memorist.system.docstrings import docstring_of, read_docstring
from memorist.verbs.declared import AdminVerbs, MemoryVerbs

VERBS = [
    (owner, name)
    for owner, base in ((Memory, MemoryVerbs), (Admin, AdminVerbs))
    for name in vars(base)
    if not name.startswith("_")
]
COMMANDS: Mapping[str, type[requests.Request[Any]]] = {
    "recall": requests.Recall,
    "context": requests.Context,
    "recent": requests.Recent,
    "browse": requests.Browse,
    "count": requests.Count,
    "changes": requests.Changes,
}
OF_THE_COMMAND = {"user", "json", "question", "explain"}
"""Options that are no argument of a request, and what the command calls otherwise."""


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


@pytest.mark.parametrize("tool", ["search_memories", "get_context", "recent_memories", "list_changes"])
def test_a_tool_of_mcp_tells_what_its_request_does(tool: str) -> None:
    kinds: Mapping[str, type[requests.Request[Any]]] = {
        "search_memories": requests.Recall,
        "get_context": requests.Context,
        "recent_memories": requests.Recent,
        "list_changes": requests.Changes,
    }
    function = getattr(MemoryTools, tool)
    declared = read_docstring(docstring_of(kinds[tool]))[1]
    told = read_docstring(docstring_of(function))[1]
    assert set(told) == set(inspect.signature(function).parameters) - {"self"}
    for name in {"query", "tokens", "min_similarity", "min_score", "cursor"} & set(told):
        assert told[name] == declared[name]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_of_a_command_has_the_choices_and_the_default_of_its_argument(command: str) -> None:
    kind = COMMANDS[command]
    options = [each for each in Commands()[command].params if each.name not in OF_THE_COMMAND]
    assert {each.name for each in options} <= set(kind.arguments())
    for option in options:
        field = kind.__dataclass_fields__[str(option.name)]
        choices = get_args(getattr(field.type, "__origin__", field.type))
        if option.name in ("mode", "order"):
            assert tuple(option.type.choices) == choices  # type: ignore[attr-defined]
        if isinstance(option.default, float) or option.name == "tokens":
            assert option.default == field.default
