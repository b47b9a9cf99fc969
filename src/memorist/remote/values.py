"""Arguments and answers, as they travel."""

import inspect
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import fields as fields_of
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.records import Action, Change, Draft, Hit, Record
from memorist.scope import Scope
from memorist.times import iso, parse_time

__all__ = ["arguments_of", "change_of", "draft_to", "dumps", "encoded", "hit_of", "params_of", "part_of", "query_of"]


@cache
def _signature(verb: str) -> inspect.Signature:
    return inspect.signature(getattr(Memory, verb))


def arguments_of(verb: str, *args: Any, **options: Any) -> dict[str, Any]:
    """Return the arguments of a verb that were given, as JSON has them; a wrong name is a TypeError, as ever."""
    signature = _signature(verb)
    given = signature.bind(None, *args, **options).arguments
    del given["self"]
    if verb != "revise":
        given.update({name: _listed(given[name]) for name in ("where", "payload") if name in given})
    left_out = {name for name, value in given.items() if value is None and signature.parameters[name].default is None}
    return {name: _plain(name, value) for name, value in given.items() if name not in left_out}


def _listed(condition: Any) -> Any:
    """Return a condition with its sets of values as lists, which JSON has."""
    if isinstance(condition, Mapping):
        return {name: _listed(value) for name, value in condition.items()}
    if isinstance(condition, list | tuple | set | frozenset):
        return [_listed(each) for each in condition]
    return condition


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(parse_time(value))
    if name == "limit" and type(value) is int:
        return max(value, 0)
    if name == "kind" and not isinstance(value, str) and isinstance(value, Iterable):
        return [str(each) for each in value]
    if name == "query" and isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # a lone surrogate is no word of anyone's
    if name == "vector":
        try:
            return [float(each) for each in value]
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"a vector is a list of numbers: {error}") from error
    return value


def draft_to(draft: Draft) -> dict[str, Any]:
    """Return the fields of a draft that say something, as JSON has them."""
    values = {each.name: getattr(draft, each.name) for each in fields_of(draft)}
    return {name: _plain(name, value) for name, value in values.items() if value is not None}


def params_of(scope: Scope) -> dict[str, str]:
    """Return a scope as the parameters of a query."""
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "session": scope.session}
    return {name: value for name, value in names.items() if value is not None}


def query_of(params: Mapping[str, Any]) -> str:
    """Return the end of a URL that says these."""
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
    return f"?{urlencode(texts)}" if texts else ""


def part_of(id: str) -> str:
    """Return an id as one part of a path, whatever characters it holds."""
    if not isinstance(id, str):
        raise InvalidInputError(f"an id or a key is a string, not {id!r}")
    try:
        return quote(id, safe="").replace(".", "%2E")
    except UnicodeEncodeError as error:
        raise InvalidInputError("the id holds a lone surrogate, which no store can keep") from error


def dumps(body: Any) -> bytes:
    """Return a body as JSON.

    Raises:
        InvalidInputError: something in it is none.
    """

    def other(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{type(value).__name__} is not JSON")

    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, default=other).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error


async def encoded(lines: Iterable[str | bytes] | AsyncIterator[str | bytes]) -> AsyncIterator[bytes]:
    """Yield lines as they are sent, each with its end."""
    if isinstance(lines, AsyncIterator):
        async for line in lines:
            yield _line(line)
    else:
        for line in lines:
            yield _line(line)


def _line(line: str | bytes) -> bytes:
    return (line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line).rstrip(b"\r\n") + b"\n"


def hit_of(plain: Mapping[str, Any]) -> Hit:
    """Return the hit that `Hit.to_dict` made `plain` of."""
    return Hit(
        record=Record.from_dict(plain["record"]),
        similarity=plain["similarity"],
        score=plain["score"],
        matched=tuple(plain["matched"]),
        signals=plain["signals"],
    )


def change_of(plain: Mapping[str, Any]) -> Change:
    """Return the change that `Change.to_dict` made `plain` of."""
    record = None if plain["record"] is None else Record.from_dict(plain["record"])
    return Change(plain["id"], Action(plain["action"]), parse_time(plain["at"]), plain["source"], record)
