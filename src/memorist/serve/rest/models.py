"""The models of answers, for OpenAPI: made from the types of the answers, but where JSON has another form."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum, Flag
from functools import reduce
from operator import or_
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, create_model

from memorist.audit.log import AuditEntry
from memorist.operations import requests
from memorist.operations.answers import Context, TracePage
from memorist.operations.lines import LoadReport
from memorist.operations.request import answer_of
from memorist.operations.table import OPERATIONS
from memorist.records.codec import Plain, is_inline
from memorist.records.origins import Origin
from memorist.records.record import Record
from memorist.records.retention import Rule
from memorist.system.docstrings import docstring_of, with_docstring
from memorist.system.hints import fields_of, once, read_hint


@with_docstring
class Statement(BaseModel):
    """A statement; `signature` covers its other fields, and is null where the server cannot sign."""

    model_config = ConfigDict(extra="allow")

    type: str
    at: str
    signature: dict[str, str] | None


@with_docstring
class UserBody(BaseModel):
    """A user, or null for the shared records, and how many records there are."""

    user: str | None
    count: int


@with_docstring
class AuditEntryBody(BaseModel):
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


@with_docstring
class RetentionRule(BaseModel):
    """How long records are kept: an age as "90d", or "forever"."""

    keep: str
    kind: str | list[str] | None = None
    session: str | None = None
    where: dict[str, Any] | None = None


@with_docstring
class Caller(BaseModel):
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


@with_docstring
class Problem(BaseModel):
    """What went wrong (RFC 9457); `error` names the class in `memorist.errors`."""

    type: str
    title: str
    status: int
    detail: str
    error: str


_WRITTEN: Mapping[Any, type[BaseModel]] = {AuditEntry: AuditEntryBody, Rule: RetentionRule}
_NAMES: Mapping[Any, str] = {
    Context: "ContextAnswer", TracePage: "TracesBody",
    "vectors": "EmbeddingsBody", "entries": "AuditEntries", "rules": "RetentionRules",
}  # fmt: skip
"""The names of models that are not made of the name of a type or of a field."""
_FORMS: Mapping[type[requests.Request[Any]], Any] = {
    requests.Vectors: dict[str, list[float]],
    requests.Users: list[UserBody],
    requests.Checkpoint: Statement,
}
"""The answers that JSON has in another form than Python."""


def _answer(name: str, about: str | None, **hints: Any) -> type[BaseModel]:
    """Return a model whose fields, of these types, are always there."""
    required: Any = {field: (hint, ...) for field, hint in hints.items()}
    return create_model(name, __doc__=about, **required)


def first_paragraph(described: Any) -> str:
    """Return the first paragraph of a docstring, in JSON's words."""
    paragraph = docstring_of(described).partition("\n\n")[0]
    return " ".join(re.sub(r"\bNone\b", "null", paragraph).split())


@once
def model_of(kind: Any) -> type[BaseModel]:
    """Return the model of a type of answer."""
    if kind in _WRITTEN:
        return _WRITTEN[kind]
    hints: dict[str, Any] = {}
    for name, hint in fields_of(kind).items():
        hints |= fields_of(hint) if is_inline(hint) else {name: _form(hint)}
    return _answer(_NAMES.get(kind, f"{kind.__name__}Body"), first_paragraph(kind), **hints)


def _form(hint: Any) -> Any:
    """Return the type of a value as JSON has it."""
    kinds, optional, _ = read_hint(hint)
    forms = [_plain_form(each) for each in kinds]
    return reduce(or_, [*forms, *([None] if optional else [])])


def _plain_form(kind: Any) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (list, tuple, Sequence):
        return list[_form(inner[0])]  # type: ignore[misc]
    if origin in (dict, Mapping):
        return dict[str, _form(inner[1])]  # type: ignore[misc]
    if kind is datetime:
        return str
    if not isinstance(kind, type):
        return kind
    if issubclass(kind, Flag):
        return list[str]
    if issubclass(kind, Enum):
        return with_docstring(kind)
    return model_of(kind) if issubclass(kind, Plain | Record | Origin | Rule | AuditEntry) else kind


def answer_to(kind: type[requests.Request[Any]]) -> type[BaseModel]:
    """Return the model of the answer to a type of request."""
    form, field = _FORMS.get(kind) or _form(answer_of(kind)), OPERATIONS[kind].field
    if field:
        return _answer(_NAMES.get(field, field.capitalize()), None, **{field: form})
    [model] = read_hint(form).kinds
    return model  # type: ignore[no-any-return]


Purged = _answer(
    "Purged",
    "How many records are gone, for good, or of a dry run would be, and the receipt.",
    purged=int,
    receipt=Statement,
)
Records = _answer("Records", None, records=list[model_of(Record)])  # type: ignore[misc]
LoadReportBody = model_of(LoadReport)
Status = _answer("Status", "How the server is.", status=Literal["ok"], version=str)
