"""What is stored and what comes back: records, drafts of them, hits and changes."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from memorist.errors import InvalidInputError, shown
from memorist.records.codec import Plain, plain
from memorist.records.content import is_whole, whole, whole_name, whole_names, whole_text
from memorist.records.kind import Kind
from memorist.records.origins import MAX_SOURCES, NOBODY, Author, AuthorLike, Door, Origin, author_of_role
from memorist.records.scope import Scope
from memorist.records.times import TimeLike, parse_expiry, parse_time, told
from memorist.records.zones import moved

__all__ = [
    "Action",
    "Change",
    "CommonFields",
    "Draft",
    "Fields",
    "Hit",
    "Kind",
    "Order",
    "Page",
    "Record",
    "Replaced",
    "Sources",
    "make_id",
]

Clearable: TypeAlias = Literal["cue", "metadata", "payload", "source", "happened_at", "expires_at"]
"""The fields that a record can be without, and that `revise` clears."""
ReadLater: TypeAlias = Callable[[str, Any], Mapping[str, Any]]
Order: TypeAlias = Literal["newest", "oldest", "key"]
MAX_CONTENT = 10_000_000
"""Longest content or cue, in characters."""
MAX_ID = 512
MAX_DEPTH = 200
"""Deepest nesting of metadata and payload: databases read no more than a thousand levels."""


class Action(StrEnum):
    """What happened to a record."""

    REMEMBERED = "remembered"
    REVISED = "revised"
    RATED = "rated"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"


class _ReadLater:
    """Some fields of what a store made of a row: they are read from it when the first of them is asked for, and kept.

    Whoever reads a page of records needs a few fields of each; times, origins and JSON cost more than the query.
    """

    __slots__ = ("_later",)
    _later: tuple[ReadLater, Any]

    if not TYPE_CHECKING:  # a checker would believe in any attribute

        def __getattr__(self, name: str) -> Any:
            if name not in self.__dataclass_fields__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            read, row = self._later
            found = read(name, row)
            for each, value in found.items():
                object.__setattr__(self, each, value)
            return found[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(_ReadLater, Plain):
    """One memory, as it is stored.

    `metadata` is the user's alone; `payload` holds the kind's own fields. Times are in UTC, but for
    `happened_at`, which keeps the offset that it was brought in.
    `superseded_by` is the id of the record that took this one's place at `superseded_at`.
    `version` counts the changes from 1. `origin` is who wrote it, where, and what it was derived from.
    """

    id: str
    kind: Kind
    scope: Scope
    content: str
    cue: str | None = None
    key: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    payload: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    verified: bool = False
    rating: float | None = None
    created_at: datetime
    updated_at: datetime
    happened_at: datetime | None = None
    expires_at: datetime | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    version: int = 1
    origin: Origin

    @property
    def at(self) -> datetime:
        """When it happened, or else when it was stored: what time filters and orders go by."""
        return self.happened_at or self.created_at

    @property
    def text(self) -> str:
        """The text that recall matches: the cue where there is one, else the content."""
        return self.content if self.cue is None else self.cue

    @property
    def current(self) -> bool:
        """Whether nothing has taken this record's place."""
        return self.superseded_at is None

    def values(self, fields: Iterable[str]) -> tuple[Any, ...]:
        """Return the kind and these fields, of `VALUES`."""
        return (self.kind, *(self.scope.session if name == "session" else getattr(self, name) for name in fields))

    def read_in(self, zone: tzinfo) -> "Record":
        """Return the record with its times as they are read in a zone, so that their days are those of its user."""
        if zone is UTC:
            return self
        times: dict[str, Any] = {}
        for name in _TIMES:
            value = getattr(self, name)
            if value is not None and (there := moved(value, zone)) is not value:
                times[name] = there
        return replace(self, **times) if times else self

    def brought(self, door: Door) -> "Record":
        """Return the record as it may be brought through a door."""
        if door.is_open:
            return self
        return replace(self, origin=replace(self.origin, authors=door.admitted(self.origin.authors), door=door.name))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, scope names at the top level, times in ISO 8601."""
        scope = self.scope  # what `Plain` does, written out, since an export does it for each record
        return {
            "id": self.id,
            "kind": self.kind.value,
            "tenant": scope.tenant,
            "user": scope.user,
            "agent": scope.agent,
            "session": scope.session,
            "content": self.content,
            "cue": self.cue,
            "key": self.key,
            "metadata": dict(self.metadata),
            "payload": dict(self.payload),
            "source": self.source,
            "verified": self.verified,
            "rating": self.rating,
            "created_at": told(self.created_at),
            "updated_at": told(self.updated_at),
            "happened_at": None if self.happened_at is None else told(self.happened_at),
            "expires_at": None if self.expires_at is None else told(self.expires_at),
            "superseded_by": self.superseded_by,
            "superseded_at": None if self.superseded_at is None else told(self.superseded_at),
            "version": self.version,
            "origin": self.origin.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Record":
        """Return the record that `to_dict` made `plain` of.

        Raises:
            InvalidInputError: a field is missing, unknown or wrong.
        """
        values = dict(plain)
        if unknown := set(values) - _PLAIN_FIELDS:
            raise InvalidInputError(f"unknown field {shown(min(unknown))} in a record")
        for name in _NEEDED:
            if values.get(name) is None:
                raise InvalidInputError(f"a record lacks {name}")
        names = {label: values.pop(label, None) for label in ("tenant", "user", "agent", "session")}
        values["scope"] = Scope(**{label: name for label, name in names.items() if name is not None})
        for name in _TIMES:
            if values.get(name) is not None:
                values[name] = parse_time(values[name])
        values["kind"] = parse_kind(values["kind"])
        has_origin = "origin" in values
        origin = Origin.from_dict(values.pop("origin")) if has_origin else Origin(authors=Author.USER)
        record = cls(**values, origin=origin)
        record = replace(record, **check_fields(record))
        if has_origin:
            return record
        record = replace(record, origin=Origin.assumed(record.kind, record.payload, record.source))
        return replace(record, **check_fields(record))


def read_later(
    read: ReadLater, row: Any, *, id: str, kind: Kind, scope: Scope, content: str, key: str | None, **found: Any
) -> Record:
    """Return the record of a store's row; `read` returns further fields, given the name of one and the row.

    `found` are those that were read already.
    """
    record = object.__new__(Record)
    put = object.__setattr__
    put(record, "_later", (read, row))
    put(record, "id", id)
    put(record, "kind", kind)
    put(record, "scope", scope)
    put(record, "content", content)
    put(record, "key", key)
    for name, value in found.items():
        put(record, name, value)
    return record


VALUES = ("id", "content", "key", "session", "metadata", "payload", "at")
"""The fields that a store returns without the rest of the record."""
_TIMES = ("created_at", "updated_at", "happened_at", "expires_at", "superseded_at")
_NEEDED = ("id", "kind", "content", "created_at", "updated_at")
_PLAIN_FIELDS = {*Record.__dataclass_fields__, "tenant", "user", "agent", "session"} - {"scope"}


Sources: TypeAlias = Iterable[str | Record]


class CommonFields(TypedDict, total=False):
    """The fields of a `Draft` that any kind of record can have, as keyword arguments; see `Memory.remember`."""

    id: str | None
    metadata: Mapping[str, Any] | None
    source: str | None
    verified: bool
    rating: float | None
    happened_at: TimeLike | None
    expires_at: TimeLike | None
    author: AuthorLike | None
    derived_from: Sources
    agent: str | None
    session: str | None
    vector: Any


class Fields(CommonFields, total=False):
    """The fields of a `Draft` but its content, as keyword arguments."""

    kind: Kind | str
    cue: str | None
    key: str | None
    payload: Mapping[str, Any] | None
    supersedes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record to be: what `remember` takes where content alone is not enough.

    Args:
        content: the text to keep.
        kind: what sort of memory it is.
        id: a name of the caller's own, unique in the scope; made up if left out.
        cue: the text that recall matches instead of the content: a question, a "when to use".
        key: an exact handle for `lookup`, unique in scope and kind among current records.
        metadata: the caller's own fields, JSON.
        payload: the kind's own fields, JSON.
        source: who or what says so, kept in the history.
        verified: whether someone has checked it.
        rating: feedback from -1 (bad) to 1 (good).
        happened_at: when it happened; a time that names no zone is one of the memory's zone.
        expires_at: when it stops being remembered: a point in time, a span as "90d", or (a number) seconds from now.
        supersedes: the id of a record whose place this one takes.
        author: who wrote it, by name; several if several did. By default a message's
            author is its role, a tool use's the tool, and any other's whoever writes through this door.
        derived_from: the ids of the records that it is drawn from. Their authors become its own.
        agent: the agent that stores it; the scope's own if left out.
        session: the conversation it belongs to; the scope's own if left out.
        vector: the embedding of its text, where the caller has it; shape (dimensions,), any length but 0.
    """

    content: str
    kind: Kind | str = Kind.NOTE
    id: str | None = None
    cue: str | None = None
    key: str | None = None
    metadata: Mapping[str, Any] | None = None
    payload: Mapping[str, Any] | None = None
    source: str | None = None
    verified: bool = False
    rating: float | None = None
    happened_at: TimeLike | None = None
    expires_at: TimeLike | None = None
    supersedes: str | None = None
    author: AuthorLike | None = None
    derived_from: Sources = ()
    agent: str | None = None
    session: str | None = None
    vector: Any = None

    def __post_init__(self) -> None:
        given: Any = self.derived_from
        if isinstance(given, Mapping) or not isinstance(given, Iterable | Record):
            raise InvalidInputError(f"derived_from must be record ids, not {shown(given)}")
        several = (given,) if isinstance(given, str | Record) else given
        ids = [each.id if isinstance(each, Record) else each for each in several]
        object.__setattr__(self, "derived_from", tuple(dict.fromkeys(whole_names(ids))))
        object.__setattr__(self, "supersedes", whole_names([self.supersedes])[0])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without the fields that say nothing."""
        values = {name: getattr(self, name) for name in Draft.__dataclass_fields__}
        return {name: plain(value) for name, value in values.items() if value is not None}

    def to_record(self, scope: Scope, created_at: datetime, door: Door, zone: tzinfo = UTC) -> Record:
        """Return the record this draft becomes in `scope`; `door` is where it comes in, `zone` that of its times.

        The authors of the records that it is derived from are not among its authors yet.

        Raises:
            InvalidInputError: a field is wrong.
            ScopeError: it names an author that may not be named at this door.
        """
        if self.verified is not None and not isinstance(self.verified, bool):
            raise InvalidInputError(f"verified must be true or false, not {shown(self.verified)}")
        record = Record(
            id=make_id() if self.id is None else self.id,
            kind=parse_kind(self.kind),
            scope=scope.narrowed(agent=self.agent, session=self.session),
            content=self.content,
            cue=self.cue,
            key=self.key,
            metadata={} if self.metadata is None else self.metadata,
            payload={} if self.payload is None else self.payload,
            source=self.source,
            verified=bool(self.verified),
            rating=self.rating,
            created_at=created_at,
            updated_at=created_at,
            happened_at=None if self.happened_at is None else parse_time(self.happened_at, zone),
            expires_at=None if self.expires_at is None else parse_expiry(self.expires_at, created_at, zone),
            origin=Origin(
                authors=self.authors(door), door=door.name, derived_from=cast(tuple[str, ...], self.derived_from)
            ),
        )
        for name, value in check_fields(record).items():
            object.__setattr__(record, name, value)  # nobody else has it yet, and `replace` makes all of it anew
        return record

    def authors(self, door: Door) -> Author:
        """Return who writes the record where it comes in through `door`.

        Raises:
            InvalidInputError: an author is unknown.
            ScopeError: it names an author that may not be named there.
        """
        if self.author is not None:
            return door.named(self.author)
        if self.kind == Kind.MESSAGE and isinstance(self.payload, Mapping) and "role" in self.payload:
            return door.admitted(author_of_role(self.payload["role"]))
        if self.kind == Kind.TOOL_USE:
            return door.admitted(Author.TOOL)
        return NOBODY if self.derived_from and door.is_open else door.author | door.always


@dataclass(frozen=True, slots=True)
class Replaced(Plain):
    """What tells another state of the same as a record that was found.

    Attributes:
        by: the id of the later record.
        at: when that happened, or else when it was stored.
        score: how likely it replaces the earlier one, 0 to 1; 1 where a program said so.
    """

    by: str
    at: datetime
    score: float


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A record that recall found.

    `similarity` is the cosine of query and text, 0 to 1, 0 where there is no vector. `score` is how
    likely it answers, a calibrated probability; hits are ordered by it. `matched` are the query's words
    found in it. `signals` are the parts of the ranking by name, filled in on request. `replaced` is the later record
    that most likely tells another state of the same; None where no record does, or no state was asked for.
    """

    record: Record
    similarity: float
    score: float
    matched: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    replaced: Replaced | None = None


@dataclass(frozen=True, slots=True)
class Change(Plain):
    """One entry of a record's history: what happened, when, by which source, and what came of it.

    `record` is the record as it stood after the change, None once it is forgotten.
    """

    id: str
    action: Action
    at: datetime
    source: str | None
    record: Record | None


@dataclass(frozen=True, slots=True)
class Page(Plain):
    """One page of records in order, and the cursor that the next call takes (None at the end)."""

    records: list[Record]
    next: str | None = None


_random = Random()
"""Ids need no secrecy, and asking the system for each would cost more than all the rest of a record."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def make_id() -> str:
    """Return a new id: 128 random bits, 32 hexadecimal digits."""
    return f"{_random.getrandbits(128):032x}"


def parse_kind(value: Kind | str) -> Kind:
    """Return the kind named `value`, or raise InvalidInputError that lists them."""
    try:
        return Kind(value)
    except (ValueError, RecursionError) as error:  # the error of an enum shows the value
        raise InvalidInputError(f"unknown kind {shown(value)}; available: {', '.join(Kind)}") from error


def check_fields(record: Record) -> dict[str, Any]:
    """Check a record's own fields and return those that need another form to be stored."""
    stored: dict[str, Any] = {}
    for name, limit, make_whole, needed in _TEXTS:
        text = getattr(record, name)
        if needed or text is not None:
            stored[name] = _checked_text(name, make_whole(text) if isinstance(text, str) else text, limit)
    if type(record.origin.lost) is not int or record.origin.lost < 0:
        raise InvalidInputError(f"lost must be a whole number from 0, not {shown(record.origin.lost)}")
    if len(record.origin.derived_from) + record.origin.lost > MAX_SOURCES:
        raise InvalidInputError(f"a record is derived from {MAX_SOURCES:,} others at most, forgotten ones included")
    for source in record.origin.derived_from:
        _checked_text("derived_from", source, MAX_ID)
    if record.origin.door is not None:
        _checked_text("door", record.origin.door, MAX_ID)
    if not isinstance(record.verified, bool):
        raise InvalidInputError(f"verified must be true or false, not {shown(record.verified)}")
    if type(record.version) is not int or not 1 <= record.version < 2**63:
        raise InvalidInputError(f"version must be a whole number from 1, not {shown(record.version)}")
    is_number = isinstance(record.rating, int | float) and not isinstance(record.rating, bool)
    if record.rating is not None and not (is_number and -1 <= record.rating <= 1):
        raise InvalidInputError(f"rating must be a number from -1 to 1, not {shown(record.rating)}")
    stored |= {name: plain_json(name, getattr(record, name)) for name in ("metadata", "payload")}
    if record.scope.user is None and record.origin.authors & ~(Author.OPERATOR | Author.PEER):
        stored["origin"] = replace(record.origin, authors=record.origin.authors | Author.PEER)
    return stored


_TEXTS = (
    ("content", MAX_CONTENT, whole_text, True),
    ("id", MAX_ID, whole_name, True),
    ("cue", MAX_CONTENT, whole_text, False),
    ("key", MAX_ID, whole_name, False),
    ("source", MAX_ID, whole_name, False),
    ("superseded_by", MAX_ID, whole_name, False),
)
"""A record's texts: the most characters, what becomes of half a character in one, and whether it must be given."""


def size_of(record: Record) -> int:
    """Return how many characters a record holds: its content, cue, and metadata and payload as JSON."""
    held = (json.dumps(dict(each), ensure_ascii=False) for each in (record.metadata, record.payload) if each)
    return len(record.content) + len(record.cue or "") + sum(map(len, held))


def _checked_text(name: str, text: object, limit: int) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"{name} must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInputError(f"{name} must not be blank")
    if len(text) > limit:
        raise InvalidInputError(f"{name} has {len(text):,} characters; the limit is {limit:,}")
    if name != "content" and "\0" in text:
        raise InvalidInputError(f"{name} must not hold a NUL character")
    return text


def plain_json(name: str, value: object) -> dict[str, Any]:
    """Return a deep copy of a JSON object in the form in which a store returns it.

    Raises:
        InvalidInputError: `value` is no JSON object, or nests too deeply; the text begins with `name`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must be a mapping, not {type(value).__name__}")
    if not value:
        return {}
    try:
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not JSON: {error}") from error
    plain: dict[str, Any] = json.loads(text)
    if not _is_shallow(plain, MAX_DEPTH):
        raise InvalidInputError(f"{name} nests deeper than {MAX_DEPTH}")
    return plain if is_whole(text) else whole(plain)


def _is_shallow(value: object, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_is_shallow(each, depth - 1) for each in inner)
