"""Tools made from requests: a tool's arguments are fields of a request, with their types, defaults and texts."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import reduce
from inspect import Parameter, Signature, signature
from operator import or_
from typing import Any, TypeVar, get_type_hints

from memorist.agents.excerpts import MOST_RESULTS, check_most
from memorist.operations.arguments import UNSET, Unset
from memorist.records.record import Hit, Record
from memorist.system.docstrings import docstring_of, read_docstring
from memorist.system.hints import fields_of, read_hint
from memorist.verbs.texts import texts_of

T = TypeVar("T")
Tool = Callable[..., Awaitable[T]]
_TIME = "ISO 8601."
_EXPIRY = "expires_at"


def takes(
    kind: type[Any], names: str, /, *, defaults: Mapping[str, Any] | None = None, **types: Any
) -> Callable[[Tool[T]], Tool[T]]:
    """Make a tool of a method, with fields of a request, or of a draft, among its arguments.

    The method takes what was given of them as one mapping, by the names of the fields, and its own arguments by their
    names. What its docstring says of a field is added to what the request says of it.

    Args:
        kind: the type of request, or `Draft`.
        names: the fields, with blanks between them; ``question=query`` is the field `query`, which the tool calls
            `question`.
        defaults: those that are others than the request's, by field.
        types: those that are others than the request's, by field.
    """
    chosen = dict(_named(each) for each in names.split())
    others = defaults or {}
    derived = [_parameter(name, field, kind, others, types) for name, field in chosen.items()]

    def made(answer: Tool[T]) -> Tool[T]:
        async def tool(self: Any, **given: Any) -> T:
            fields = {field: given.pop(name, None) for name, field in chosen.items()}
            told = {**others, **{field: value for field, value in fields.items() if value is not None}}
            if "limit" in told:
                check_most("limit", told["limit"], MOST_RESULTS)
            return await answer(self, told, **given)

        hints = get_type_hints(answer)
        myself, _, *own = signature(answer).parameters.values()
        parameters = [*(each.replace(annotation=hints[each.name]) for each in own), *derived]
        parameters.sort(key=lambda each: each.default is not Parameter.empty)
        tool.__name__ = answer.__name__
        tool.__signature__ = Signature([myself, *parameters])  # type: ignore[attr-defined]
        tool.__annotations__ = {each.name: each.annotation for each in parameters}
        tool.__takes__ = kind, chosen  # type: ignore[attr-defined]
        tool.__text__ = _text(answer, kind, chosen)  # type: ignore[attr-defined]
        return tool

    return made


def _named(name: str) -> tuple[str, str]:
    """Return what a tool calls a field, and the field."""
    called, _, field = name.partition("=")
    return called, field or called


def _parameter(
    name: str, field: str, kind: type[Any], defaults: Mapping[str, Any], types: Mapping[str, Any]
) -> Parameter:
    declared = next(each for each in fields(kind) if each.name == field)
    default = defaults.get(field, declared.default)
    if default is MISSING:
        default = Parameter.empty
    elif default is UNSET or default == ():
        default = None
    hint = types.get(field) or _type_of(kind, field, optional=default is None)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _type_of(kind: type[Any], field: str, *, optional: bool) -> Any:
    """Return the type that a field has in JSON."""
    kinds = [each for each in read_hint(fields_of(kind)[field]).kinds if each not in (Unset, Record, Hit)]
    if datetime in kinds:
        kinds = [str, float] if field == _EXPIRY else [str]
    return reduce(or_, [*kinds, *([None] if optional else [])])


def _text(answer: Callable[..., Any], kind: type[Any], chosen: Mapping[str, str]) -> str:
    """Return the docstring of a tool: that of the method, with the texts of the request's fields."""
    summary, own = read_docstring(docstring_of(answer))
    for name, field in chosen.items():
        parts = [texts_of(kind)[field], own.get(name)]
        if field != _EXPIRY and datetime in read_hint(fields_of(kind)[field]).kinds:
            parts.append(_TIME)
        own[name] = " ".join(part for part in parts if part)
    return "\n".join([summary, "", "Args:", *(f"    {name}: {text}" for name, text in own.items())])
