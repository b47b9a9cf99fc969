"""The OpenAPI schemas of bodies and queries, made from the requests' types."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, Union, get_args

from memorist.agents.parameters import schema_of
from memorist.operations import arguments as read
from memorist.operations import requests
from memorist.records.codec import plain
from memorist.records.origins import Author, AuthorLike
from memorist.records.record import Draft, Kind, Sources
from memorist.records.retention import Rule
from memorist.records.times import TimeLike
from memorist.system.hints import fields_of, read_hint
from memorist.verbs.texts import texts_of

_ELSEWHERE = ("id", "agent", "session", "count_tokens", "progress")
"""Arguments that stand in the path or in the query, or exist in Python alone."""
_KIND = {"type": "string", "enum": [str(kind) for kind in Kind]}
_AUTHOR = {"type": "string", "enum": Author(~0).names}
_RULE = {
    "type": "object",
    "properties": {
        "keep": {"type": "string"},
        "kind": {"anyOf": [_KIND, {"type": "array", "items": _KIND}]},
        "session": {"type": "string"},
        "where": {"type": "object"},
    },
    "required": ["keep"],
    "additionalProperties": False,
}
_SPECIAL: Mapping[frozenset[Any], dict[str, Any]] = {
    frozenset(get_args(requests.Kinds)): {"anyOf": [_KIND, {"type": "array", "items": _KIND}]},
    frozenset(get_args(Kind | str)): _KIND,
    frozenset(get_args(AuthorLike)): {"anyOf": [_AUTHOR, {"type": "array", "items": _AUTHOR}]},
    frozenset((Sources,)): {"type": "array", "items": {"type": "string"}},
    frozenset(get_args(TimeLike)): {"type": ["string", "number"]},
    frozenset((requests.Where,)): {"type": "object"},
    frozenset((tuple[Rule, ...],)): {"type": "array", "items": _RULE},
    frozenset((Any,)): {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
}
"""The schemas of types that JSON does not have."""
_RANGES: Mapping[Any, dict[str, Any]] = {
    read.limit: {"minimum": 0, "maximum": read.MAX_LIMIT},
    read.integer: {"minimum": -(2**63), "maximum": 2**63 - 1},
    read.tokens: {"minimum": 32, "maximum": read.MAX_TOKENS},
    read.probability: {"minimum": 0, "maximum": 1},
}


def body_of(kind: type[requests.Request[Any]]) -> dict[str, Any]:
    """Return the OpenAPI description of a body that `asked` reads."""
    schema = _object(kind, f"{kind.__name__}Body")
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def parameters_of(kind: type[requests.Request[Any]], *names: str) -> list[dict[str, Any]]:
    """Return the OpenAPI description of the named parameters of a query that `asked_in_query` reads."""
    schema = _object(kind, "")
    return [_parameter(name, schema["properties"][name], schema.get("required", ())) for name in names]


def _parameter(name: str, schema: dict[str, Any], required: Collection[str]) -> dict[str, Any]:
    texts = {"description": schema.pop("description")} if "description" in schema else {}
    plain = next((part for part in schema.get("anyOf", ()) if part != {"type": "null"}), schema)  # a query has no null
    return {"name": name, "in": "query", "required": name in required, "schema": plain, **texts}


def body_fields(kind: Any) -> dict[str, Any]:
    """Return the fields that a body has, and their defaults."""
    return {each.name: each.default for each in fields(kind) if each.name not in _ELSEWHERE or kind is Draft}


def _object(kind: Any, title: str) -> dict[str, Any]:
    """Return the JSON schema of a type of request, or of `Draft`."""
    hints, texts = fields_of(kind), texts_of(kind)
    properties, required = {}, []
    for name, default in body_fields(kind).items():
        properties[name] = _schema(hints[name]) | ({"description": texts[name]} if name in texts else {})
        if default is MISSING:
            required.append(name)
        elif default is not None and default is not read.UNSET:
            properties[name]["default"] = plain(default)
    schema = {"type": "object", "title": title, "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def _schema(hint: Any) -> dict[str, Any]:
    read_kinds, optional, notes = read_hint(hint)
    kinds = tuple(each for each in read_kinds if each is not read.Unset)
    if kinds == (tuple[Draft, ...],):
        schema = {"type": "array", "items": _object(Draft, "DraftBody")}
    else:
        schema = dict(_SPECIAL.get(frozenset(kinds)) or schema_of(Union[kinds]))  # noqa: UP007 - made of a tuple
    for note in notes:
        schema |= _RANGES.get(note, {})
    return {"anyOf": [schema, {"type": "null"}]} if optional else schema
