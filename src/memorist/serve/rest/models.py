"""The models of answers, for OpenAPI."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, create_model

from memorist.origins import Trust
from memorist.records import Action, Kind

Json: TypeAlias = dict[str, Any]


class OriginBody(BaseModel):
    """Who had a hand in a record, where it was written, and what it was derived from."""

    authors: list[str]
    door: str | None
    derived_from: list[str]
    lost: int


class RecordBody(BaseModel):
    """One memory, as it is stored."""

    id: str
    kind: Kind
    tenant: str
    user: str | None
    agent: str | None
    session: str | None
    content: str
    cue: str | None
    key: str | None
    metadata: Json
    payload: Json
    source: str | None
    verified: bool
    rating: float | None
    created_at: str
    updated_at: str
    happened_at: str | None
    expires_at: str | None
    superseded_by: str | None
    superseded_at: str | None
    version: int
    origin: OriginBody


class SourceBody(BaseModel):
    """A record that another comes from, how far it is trusted, and how many derivations lie between the two."""

    record: RecordBody
    trust: Trust
    depth: int


class HitBody(BaseModel):
    """A record that recall found."""

    record: RecordBody
    similarity: float
    score: float
    matched: list[str]
    signals: dict[str, float]


class ContextItemBody(BaseModel):
    """A record in a context, the text shown of it, and why it is there."""

    record: RecordBody
    text: str
    why: str
    score: float


class ContextAnswer(BaseModel):
    """What an agent is told; `confidence` is how likely the memory holds the answer."""

    text: str
    confidence: float
    items: list[ContextItemBody]
    tokens: int


class TracedHitBody(BaseModel):
    """A record that a call gave, or just missed."""

    id: str
    score: float
    why: str
    shared: bool
    place: list[int] | None


class TraceBody(BaseModel):
    """What one call was asked, what came of it, and how long its parts took, in seconds."""

    id: str
    at: str
    tenant: str
    user: str | None
    agent: str | None
    session: str | None
    verb: str
    door: str
    question: str
    asked: Json
    text: str
    confidence: float | None
    tokens: int | None
    hits: list[TracedHitBody]
    missed: list[TracedHitBody]
    seconds: float
    parts: dict[str, float]
    error: str | None


class ChangeBody(BaseModel):
    """What happened to a record; `record` is as it stood after."""

    id: str
    action: Action
    at: str
    source: str | None
    record: RecordBody | None


class Statement(BaseModel):
    """A statement; `signature` covers its other fields, and is null where the server cannot sign."""

    model_config = ConfigDict(extra="allow")

    type: str
    at: str
    signature: dict[str, str] | None


class UserBody(BaseModel):
    """A user, or null for the shared records, and how many records there are."""

    user: str | None
    count: int


class BadLineBody(BaseModel):
    """A line that could not be loaded, by its number from 1."""

    number: int
    reason: str


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


class RetentionRule(BaseModel):
    """How long records are kept: an age as "90d", or "forever"."""

    keep: str
    kind: str | list[str] | None = None
    session: str | None = None
    where: dict[str, Any] | None = None


class Caller(BaseModel):
    """What the caller's token allows; `tenant` and `user` are null where the token is not bound to one.

    `trust` is how far each author of a record is trusted, by the server's settings.
    """

    name: str
    tenant: str | None
    user: str | None
    right: Literal["read", "write", "admin"]
    trust: dict[str, Literal["low", "medium", "high"]]


class Problem(BaseModel):
    """What went wrong (RFC 9457); `error` names the class in `memorist.errors`."""

    type: str
    title: str
    status: int
    detail: str
    error: str


def _answer(name: str, about: str, **fields: Any) -> type[BaseModel]:
    """Return the model of an answer that is nested in no other, from the types of its fields, all required."""
    required: Any = {field: (hint, ...) for field, hint in fields.items()}
    return create_model(name, __doc__=about, **required)


ProvenanceBody = _answer(
    "ProvenanceBody",
    "Where a record comes from; `missing` are the ids of sources that are not there any more.",
    sources=list[SourceBody],
    missing=list[str],
)
DerivedBody = _answer(
    "DerivedBody",
    "What was derived from some records alone, and what also rests on others.",
    alone=list[RecordBody],
    partly=list[RecordBody],
)
Records = _answer("Records", "Records in order.", records=list[RecordBody])
PageBody = _answer(
    "PageBody",
    "One page, and the cursor that the next request takes; null at the end.",
    records=list[RecordBody],
    next=str | None,
)
Hits = _answer("Hits", "Hits, best first.", hits=list[HitBody])
TracesBody = _answer(
    "TracesBody",
    "One page of traces, and the cursor that the next request takes; null at the end.",
    traces=list[TraceBody],
    next=str | None,
)
Changes = _answer("Changes", "A record's history, oldest change first.", changes=list[ChangeBody])
EmbeddingsBody = _answer(
    "EmbeddingsBody", "The stored embeddings by id: vectors of unit length.", vectors=dict[str, list[float]]
)
Count = _answer("Count", "How many records.", count=int)
Forgotten = _answer("Forgotten", "How many records are gone.", forgotten=int)
Purged = _answer(
    "Purged",
    "How many records are gone, for good, or of a dry run would be, and the receipt.",
    purged=int,
    receipt=Statement,
)
Users = _answer("Users", "The users of a tenant.", users=list[UserBody])
LoadReportBody = _answer("LoadReportBody", "What came of a load.", added=int, existing=int, bad=list[BadLineBody])
AuditEntries = _answer("AuditEntries", "Entries of the audit log, oldest first.", entries=list[AuditEntryBody])
RetentionRules = _answer("RetentionRules", "The rules of a tenant.", rules=list[RetentionRule])
RetentionReportBody = _answer(
    "RetentionReportBody",
    "The rules, and how many records of each kind are too old by them.",
    rules=list[RetentionRule],
    due=dict[str, int],
)
Swept = _answer("Swept", "How many records were deleted.", swept=int)
Faults = _answer("Faults", "What is wrong with the store; empty where nothing is.", faults=list[str])
Status = _answer("Status", "How the server is.", status=Literal["ok"], version=str)
