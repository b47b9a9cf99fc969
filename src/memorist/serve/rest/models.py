"""The schemas of answers, for OpenAPI: made from the types of the answers, but where JSON has another form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from enum import Enum, Flag
from typing import Any, Literal, TypeAlias, get_args, get_origin

from memorist.audit.log import AuditEntry
from memorist.operations import requests
from memorist.operations.answers import Context, TracePage
from memorist.operations.request import answer_of
from memorist.operations.table import OPERATIONS
from memorist.records.codec import is_inline
from memorist.records.retention import Rule
from memorist.system.docstrings import docstring_of
from memorist.system.hints import fields_of, read_hint

Schema: TypeAlias = dict[str, Any]
SCHEMAS = dict[str, Schema]()
"""The schemas that have a name, those of every answer that a route has named."""
_SIMPLE: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", datetime: "string"}


@dataclass
class Statement:
    """A statement; `signature` covers its other fields, and is null where the server cannot sign."""

    type: str
    at: str
    signature: dict[str, str] | None


@dataclass
class UserBody:
    """A user, or null for the shared records, and how many records there are."""

    user: str | None
    count: int


@dataclass
class AuditEntryBody:
    """An entry of the audit log; its hash covers all of it, and the hash of the entry before."""

    number: int
    at: str
    verb: str
    door: str
    token: str | None
    tenant: str
    wall: int | None
    records: dict[str, dict[str, int]]
    hash: str


@dataclass
class RetentionRule:
    """How long records are kept: an age as "90d", or "forever"."""

    keep: str
    kind: str | list[str] | None = None
    session: str | None = None
    where: dict[str, Any] | None = None


@dataclass
class Caller:
    """What the caller's token allows; `tenant` and `user` are null where the token is not bound to one.

    `trust` is how far each author of a record is trusted, by the server's settings; `zone` is that of calls which
    name none, null where the server's machine does not tell its name.
    """

    name: str
    tenant: str | None
    user: str | None
    right: Literal["read", "write", "admin"]
    trust: dict[str, Literal["low", "medium", "high"]]
    zone: str | None


@dataclass
class Problem:
    """What went wrong (RFC 9457); `error` names the class in `memorist.errors`."""

    type: str
    title: str
    status: int
    detail: str
    error: str


@dataclass
class Purged:
    """How many records are gone, for good, or of a dry run would be, and the receipt."""

    purged: int
    receipt: Statement


@dataclass
class Status:
    """How the server is."""

    status: Literal["ok"]
    version: str


_INSTEAD: Mapping[Any, type] = {AuditEntry: AuditEntryBody, Rule: RetentionRule}
_NAMES: Mapping[Any, str] = {
    Context: "ContextAnswer", TracePage: "TracesBody",
    "vectors": "EmbeddingsBody", "entries": "AuditEntries", "rules": "RetentionRules",
}  # fmt: skip
"""The names of schemas that are not made of the name of a type or of a field."""
_FORMS: Mapping[type[requests.Request[Any]], Any] = {
    requests.Vectors: dict[str, list[float]],
    requests.Users: list[UserBody],
    requests.Checkpoint: Statement,
}
"""The answers that JSON has in another form than Python."""


def first_paragraph(described: Any) -> str:
    """Return the first paragraph of a docstring, in JSON's words."""
    paragraph = docstring_of(described).partition("\n\n")[0]
    return " ".join(re.sub(r"\bNone\b", "null", paragraph).split())


def answer_to(kind: type[requests.Request[Any]]) -> Schema:
    """Return the schema of the answer to a type of request."""
    form, field = _FORMS.get(kind) or answer_of(kind), OPERATIONS[kind].field
    if not field:
        [model] = read_hint(form).kinds
        return schema_of(model)
    return named(_NAMES.get(field, field.capitalize()), {field: form})


def named(name: str, hints: Mapping[str, Any], **more: Any) -> Schema:
    """Return a reference to a schema with fields of these types, which by default are always there."""
    properties = {field: _titled(field, schema_of(hint)) for field, hint in hints.items()}
    return _kept(name, {"properties": properties, "required": list(hints), **more})


def model_of(kind: Any) -> Schema:
    """Return a reference to the schema of a type of answer, of which each field has a value."""
    kind = _INSTEAD.get(kind, kind)
    if kind.__module__ == __name__:
        required = [each.name for each in fields(kind) if each.default is MISSING]
        more = {"additionalProperties": True} if kind is Statement else {}
        return named(kind.__name__, fields_of(kind), required=required, description=docstring_of(kind), **more)
    hints = dict[str, Any]()
    for field, hint in fields_of(kind).items():
        hints |= fields_of(hint) if is_inline(hint) else {field: hint}
    return named(_NAMES.get(kind, f"{kind.__name__}Body"), hints, description=first_paragraph(kind))


def schema_of(hint: Any) -> Schema:
    """Return the schema of a value as JSON has it; that of a class has a name, and is referred to."""
    kinds, optional, _ = read_hint(hint)
    schemas = [_one(each) for each in kinds]
    if optional:
        schemas.append({"type": "null"})
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _one(kind: Any) -> Schema:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if origin is Literal:
        return {"type": "string", **({"enum": list(inner)} if len(inner) > 1 else {"const": inner[0]})}
    if origin in (list, tuple, Sequence):
        return {"type": "array", "items": schema_of(inner[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": inner[1] is Any or schema_of(inner[1])}
    if kind is Any:
        return {}
    if issubclass(kind, Flag):
        return {"type": "array", "items": {"type": "string"}}
    if issubclass(kind, Enum):
        values = [each.value for each in kind]
        return _kept(kind.__name__, {"description": docstring_of(kind), "enum": values, "type": "string"})
    return model_of(kind)


def _kept(name: str, schema: Schema) -> Schema:
    """Keep a schema under its name, and return the reference to it."""
    SCHEMAS[name] = {"type": "object", "title": name, **schema}
    return {"$ref": f"#/components/schemas/{name}"}


def _titled(name: str, schema: Schema) -> Schema:
    """Return the schema of a field with a title, which one that is referred to has itself."""
    if any("$ref" in each for each in schema.get("anyOf", [schema])):
        return schema
    return {**schema, "title": name.replace("_", " ").title()}
