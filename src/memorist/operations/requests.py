"""Requests: one frozen, checked type for each verb. Every door makes them, every engine answers them.

All rules about arguments are here and in `arguments`. A request made from a Python call, a JSON body,
a tool call or a command line passes the same constructor, so that no door is laxer than another:

```python
Recall(query="where does she like to stay?", limit=5, since="2024-01-01")
Recall.of({"query": "where does she like to stay?", "k": 5})  # InvalidInputError: … did you mean 'limit'?
```
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    dataclass_transform,
    get_args,
)

from memorist.audit.log import AuditEntry
from memorist.errors import InvalidInputError, ScopeError, path_taken, shown
from memorist.operations import answers as results
from memorist.operations import arguments as read
from memorist.operations.arguments import UNSET, Unset
from memorist.operations.lines import LoadReport
from memorist.records.codec import plain
from memorist.records.filters import Filter, compares, make_filter, parse_condition
from memorist.records.kind import MEMORIES
from memorist.records.origins import AuthorLike, Trust, TrustRules
from memorist.records.record import Change, Draft, Hit, Kind, Order, Page, Record
from memorist.records.retention import RetentionReport, Rule, parse_rules
from memorist.records.scope import Scope
from memorist.records.times import TimeLike
from memorist.system.hints import fields_of, once, read_hint

T = TypeVar("T")
IfExists: TypeAlias = Literal["error", "replace", "ignore"]
Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]
Kinds: TypeAlias = Kind | str | Iterable[Kind | str]
Where: TypeAlias = Mapping[str, Any]
Id: TypeAlias = str | Record | Hit
"""A record's id, or the record itself."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def _request(kind: type[T]) -> type[T]:
    """Make a frozen dataclass of a type of request.

    All share the methods of `Request`: to generate and compile them for each type takes longer than to import it.
    """
    return dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=True)(kind)


@_request
class Request(Generic[T]):
    """A verb with its arguments. `T` is what an engine answers; the verb is the name of the type in lower case.

    Raises:
        InvalidInputError: an argument is wrong.
    """

    verb: ClassVar[str]
    writes: ClassVar[bool] = False
    __dataclass_fields__: ClassVar[dict[str, "Field[Any]"]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__dict__["__parameters__"]:  # a base of several verbs has the parameter T still
            cls.verb = cls.__name__.lower()

    def __init__(self, **given: Any) -> None:
        defaults = _defaults(type(self))
        values = defaults | given
        if len(values) > len(defaults):
            raise TypeError(f"{type(self).__name__} has no argument {min(given.keys() - defaults.keys())!r}")
        for name in _needed(type(self)):
            if name not in given:
                raise TypeError(f"{type(self).__name__} needs {name!r}")
        self.__dict__.update(values)
        self.__post_init__()

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._compared() == self._compared()

    def __hash__(self) -> int:
        return hash((type(self), *map(_hash, self._compared())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def _compared(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self) if each.compare)

    def __post_init__(self) -> None:
        for name, reader, may_be_none in readers(type(self)):
            value = getattr(self, name)
            if value is read.UNSET:
                continue
            if value is not None or not may_be_none:
                object.__setattr__(self, name, reader(name, value))

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the request that named arguments make.

        Raises:
            UnknownArgumentError: there is no such argument; the text names the nearest right one.
            InvalidInputError: an argument is wrong or lacking.
        """
        read.unknown_arguments(cls.verb, given, _defaults(cls))
        for name in _needed(cls):
            if name not in given:
                raise InvalidInputError(f"{cls.verb} needs {name}")
        return cls(**given)

    @classmethod
    def arguments(cls) -> tuple[str, ...]:
        """Return the names of all arguments."""
        return tuple(_defaults(cls))

    def given(self) -> dict[str, Any]:
        """Return the arguments that differ from their defaults, as JSON has them."""
        defaults = _defaults(type(self)).items()
        return {name: plain(value) for name, default in defaults if (value := getattr(self, name)) is not default}


def _hash(value: Any) -> int:
    """Return the same number for equal arguments; of a mapping, which Python does not hash, that of its names."""
    try:
        return hash(value)
    except TypeError:
        return hash(frozenset(value)) if isinstance(value, Mapping) else 0


@once
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the default of each argument of a type of request: MISSING where it must be given."""
    return {each.name: each.default for each in fields(kind)}


@once
def _needed(kind: Any) -> tuple[str, ...]:
    """Return the arguments of a type of request that must be given."""
    return tuple(name for name, default in _defaults(kind).items() if default is MISSING)


@once
def readers(kind: Any) -> tuple[tuple[str, read.Reader, bool], ...]:
    """Return the reader of each annotated field of a type of request, and whether None leaves the field out."""
    hints = {name: read_hint(hint) for name, hint in fields_of(kind).items()}
    defaults = _defaults(kind)
    return tuple((name, hint.notes[0], defaults[name] is None) for name, hint in hints.items() if hint.notes)


@once
def answer_of(kind: Any) -> Any:
    """Return the type of the answer to a type of request, as its base names it: `list[Hit]` of ``Recall``."""
    [answer] = get_args(kind.__orig_bases__[0])
    return answer


class Bounds(TypedDict, total=False):
    """The arguments that narrow records of any kind. Every part given must hold.

    Args:
        where: a condition on the metadata; see `memorist.records.filters.parse_where`.
        since: only what happened (or was stored) at this time or later.
        until: only what happened earlier than this.
        agent: only with this label.
        session: only with this label.
        verified: only verified ones (True), or only the others (False).
        min_trust: only records trusted at least so far, by the operator's rules: "low", "medium" or "high".
    """

    where: Where | None
    since: TimeLike | None
    until: TimeLike | None
    agent: str | None
    session: str | None
    verified: bool | None
    min_trust: Trust | None


class Narrowing(Bounds, total=False):
    """The arguments that narrow which records a verb is about: those of `Bounds`, and these.

    Args:
        kind: only these kinds: one, or several. Where none is named, what is listed and counted has no "state".
        payload: a condition on the kind's own fields.
        key: only the record with exactly this key.
        key_prefix: only records whose key begins so.
        from_source: only records of this source, or of one that begins with it and a colon: "import" is every import's.
    """

    kind: Kinds | None
    payload: Where | None
    key: str | None
    key_prefix: str | None
    from_source: str | None


@_request
class Narrowed(Request[T]):
    """A request about records that pass a filter; see `Narrowing` for the arguments."""

    kind: Annotated[Kinds | None, read.kinds] = None
    where: Annotated[Where | None, read.condition] = None
    payload: Annotated[Where | None, read.condition] = None
    since: Annotated[TimeLike | None, read.bound] = None
    until: Annotated[TimeLike | None, read.bound] = None
    agent: Annotated[str | None, read.label] = None
    session: Annotated[str | None, read.label] = None
    verified: Annotated[bool | None, read.flag] = None
    min_trust: Annotated[Trust | None, read.one_of(*get_args(Trust))] = None
    key: Annotated[str | None, read.handle] = None
    key_prefix: Annotated[str | None, read.handle] = None
    from_source: Annotated[str | None, read.handle] = None

    @property
    def is_narrowed(self) -> bool:
        """Whether any of the narrowing arguments says something; a condition without a comparison does not."""
        given = {name: value for name in Narrowing.__annotations__ if (value := getattr(self, name)) not in (None, "")}
        conditions = [given.pop(name) for name in ("where", "payload") if name in given]
        return bool(given) or any(compares(parse_condition(each)) for each in conditions)

    def scope(self, scope: Scope) -> Scope:
        """Return `scope` with the labels of this request."""
        return scope.narrowed(agent=self.agent, session=self.session)

    def filter(self, scope: Scope, now: datetime, trust: TrustRules, zone: tzinfo = UTC) -> Filter:
        """Return which records this request is about, asked in `scope` at this time, by an operator's rules.

        Times that name no zone are those of `zone`.
        """
        narrowed = self.scope(scope)
        parts = {name: getattr(self, name) for name in Narrowing.__annotations__} | self._more()
        parts["source"] = parts.pop("from_source")
        if (least := parts.pop("min_trust")) is not None:
            parts["without"] = trust.below(least, scope.user)
        return make_filter(**{**parts, "agent": narrowed.agent, "session": narrowed.session}, now=now, zone=zone)

    def _more(self) -> dict[str, Any]:
        return {}


@_request
class _Listed(Narrowed[T]):
    """A request that lists or counts records; without a `kind`, those of every kind but "state"."""

    def _more(self) -> dict[str, Any]:
        return {"kind": MEMORIES if self.kind is None else self.kind}


@_request
class _Timed(_Listed[T]):
    """A request that may be about what was known at another time."""

    as_of: Annotated[TimeLike | None, read.bound] = None
    superseded: Annotated[bool, read.flag] = False
    shared: Annotated[bool, read.flag] = False
    everyone: Annotated[bool, read.flag] = False

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "as_of": self.as_of, "superseded": self.superseded}


@_request
class Named(Narrowed[T]):
    """A request about the records with these ids, superseded ones too, or about those that pass a filter."""

    _else: ClassVar[str] = ""
    """What to do instead of naming neither."""
    ids: Annotated[tuple[str, ...], read.handles] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ids and not self.is_narrowed:
            raise InvalidInputError(f"name ids or a filter{self._else}")

    def _more(self) -> dict[str, Any]:
        return {"ids": self.ids or None, "superseded": True}


# --- writing -------------------------------------------------------------------------------------------


MOST_WAITED_FOR = 32
"""The most records of a conversation whose embedding a caller waits for: a turn has a few, a conversation that is
brought along has thousands."""


@_request
class Remember(Request[list[Record]]):
    """Store records, all or none; see `Memory.remember`."""

    writes = True
    records: Annotated[tuple[Draft, ...], read.drafts]
    if_exists: Annotated[IfExists, read.one_of(*get_args(IfExists))] = "error"
    forgetting: Annotated[tuple[str, ...], read.handles] = ()
    embed: Annotated[Literal["now", "later", "behind"], read.one_of("now", "later", "behind")] = "now"
    """"later": they are found by their words alone until `Admin.reindex` gives them vectors; "behind": until the
    engine does so, which begins at once."""
    proposed: Annotated[bool, read.flag] = False


@_request
class Revise(Request[Record]):
    """Change the fields given; see `Memory.revise`."""

    writes = True
    id: Annotated[Id, read.handle]
    content: Annotated[str | Unset, read.text] = UNSET
    cue: Annotated[str | Unset | None, read.optional(read.text)] = UNSET
    metadata: Annotated[Mapping[str, Any] | Unset | None, read.optional(read.mapping)] = UNSET
    payload: Annotated[Mapping[str, Any] | Unset | None, read.optional(read.mapping)] = UNSET
    verified: Annotated[bool | Unset, read.flag] = UNSET
    happened_at: Annotated[TimeLike | Unset | None, read.optional(read.time)] = UNSET
    expires_at: Annotated[TimeLike | Unset | None, read.optional(read.expiry)] = UNSET
    source: Annotated[str | Unset | None, read.optional(read.handle)] = UNSET
    author: Annotated[AuthorLike | None, read.authors] = None
    proposed: Annotated[bool, read.flag] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        changes = self.changes()
        if not changes or (changes.keys() == {"source"} and self.source is not None):
            raise InvalidInputError("name a field to revise")

    def changes(self) -> dict[str, Any]:
        """Return the fields to change, and their new values; None where there is to be none."""
        names = [name for name in self.arguments() if name not in ("id", "author", "proposed")]
        given = {name: value for name in names if (value := getattr(self, name)) is not UNSET}
        return {
            name: {} if value is None and name in ("metadata", "payload") else value for name, value in given.items()
        }


@_request
class Rate(Request[Record]):
    """Give a record feedback, or take it back; see `Memory.rate`."""

    writes = True
    id: Annotated[Id, read.handle]
    rating: Annotated[float | None, read.optional(read.rating)]
    source: Annotated[str | None, read.handle] = None


@_request
class Forget(Named[int]):
    """Delete records; see `Memory.forget`."""

    writes = True
    _else = "; to delete everything of a scope there is purge"
    source: Annotated[str | None, read.handle] = None
    derived: Annotated[bool, read.flag] = False
    proposed: Annotated[bool, read.flag] = False


@_request
class Purge(Request[results.Receipt]):
    """Delete everything of a user; see `Memory.purge`."""

    user: Annotated[str | None, read.label] = None
    shared: Annotated[bool, read.flag] = False
    dry_run: Annotated[bool, read.flag] = False

    @property
    def writes(self) -> bool:  # type: ignore[override]
        """Whether anything is deleted."""
        return not self.dry_run

    def wall_of(self, scope: Scope) -> Scope:
        """Return the scope to purge.

        Raises:
            ScopeError: another user than the scope's, or the scope has a label.
            InvalidInputError: no user is named and `shared` is not given, or both are.
        """
        narrowed = scope.narrowed(user=self.user)
        if scope.agent is not None or scope.session is not None:
            raise ScopeError("purge deletes a whole user; forget(session=...) deletes what has a label")
        if narrowed.user is None and not self.shared:
            raise InvalidInputError("name the user to purge; to purge the tenant's shared records say shared=True")
        if narrowed.user is not None and self.shared:
            raise InvalidInputError(f"shared=True purges the shared records; this would purge user {narrowed.user!r}")
        return narrowed


@_request
class Restore(Request[LoadReport]):
    """Store whole records as they are, unless their id is there; see `Memory.restore`."""

    writes = True
    records: Annotated[tuple[Record, ...], read.records]


# --- reading -------------------------------------------------------------------------------------------


@_request
class Recall(Narrowed[list[Hit]]):
    """Find the records that matter to a query; see `Memory.recall`."""

    query: Annotated[str, read.text]
    limit: Annotated[int, read.limit] = 5
    as_of: Annotated[TimeLike | None, read.bound] = None
    now: Annotated[TimeLike | None, read.time] = None
    shared: Annotated[bool, read.flag] = False
    min_score: Annotated[float, read.number] = 0.0
    min_similarity: Annotated[float, read.number] = 0.0
    mode: Annotated[Mode, read.one_of(*get_args(Mode))] = "hybrid"
    explain: Annotated[bool, read.flag] = False
    vector: Annotated[Any, read.vector] = field(default=None, compare=False)

    def _more(self) -> dict[str, Any]:
        return {"as_of": self.as_of}


@_request
class Context(Narrowed[results.Context]):
    """Return what to put into an agent's prompt; see `Memory.context`."""

    query: Annotated[str, read.text]
    tokens: Annotated[int, read.tokens] = 600
    count_tokens: Callable[[str], int] | None = None
    min_confidence: Annotated[float | None, read.probability] = None
    standing: Annotated[bool, read.flag] = True
    topics: Annotated[tuple[str, ...], read.handles] = ()
    pinned: Annotated[tuple[str, ...], read.handles] = ()
    known: Annotated[tuple[str, ...], read.handles_or_words] = ()
    as_of: Annotated[TimeLike | None, read.bound] = None
    now: Annotated[TimeLike | None, read.time] = None
    shared: Annotated[bool, read.flag] = False


@_request
class Recent(_Listed[list[Record]]):
    """Return the newest records; see `Memory.recent`."""

    limit: Annotated[int, read.limit] = 10
    shared: Annotated[bool, read.flag] = False


@_request
class Lookup(Request[Record | None]):
    """Return the record with a key; see `Memory.lookup`."""

    key: Annotated[str, read.handle]
    kind: Annotated[Kind | str, read.kind] = Kind.TOPIC
    shared: Annotated[bool, read.flag] = False


@_request
class Get(Request[Record | None]):
    """Return the record with an id; see `Memory.get`."""

    id: Annotated[Id, read.handle]


@_request
class Find(Request[list[Record]]):
    """Return records by id, of any user if asked to; see `Memory.find`."""

    ids: Annotated[tuple[str, ...], read.handles]
    everyone: Annotated[bool, read.flag] = False


@_request
class Browse(_Timed[Page]):
    """Return one page of records; see `Memory.browse`."""

    order: Annotated[Order, read.one_of(*get_args(Order))] = "newest"
    limit: Annotated[int, read.limit] = 50
    cursor: Annotated[str | None, read.text] = None


@_request
class Count(_Timed[int]):
    """Return how many records there are; see `Memory.count`."""


@_request
class Changes(_Listed[results.ReplacementPage]):
    """Return which records tell another state than earlier ones; see `Memory.changes`."""

    min_score: Annotated[float, read.number] = 0.5
    limit: Annotated[int, read.limit] = 20
    cursor: Annotated[str | None, read.text] = None

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "superseded": True}


@_request
class History(Request[list[Change]]):
    """Return every change of a record; see `Memory.history`."""

    id: Annotated[Id, read.handle]


@_request
class Why(Request[results.Provenance]):
    """Return where a record comes from; see `Memory.why`."""

    id: Annotated[Id, read.handle]


@_request
class Derived(Named[results.Derived]):
    """Return what was drawn from records; see `Memory.derived`."""


@_request
class Vectors(Request[dict[str, Any]]):
    """Return the embeddings of records; see `Memory.vectors`."""

    ids: Annotated[tuple[str, ...], read.handles]


@_request
class Traces(Request[results.TracePage]):
    """Return one page of the traces that are kept; see `Admin.traces`."""

    ids: Annotated[tuple[str, ...], read.handles] = ()
    since: Annotated[TimeLike | None, read.bound] = None
    until: Annotated[TimeLike | None, read.bound] = None
    door: Annotated[str | None, read.text] = None
    empty: Annotated[bool | None, read.flag] = None
    limit: Annotated[int, read.limit] = 50
    cursor: Annotated[str | None, read.text] = None
    everyone: Annotated[bool, read.flag] = False

    def filter(self, scope: Scope, now: datetime, zone: tzinfo = UTC) -> Filter:
        """Return which traces this request is about, asked in `scope` at this time; `zone` as in `Narrowed.filter`."""
        fields = {name: value for name in ("door", "empty") if (value := getattr(self, name)) is not None}
        return make_filter(
            ids=self.ids or None, agent=scope.agent, session=scope.session, since=self.since, until=self.until,
            payload={**fields, "verb": {"$exists": True}}, now=now, zone=zone,
        )  # fmt: skip


@_request
class Users(Request[dict[str | None, int]]):
    """Return the users of the tenant; see `Admin.users`."""

    waiting: Annotated[bool, read.flag] = False


# --- the inbox -----------------------------------------------------------------------------------------


@_request
class Inbox(Request[list[results.Proposal]]):
    """Return what waits for the user's yes; see `Admin.inbox`."""


@_request
class Keep(Request[list[Record]]):
    """Do what an agent asks for; see `Admin.keep`."""

    writes = True
    id: Annotated[str, read.handle]
    content: Annotated[str | None, read.text] = None


@_request
class Drop(Request[results.Proposal]):
    """Refuse what an agent asks for; see `Admin.drop`."""

    writes = True
    id: Annotated[str, read.handle]
    undo: Annotated[bool, read.flag] = False


# --- upkeep --------------------------------------------------------------------------------------------


@_request
class Backup(Request[Path]):
    """Copy the whole store; see `Admin.backup`."""

    target: Path

    def __post_init__(self) -> None:
        try:
            target = Path(self.target).expanduser().absolute()
            taken = target.exists()
        except TypeError as error:
            raise InvalidInputError(f"target must be a path, not {type(self.target).__name__}") from error
        except (OSError, RuntimeError, ValueError) as error:  # too long, of an unknown user's home, or with a NUL
            raise InvalidInputError(f"target cannot be a path: {shown(self.target)}") from error
        if taken:
            raise path_taken(target)
        object.__setattr__(self, "target", target)


@_request
class Audit(Request[list[AuditEntry]]):
    """Return entries of the audit log; see `Admin.audit`."""

    after: Annotated[int | None, read.integer] = None
    limit: Annotated[int, read.limit] = 1000


@_request
class Retain(Request[list[Rule]]):
    """Set how long records are kept; see `Admin.retain`."""

    writes = True
    rules: Annotated[tuple[Rule, ...], parse_rules]


@_request
class Retention(Request[RetentionReport]):
    """Return how long records are kept, and how many are too old; see `Admin.retention`."""

    rules: Annotated[tuple[Rule, ...] | None, parse_rules] = None


@_request
class Sweep(Request[int]):
    """Delete what has expired or is too old; see `Admin.sweep`."""

    writes = True


@_request
class Checkpoint(Request[dict[str, Any]]):
    """Return where the audit log ends, signed; see `Admin.checkpoint`."""


@_request
class Check(Request[list[str]]):
    """Look for damage; see `Admin.check`."""


@_request
class Secrets(Request[list[results.Exposed]]):
    """List what holds a secret, and mask it; see `Admin.secrets`."""

    writes = True
    redact: Annotated[bool, read.flag] = False


@_request
class Reindex(Request[int]):
    """Embed every record anew; see `Admin.reindex`."""

    writes = True
    progress: Callable[[int, int], None] | None = None
    missing: Annotated[bool, read.flag] = False
