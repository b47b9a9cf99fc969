"""From Python types to JSON schemas, and values checked against them."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from memorist.errors import InvalidInputError
from memorist.system.hints import read_hint

_SIMPLE: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_FORMS: Mapping[str, tuple[str, Any]] = {
    "string": ("a string", str),
    "boolean": ("true or false", bool),
    "integer": ("a whole number", int),
    "number": ("a number", int | float),
    "array": ("a list", list | tuple),
    "object": ("an object", Mapping),
    "null": ("null", NoneType),
}
"""What each type of a schema is called in errors, and the Python types of its values."""


def types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's arguments by name.

    Raises:
        InvalidInputError: it is not a function, or the name of a type cannot be resolved.
    """
    if not hasattr(function, "__name__"):  # a `functools.partial`, whose types only some versions of Python can read
        raise InvalidInputError(f"the types of {function!r} cannot be read: it is not a function")
    try:
        return get_type_hints(function)
    except (NameError, TypeError) as error:
        raise InvalidInputError(f"the types of {function!r} cannot be read: {error}") from error


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a Python type: simple types, lists, mappings, literals, enums, unions.

    None in a union means that the argument may be left out. `Any` is a schema without conditions.

    Raises:
        InvalidInputError: JSON has no such type.
    """
    if kind is Any:
        return {}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if (kinds := read_hint(kind).kinds) != (kind,):
        schemas = [schema_of(each) for each in kinds]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return _choice(inner)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return _choice([each.value for each in origin])
    if origin in (list, tuple, set, Sequence, Iterable):
        return {"type": "array", "items": schema_of(inner[0])} if inner else {"type": "array"}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1])} if inner else {"type": "object"}
    raise InvalidInputError(f"{kind!r} cannot be the type of a tool's argument")


def as_declared(value: Any, kind: Any) -> Any:
    """Return a value that fits the schema of `kind`, with enum values replaced by the enum's members."""
    if isinstance(value, list):
        return [as_declared(each, kind) for each in value]
    if isinstance(value, dict):
        return {key: as_declared(each, kind) for key, each in value.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        with suppress(ValueError):  # of a union, another type is meant
            return kind(value)
        return value
    for inner in get_args(kind):
        value = as_declared(value, inner)
    return value


def _choice(values: Iterable[Any]) -> dict[str, Any]:
    chosen = list(values)
    kinds = {_SIMPLE.get(type(value)) for value in chosen}
    schema: dict[str, Any] = {"enum": chosen}
    return {"type": kinds.pop(), **schema} if len(kinds) == 1 else schema


def check_value(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    """Return `value` if it fits the schema. Common mistakes of models, such as "5" for 5, are corrected.

    Raises:
        InvalidInputError: the value does not fit; the text names the argument.
    """
    if "anyOf" in schema:
        return _first_fit(name, value, schema["anyOf"])
    kind = schema.get("type")
    value = _put_right(value, kind)
    if kind is not None and not _is(value, kind):
        raise InvalidInputError(f"{name} must be {_FORMS[kind][0]}, not {value!r}"[:300])
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, schema['enum']))}, not {value!r}"[:300])
    if kind == "array" and "items" in schema:
        return [check_value(f"{name}[{position}]", each, schema["items"]) for position, each in enumerate(value)]
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        inner = schema["additionalProperties"]
        return {key: check_value(f"{name}.{key}", each, inner) for key, each in value.items()}
    return value


def _first_fit(name: str, value: Any, schemas: Iterable[Mapping[str, Any]]) -> Any:
    problems = []
    for schema in schemas:
        try:
            return check_value(name, value, schema)
        except InvalidInputError as error:
            problems.append(str(error))
    raise InvalidInputError(problems[0] if problems else f"{name} cannot be {value!r}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return kind in _FORMS and isinstance(value, _FORMS[kind][1])


def _put_right(value: Any, kind: str | None) -> Any:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    with suppress(ValueError, RecursionError):
        if kind == "integer":
            return int(text)
        if kind == "number" and math.isfinite(float(text)):
            return float(text)
        if kind in ("object", "array") and _is(read := json.loads(text), kind):
            return read
    return value
