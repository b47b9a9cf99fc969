"""What requests and answers look like. The values themselves are checked where they are used, by the verbs."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from memorist.arguments import unknown_arguments
from memorist.records import Action, Kind

__all__ = [
    "BrowseBody",
    "Caller",
    "Changes",
    "ContextAnswer",
    "ContextBody",
    "Count",
    "CountBody",
    "DraftBody",
    "Embedded",
    "EmbeddingsBody",
    "Faults",
    "FindBody",
    "ForgetBody",
    "Forgotten",
    "Hits",
    "LoadReportBody",
    "PageBody",
    "Problem",
    "Purged",
    "RateBody",
    "RecallBody",
    "RecentBody",
    "RecordBody",
    "Records",
    "RememberBody",
    "ReviseBody",
    "Status",
    "Users",
    "VectorsBody",
]

KindName: TypeAlias = Literal["message", "note", "topic", "episode", "fact", "experience", "tool_use", "tool_guideline"]
Kinds: TypeAlias = KindName | list[KindName]
Time: TypeAlias = Annotated[
    str | float, Field(description="ISO 8601 or another common form, or seconds since 1970; UTC without a zone.")
]
Expiry: TypeAlias = Annotated[str | float, Field(description="A point in time, or a number of seconds from now.")]
Where: TypeAlias = Annotated[
    dict[str, Any],
    Field(description="A condition on fields.", examples=[{"city": "Oslo", "nights": {"$gte": 3}}]),
]
Json: TypeAlias = dict[str, Any]
Rating: TypeAlias = Annotated[
    float, Field(json_schema_extra={"minimum": -1, "maximum": 1}, description="From -1 (bad) to 1 (good).")
]
Flag: TypeAlias = Annotated[
    bool, Field(strict=True), BeforeValidator(lambda text: {"true": True, "false": False}.get(text, text))
]
"""A truth value in a query: the words of JSON, and no others."""
Limit: TypeAlias = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 10_000})]
Similarity: TypeAlias = Annotated[float, Field(json_schema_extra={"minimum": 0, "maximum": 1})]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, given: Any) -> Any:
        if isinstance(given, dict):
            unknown_arguments(cls.__name__.removesuffix("Body").lower(), given, cls.model_fields)
        return given

    def given(self) -> dict[str, Any]:
        """Return the fields that the caller gave."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class DraftBody(_Body):
    """A record to be."""

    content: str = Field(description="The text to keep.", examples=["Prefers homestays when she travels"])
    kind: KindName = "note"
    id: str | None = Field(None, description="An id of the caller's own, unique for its user; made up if left out.")
    cue: str | None = Field(None, description="What recall matches instead of the content.")
    key: str | None = Field(None, description="An exact handle, unique for a user and kind.")
    metadata: Json | None = Field(None, description="The caller's own fields.", examples=[{"trip": "Lisbon"}])
    payload: Json | None = Field(None, description="The kind's own fields.")
    source: str | None = Field(None, description="Who or what says so.")
    verified: bool | None = None
    rating: Rating | None = None
    happened_at: Time | None = None
    expires_at: Expiry | None = None
    supersedes: str | None = Field(None, description="The id of a record whose place this one takes.")
    agent: str | None = None
    session: str | None = None
    vector: list[float] | None = Field(None, description="The embedding of its text, where the caller has it.")


class RememberBody(_Body):
    """Records to store: all or none."""

    records: list[DraftBody] = Field(examples=[[{"content": "Is allergic to peanuts"}]])
    if_exists: Literal["error", "replace", "ignore"] = "error"
    forgetting: list[str] = Field(default=[], description="Ids of records to forget in the same step, before.")


class ReviseBody(_Body):
    """The fields to change."""

    content: str | None = Field(None, examples=["Prefers hotels since 2025"])
    cue: str | None = None
    metadata: Json | None = None
    payload: Json | None = None
    verified: bool | None = None
    happened_at: Time | None = None
    expires_at: Expiry | None = None
    source: str | None = None


class RateBody(_Body):
    """Feedback, or null to take it back."""

    rating: Rating | None = Field(examples=[0.5])
    source: str | None = None


class _Filter(_Body):
    kind: Kinds | None = Field(None, description="Only this kind, or one of these.", examples=["note"])
    where: Where | None = None
    payload: Where | None = None
    since: Time | None = None
    until: Time | None = None
    verified: bool | None = None
    key: str | None = Field(None, description="Only the record with exactly this key.")
    key_prefix: str | None = Field(None, description="Only records whose key begins so.")


class _Exact(_Filter):
    as_of: Time | None = None
    superseded: bool = False
    shared: bool = False
    everyone: bool = Field(False, description="All users of the tenant; needs the right admin.")


class RecallBody(_Filter):
    """A question, and where to look."""

    query: str = Field(examples=["where does she like to stay?"])
    limit: Limit = 5
    as_of: Time | None = None
    now: Time | None = None
    shared: bool = False
    min_score: Similarity = 0.0
    min_similarity: Similarity = 0.0
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid"
    explain: bool = False
    vector: list[float] | None = None


class ContextBody(_Filter):
    """A question, and how much may be told."""

    query: str = Field(examples=["where does she like to stay?"])
    tokens: int = Field(600, description="The most the text may take, four characters a token.")
    min_confidence: Similarity | None = None
    standing: bool = True
    topics: list[str] = Field(default=[], examples=[["user.*"]])
    pinned: list[str] = []
    as_of: Time | None = None
    now: Time | None = None
    shared: bool = False


class RecentBody(_Filter):
    """How many of the newest, and of which."""

    limit: Limit = 10
    shared: bool = False


class BrowseBody(_Exact):
    """A filter, an order, and where the page before ended."""

    order: Literal["newest", "oldest", "key"] = "newest"
    limit: Limit = 50
    cursor: str | None = Field(None, description="The `next` of the page before.")


class CountBody(_Exact):
    """A filter."""


class ForgetBody(_Filter):
    """Ids, or a filter, or both."""

    ids: list[str] = Field(default=[], examples=[["0f8c…"]])
    source: str | None = None


class FindBody(_Body):
    """Ids, and whose."""

    ids: list[str] = Field(examples=[["0f8c…"]])
    everyone: bool = Field(False, description="All users of the tenant; needs the right admin.")


class VectorsBody(_Body):
    """Ids of records."""

    ids: list[str] = Field(examples=[["0f8c…"]])


# --- answers -------------------------------------------------------------------------------------------


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


class Purged(BaseModel):
    """How many records are gone, for good."""

    purged: int


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
