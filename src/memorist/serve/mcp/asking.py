"""Tools made from requests: a tool's arguments are fields of a request, with their types, defaults and texts."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING
from functools import wraps
from inspect import Parameter, Signature
from typing import Any, TypeVar

from memorist.agents.excerpts import MOST_RESULTS, check_most
from memorist.operations import requests
from memorist.operations.request import Narrowed
from memorist.system.docstrings import docstring_of, read_docstring

T = TypeVar("T")
R = TypeVar("R", bound=requests.Request[Any])
_NAMES = {"source": "from_source"}
"""The fields that a tool calls otherwise."""
_TYPES: Mapping[str, Any] = {
    "as_of": str | None,
    "known": list[str] | None,
    "since": str | None,
    "until": str | None,
    "where": dict[str, Any] | None,
}
"""The types of the fields that hold what JSON does not have."""
_TEXTS: Mapping[str, str] = {
    "as_of": "answer as of this time, with the facts that held then.",
    "kind": "only these kinds.",
    "known": "ids or texts to leave out, because you have them already.",
    "limit": "how many at most.",
    "min_trust": 'leave out what is less trusted: "medium" leaves out what tools and web pages say.',
    "session": "only of this conversation.",
    "shared": "also what all users share.",
    "since": "only what happened at this time or later, ISO 8601.",
    "source": 'only of this source, such as "import:slack".',
    "until": "only what happened earlier than this, ISO 8601.",
    "where": 'a condition on the metadata, such as {"trip": "Lisbon"} or {"nights": {"$gte": 3}}.',
}
"""The texts of the fields of which a model needs to know less, or how JSON writes them."""


def asks(
    kind: type[R], names: str, /, *, defaults: Mapping[str, Any] | None = None, **types: Any
) -> Callable[[Callable[[Any, R], Awaitable[T]]], Callable[..., Awaitable[T]]]:
    """Make a tool of a method that answers a request: the tool takes the fields of the request that are named.

    Args:
        kind: the type of request.
        names: the arguments, in order, with blanks between them.
        defaults: those that are others than the request's.
        types: those that are others than the request's.
    """
    chosen = {name: kind.__dataclass_fields__[_NAMES.get(name, name)] for name in names.split()}
    values = {name: field.default for name, field in chosen.items()} | dict(defaults or {})
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for name, field in chosen.items():
        default = {MISSING: Parameter.empty, (): None}.get(values[name], values[name])
        hint = types.get(name) or _TYPES.get(name) or field.type.__origin__
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))

    def made(answer: Callable[[Any, R], Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        @wraps(answer)
        async def tool(self: Any, **given: Any) -> T:
            asked = {**(defaults or {}), **{name: value for name, value in given.items() if value is not None}}
            if "limit" in asked:
                check_most("limit", asked["limit"], MOST_RESULTS)
            return await answer(self, kind.of({_NAMES.get(name, name): value for name, value in asked.items()}))

        tool.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        tool.__annotations__ = {each.name: each.annotation for each in parameters[1:]}
        tool.__text__ = _text(answer, kind, list(chosen))  # type: ignore[attr-defined]
        return tool

    return made


def _text(answer: Callable[..., Any], kind: type[requests.Request[Any]], names: list[str]) -> str:
    """Return the text of a tool: that of the method, with those of the request's fields."""
    told = dict[str, str]()
    for each in (Narrowed, kind):
        told |= read_docstring(docstring_of(each))[1]
    told |= _TEXTS
    return "\n".join([docstring_of(answer), "", "Args:", *(f"    {name}: {told[name]}" for name in names)])
