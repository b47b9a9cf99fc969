"""JSON bodies: read strictly, made into the requests of verbs, and described to OpenAPI from those."""

import asyncio
import inspect
import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from fastapi import Depends, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from memorist import arguments as read
from memorist import requests
from memorist.agents.docstrings import read_docstring
from memorist.agents.parameters import schema_of
from memorist.errors import FormatError, InvalidInputError
from memorist.records import Draft, Kind
from memorist.times import TimeLike
from memorist.verbs import Verbs

__all__ = ["Body", "NotJsonError", "asked", "takes"]

R = TypeVar("R", bound=requests.Request[Any])
_ELSEWHERE = ("id", "agent", "session", "count_tokens")
"""Arguments that are in the path or in the query, or of Python alone."""
_LARGE = 64 * 1024
"""Bodies from here on are parsed beside the event loop, which would stand still meanwhile."""
_parser = ThreadPoolExecutor(1, "memorist-json")
"""One thread: the bodies of many callers are parsed one after the other, with room between for everybody else."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_KIND = {"type": "string", "enum": [str(kind) for kind in Kind]}
_SPECIAL: Mapping[frozenset[Any], dict[str, Any]] = {
    frozenset(get_args(requests.Kinds)): {"anyOf": [_KIND, {"type": "array", "items": _KIND}]},
    frozenset(get_args(Kind | str)): _KIND,
    frozenset(get_args(TimeLike)): {"type": ["string", "number"]},
    frozenset((requests.Where,)): {"type": "object"},
    frozenset((tuple[str, ...],)): {"type": "array", "items": {"type": "string"}},
    frozenset((Any,)): {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
}
"""The schemas of types that JSON does not have: what stands for them there."""
_RANGES: Mapping[Any, dict[str, Any]] = {
    read.limit: {"minimum": 0, "maximum": read.MAX_LIMIT},
    read.probability: {"minimum": 0, "maximum": 1},
}


class NotJsonError(FormatError):
    """The body is not JSON."""


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent.

    Raises:
        NotJsonError: it is not JSON.
        InvalidInputError: it is no object.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "send the body as application/json")
    try:
        sent = await request.body()
    except ClientDisconnect as error:
        raise NotJsonError("the body broke off") from error
    if not sent:
        raise InvalidInputError("the body is missing; it must be a JSON object")
    large = len(sent) >= _LARGE
    value = await asyncio.get_running_loop().run_in_executor(_parser, _parsed, sent) if large else _parsed(sent)
    if not isinstance(value, dict):
        raise InvalidInputError("the body must be a JSON object")
    return value


Body: TypeAlias = Annotated[dict[str, Any], Depends(_body)]


def asked(kind: type[R], body: Mapping[str, Any], **more: Any) -> R:
    """Return the request that a body makes, with arguments that came otherwise."""
    read.unknown_arguments(kind.verb, body, _fields(kind))
    return kind.of({**body, **more})


@cache
def takes(kind: type[requests.Request[Any]]) -> dict[str, Any]:
    """Return what OpenAPI says of a body that `asked` makes a request."""
    texts = _texts(requests.Bounds, requests.Narrowing, Verbs.browse, getattr(Verbs, kind.verb))
    schema = _object(kind, f"{kind.__name__}Body", texts)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields that a body has, and their defaults."""
    return {each.name: each.default for each in fields(kind) if each.name not in _ELSEWHERE or kind is Draft}


def _texts(*described: Any) -> dict[str, str]:
    texts = dict[str, str]()
    for each in described:
        texts |= read_docstring(inspect.getdoc(each) or "")[1]
    return texts


def _object(kind: Any, title: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON schema of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    properties, required = {}, []
    for name, default in _fields(kind).items():
        properties[name] = _schema(hints[name]) | ({"description": texts[name]} if name in texts else {})
        if default is MISSING:
            required.append(name)
        elif default is not None:
            properties[name]["default"] = requests.plain(default)
    schema = {"type": "object", "title": title, "properties": properties, "additionalProperties": False}
    return schema | ({"required": required} if required else {})


def _schema(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of an argument."""
    if get_origin(hint) is Annotated:
        hint, reader = hint.__origin__, hint.__metadata__[0]
        schema = _schema(hint)
        for each in schema.get("anyOf", [schema])[:1]:
            each |= _RANGES.get(reader, {})
        return schema
    parts = frozenset(get_args(hint)) if get_origin(hint) in (Union, UnionType) else frozenset((hint,))
    kinds = parts - {NoneType}
    if kinds == {tuple[Draft, ...]}:
        schema = {"type": "array", "items": _object(Draft, "DraftBody", _texts(Draft))}
    else:
        schema = dict(_SPECIAL[kinds]) if kinds in _SPECIAL else schema_of(hint)
    return {"anyOf": [schema, {"type": "null"}]} if NoneType in parts else schema


def _parsed(body: bytes) -> Any:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
        if _SURROGATE.search(body):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except UnicodeEncodeError as error:
        raise NotJsonError("the body is not JSON: a lone surrogate is no character") from error
    except UnicodeDecodeError as error:
        raise NotJsonError(f"the body is not JSON: not UTF-8, {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise NotJsonError(f"the body is not JSON: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
