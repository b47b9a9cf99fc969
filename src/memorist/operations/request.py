"""What a request is: a frozen, checked dataclass; and the bases of those about records that pass a filter."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from datetime import UTC, datetime, tzinfo
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    dataclass_transform,
    get_args,
)

from memorist.errors import InvalidInputError
from memorist.operations import arguments as read
from memorist.records.codec import plain
from memorist.records.filters import Filter, compares, make_filter, parse_condition
from memorist.records.kind import MEMORIES
from memorist.records.origins import Trust, TrustRules
from memorist.records.record import Hit, Kind, Record
from memorist.records.scope import Scope
from memorist.records.times import TimeLike
from memorist.system.hints import fields_of, once, read_hint

T = TypeVar("T")
Kinds: TypeAlias = Kind | str | Iterable[Kind | str]
Where: TypeAlias = Mapping[str, Any]
Id: TypeAlias = str | Record | Hit
"""A record's id, or the record itself."""


@dataclass(frozen=True, slots=True)
class Takes:
    """How a verb takes an argument of its request, noted in the field's annotation.

    Where nothing is noted, a caller gives what the field holds: by its place where it must be given, else by its name.

    Args:
        kind: the type that a caller gives, where the field holds another.
        by: by its "place", or "each" of several by its place: ``*ids``.
    """

    kind: Any = None
    by: Literal["place", "each"] | None = None


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def declared(kind: type[T]) -> type[T]:
    """Make a frozen dataclass of a type of request.

    All share the methods of `Request`: to generate and compile them for each type takes longer than to import it.
    """
    return dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=True)(kind)


@declared
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
    defaults = _defaults(kind)
    found = list[tuple[str, read.Reader, bool]]()
    for name, hint in fields_of(kind).items():
        notes = [each for each in read_hint(hint).notes if not isinstance(each, Takes)]
        if notes:
            found.append((name, notes[0], defaults[name] is None))
    return tuple(found)


class Argument(NamedTuple):
    """An argument of a verb, as a caller gives it: its name, type and default, and how it is given."""

    name: str
    kind: Any
    default: Any
    by: Literal["name", "place", "each"]


@once
def arguments_of(kind: Any) -> tuple[Argument, ...]:
    """Return the arguments of a verb by its type of request, in order; those of `Narrowed` are not among them."""
    found = list[Argument]()
    for each in fields(kind):
        if issubclass(kind, Narrowed) and each.name in NARROWING:
            continue
        given = getattr(each.type, "__origin__", each.type)
        notes = getattr(each.type, "__metadata__", ())
        takes = next((note for note in notes if isinstance(note, Takes)), Takes())
        by = takes.by or ("place" if each.default is MISSING else "name")
        found.append(Argument(each.name, given if takes.kind is None else takes.kind, each.default, by))
    return tuple(found)


@once
def answer_of(kind: Any) -> Any:
    """Return the type of the answer to a type of request, as its base names it: `list[Hit]` of ``Recall``."""
    [answer] = get_args(kind.__orig_bases__[0])
    return answer


@declared
class Narrowed(Request[T]):
    """A request about records that pass a filter. Every part given must hold; `parse_where` tells what a condition is.

    Args:
        kind: only these kinds: one, or several. Where none is named, what is listed and counted has no "state".
        where: a condition on the metadata, such as {"trip": "Lisbon"} or {"nights": {"$gte": 3}}.
        payload: likewise, a condition on the kind's own fields.
        since: only what happened (or was stored) at this time or later.
        until: only what happened earlier than this.
        agent: only what this agent stored.
        session: only of this conversation.
        verified: only verified ones (true), or only the others (false).
        min_trust: only records trusted at least so far, by the operator's rules: "low", "medium" or "high". By the
            default rules "medium" leaves out what tools and web pages say.
        key: only the record with exactly this key.
        key_prefix: only records whose key begins so.
        from_source: only records of this source, or of one that begins with it and a colon: "import" is every import's.
    """

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
        given = {name: value for name in NARROWING if (value := getattr(self, name)) not in (None, "")}
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
        parts = {name: getattr(self, name) for name in NARROWING} | self._more()
        parts["source"] = parts.pop("from_source")
        if (least := parts.pop("min_trust")) is not None:
            parts["without"] = trust.below(least, scope.user)
        return make_filter(**{**parts, "agent": narrowed.agent, "session": narrowed.session}, now=now, zone=zone)

    def _more(self) -> dict[str, Any]:
        return {}


@declared
class Listed(Narrowed[T]):
    """A request that lists or counts records; without a `kind`, those of every kind but "state"."""

    def _more(self) -> dict[str, Any]:
        return {"kind": MEMORIES if self.kind is None else self.kind}


@declared
class Timed(Listed[T]):
    """A request that may be about what was known at another time."""

    as_of: Annotated[TimeLike | None, read.bound] = None
    superseded: Annotated[bool, read.flag] = False
    shared: Annotated[bool, read.flag] = False
    everyone: Annotated[bool, read.flag] = False

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "as_of": self.as_of, "superseded": self.superseded}


@declared
class Named(Narrowed[T]):
    """A request about the records with these ids, superseded ones too, or about those that pass a filter."""

    _else: ClassVar[str] = ""
    """What to do instead of naming neither."""
    ids: Annotated[tuple[str, ...], read.handles, Takes(Id, by="each")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ids and not self.is_narrowed:
            raise InvalidInputError(f"name ids or a filter{self._else}")

    def _more(self) -> dict[str, Any]:
        return {"ids": self.ids or None, "superseded": True}


NARROWING: tuple[str, ...] = Narrowed.arguments()
"""The arguments that narrow which records a verb is about."""


def options_of(kind: type[Request[Any]], names: Iterable[str], name: str, module: str, text: str) -> Any:
    """Return the type of keyword arguments, a `TypedDict`, that some fields of a type of request are.

    Args:
        kind: the type of request.
        names: the fields.
        name: the name of the type.
        module: where the type is.
        text: its docstring.
    """
    types = {each: kind.__dataclass_fields__[each].type.__origin__ for each in names}
    made: Any = TypedDict(name, types, total=False)  # type: ignore[misc]
    made.__module__, made.__doc__ = module, text
    return made
