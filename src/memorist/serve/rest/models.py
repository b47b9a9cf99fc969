"""What answers look like."""

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from memorist.origins import Trust
from memorist.records import Action, Kind

__all__ = [
    "Caller",
    "Changes",
    "ContextAnswer",
    "Count",
    "DerivedBody",
    "Embedded",
    "EmbeddingsBody",
    "Faults",
    "Forgotten",
    "Hits",
    "LoadReportBody",
    "PageBody",
    "Problem",
    "ProvenanceBody",
    "Purged",
    "RecordBody",
    "Records",
    "Status",
    "TracesBody",
    "Users",
]

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


class ProvenanceBody(BaseModel):
    """Where a record comes from; `missing` are the ids of sources that are not there any more."""

    sources: list[SourceBody]
    missing: list[str]


class DerivedBody(BaseModel):
    """What was derived from some records alone, and what also rests on others."""

    alone: list[RecordBody]
    partly: list[RecordBody]


class Records(BaseModel):
    """Records in order."""

    records: list[RecordBody]


class PageBody(Records):
    """One page, and the cursor that the next request takes; null at the end."""

    next: str | None


class HitBody(BaseModel):
    """A record that recall found."""

    record: RecordBody
    similarity: float
    score: float
    matched: list[str]
    signals: dict[str, float]


class Hits(BaseModel):
    """Hits, best first."""

    hits: list[HitBody]


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


class TracesBody(BaseModel):
    """One page of traces, and the cursor that the next request takes; null at the end."""

    traces: list[TraceBody]
    next: str | None


class ChangeBody(BaseModel):
    """What happened to a record; `record` is as it stood after."""

    id: str
    action: Action
    at: str
    source: str | None
    record: RecordBody | None


class Changes(BaseModel):
    """A record's history, oldest change first."""

    changes: list[ChangeBody]


class EmbeddingsBody(BaseModel):
    """The stored embeddings by id: vectors of unit length."""

    vectors: dict[str, list[float]]


class Count(BaseModel):
    """How many records."""

    count: int


class Forgotten(BaseModel):
    """How many records are gone."""

    forgotten: int


class Statement(BaseModel):
    """A statement; `signature` covers its other fields, and is null where the server cannot sign."""

    model_config = ConfigDict(extra="allow")

    type: str
    at: str
    signature: dict[str, str] | None


class Purged(BaseModel):
    """How many records are gone, for good, or of a dry run would be, and the receipt."""

    purged: int
    receipt: Statement


class Embedded(BaseModel):
    """How many records were embedded."""

    embedded: int


class UserBody(BaseModel):
    """A user, or null for the shared records, and how many records there are."""

    user: str | None
    count: int


class Users(BaseModel):
    """The users of a tenant."""

    users: list[UserBody]


class BadLineBody(BaseModel):
    """A line that could not be loaded, by its number from 1."""

    number: int
    reason: str


class LoadReportBody(BaseModel):
    """What came of a load."""

    added: int
    existing: int
    bad: list[BadLineBody]


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


class AuditEntries(BaseModel):
    """Entries of the audit log, oldest first."""

    entries: list[AuditEntryBody]


class RetentionRule(BaseModel):
    """How long records are kept: an age as "90d", or "forever"."""

    keep: str
    kind: str | list[str] | None = None
    session: str | None = None
    where: dict[str, Any] | None = None


class RetentionRules(BaseModel):
    """The rules of a tenant."""

    rules: list[RetentionRule]


class RetentionReportBody(RetentionRules):
    """The rules, and how many records of each kind are too old by them."""

    due: dict[str, int]


class Swept(BaseModel):
    """How many records were deleted."""

    swept: int


class Faults(BaseModel):
    """What is wrong with the store; empty where nothing is."""

    faults: list[str]


class Caller(BaseModel):
    """What the caller's token allows; `tenant` and `user` are null where the token is not bound to one."""

    name: str
    tenant: str | None
    user: str | None
    right: Literal["read", "write", "admin"]


class Status(BaseModel):
    """How the server is."""

    status: Literal["ok"]
    version: str


class Problem(BaseModel):
    """What went wrong (RFC 9457); `error` names the class in `memorist.errors`."""

    type: str
    title: str
    status: int
    detail: str
    error: str
