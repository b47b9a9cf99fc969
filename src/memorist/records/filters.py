"""Which records a verb is about: one filter, the same for every verb and every store."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeAlias

from memorist.errors import InvalidInputError, shown
from memorist.records.content import whole_name, whole_text
from memorist.records.origins import NOBODY, Author
from memorist.records.record import Kind, Record, parse_kind
from memorist.records.times import TimeLike, parse_bound

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
MAX_DEPTH = 32
MAX_TESTS = 500
"""Most comparisons in one filter: SQLite nests no expression deeper than twice that."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: the value at `path` against `value`. `operator` is eq, gt, gte, lt, lte, in or exists.

    A list in the metadata passes if one of its elements does. Numbers compare with numbers, whole ones of
    more than 64 bits as floats, and texts with texts; a comparison of anything else is false.
    """

    path: tuple[str, ...]
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class Not:
    """True where `condition` is not."""

    condition: "Condition"


@dataclass(frozen=True, slots=True)
class AllOf:
    """True where every condition is; with none of them always."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True where one condition is at least; with none of them never."""

    conditions: tuple["Condition", ...]


Condition: TypeAlias = Comparison | Not | AllOf | AnyOf
_Paths: TypeAlias = list[tuple[str, ...]]
_MOST_SPLIT = 4
"""Most parts of a name whose dots are each tried both ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a record must be like; every part given must hold.

    Args:
        ids: one of these ids.
        kinds: one of these kinds.
        agent: this label.
        session: this label.
        since: its time (`Record.at`) is this or later.
        until: its time is earlier than this.
        key: exactly this key.
        key_prefix: a key that begins so.
        source: this source, or one that begins with it and a colon: "import" is every import's.
        where: a condition on the metadata.
        payload: a condition on the payload.
        superseded: also records whose place another took.
        as_of: the records that were current at this time, instead of now.
        verified: only (un)verified ones.
        without: none of these authors.
        derived_from: drawn from one of the records with these ids.
        expired: also records that have expired and are not swept yet; only for maintenance.
    """

    ids: frozenset[str] | None = None
    kinds: frozenset[Kind] | None = None
    agent: str | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    key_prefix: str | None = None
    source: str | None = None
    where: Condition | None = None
    payload: Condition | None = None
    superseded: bool = False
    as_of: datetime | None = None
    verified: bool | None = None
    without: Author = NOBODY
    derived_from: frozenset[str] | None = None
    expired: bool = False

    @property
    def reads_fields(self) -> bool:
        """Whether it asks for more than kind, labels and times."""
        named = (self.ids, self.key, self.key_prefix, self.source, self.derived_from)
        parts = (*named, self.where, self.payload, self.verified)
        return any(part is not None for part in parts)

    def expired_by(self, now: datetime) -> datetime:
        """Return the time up to which what expires does not pass at the time `now`."""
        return _LONG_AGO if self.expired else now

    def matches(self, record: Record, now: datetime) -> bool:
        """Return whether `record` passes at the time `now`."""
        checks = (
            record.expires_at is None or record.expires_at > self.expired_by(now),
            self.ids is None or record.id in self.ids,
            self.kinds is None or record.kind in self.kinds,
            self.agent is None or record.scope.agent == self.agent,
            self.session is None or record.scope.session == self.session,
            self.since is None or record.at >= self.since,
            self.until is None or record.at < self.until,
            self.key is None or record.key == self.key,
            self.key_prefix is None or (record.key is not None and record.key.startswith(self.key_prefix)),
            self.source is None or (record.source is not None and f"{record.source}:".startswith(f"{self.source}:")),
            self.verified is None or record.verified == self.verified,
            not self.without & record.origin.authors,
            self.derived_from is None or not self.derived_from.isdisjoint(record.origin.derived_from),
            self.superseded or record.current
            if self.as_of is None
            else record.at <= self.as_of and (record.superseded_at is None or record.superseded_at > self.as_of),
        )
        return (
            all(checks)
            and (self.where is None or holds(self.where, record.metadata))
            and (self.payload is None or holds(self.payload, record.payload))
        )


def make_filter(
    *,
    ids: Iterable[str] | None = None,
    kind: Kind | str | Iterable[Kind | str] | None = None,
    where: Mapping[str, Any] | None = None,
    payload: Mapping[str, Any] | None = None,
    since: TimeLike | None = None,
    until: TimeLike | None = None,
    as_of: TimeLike | None = None,
    now: datetime | None = None,
    zone: tzinfo = UTC,
    **rest: Any,
) -> Filter:
    """Return the filter that a verb's arguments describe; relative times count from `now`, and times that name no
    zone are those of `zone`.

    Raises:
        InvalidInputError: an argument is wrong.
    """
    if kind is not None and not isinstance(kind, Iterable):
        raise InvalidInputError(f"kind must be one kind or several, not {shown(kind)}")
    kinds = None if kind is None else [kind] if isinstance(kind, str) else list(kind)
    for name, form in (("key", str), ("key_prefix", str), ("source", str), ("verified", bool)):
        if rest.get(name) is not None and not isinstance(rest[name], form):
            raise InvalidInputError(f"{name} must be a {form.__name__}, not {shown(rest[name])}")
    return Filter(
        ids=None if ids is None else frozenset(ids),
        kinds=None if kinds is None else frozenset(map(parse_kind, kinds)),
        where=None if where is None else parse_condition(where),
        payload=None if payload is None else parse_condition(payload),
        since=None if since is None else parse_bound(since, now, zone),
        until=None if until is None else parse_bound(until, now, zone),
        as_of=None if as_of is None else parse_bound(as_of, now, zone),
        **rest,
    )


def parse_where(where: Mapping[str, Any], depth: int = 0) -> Condition:
    """Return the condition that a mapping describes.

    A name maps to a value (equal to it) or to operators; a dot in a name reaches into nested mappings, or is part of
    a field's name.
    `$and` and `$or` take a list of such mappings, `$not` one.

        {"city": "Oslo", "age": {"$gte": 18}, "$or": [{"tags": "vip"}, {"plan.level": {"$in": [2, 3]}}]}

    Raises:
        InvalidInputError: an operator is unknown or its value unfit.
    """
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"a filter nests at most {MAX_DEPTH} deep")
    if not isinstance(where, Mapping):
        raise InvalidInputError(f"a filter must be a mapping, not {type(where).__name__}")
    parts: list[Condition] = []
    for name, value in where.items():
        if name in ("$and", "$or"):
            if not isinstance(value, list | tuple):
                raise InvalidInputError(f"{name} takes a list of filters")
            inner = tuple(parse_where(each, depth + 1) for each in value)
            parts.append(AllOf(inner) if name == "$and" else AnyOf(inner))
        elif name == "$not":
            parts.append(Not(parse_where(value, depth + 1)))
        else:
            parts.extend(_parse_field(name, value))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def parse_condition(where: Mapping[str, Any]) -> Condition:
    """Return the condition that a mapping describes, as `parse_where` does, or refuse one too large for a store."""
    condition = parse_where(where)
    if (size := sum(not isinstance(each, Not) for each in _each(condition))) > MAX_TESTS:
        raise InvalidInputError(f"a filter of {size} comparisons is too large; the limit is {MAX_TESTS}")
    return condition


def compares(condition: Condition) -> bool:
    """Return whether a condition looks at any field at all; ``{}`` and ``{"$and": []}`` look at none."""
    return any(isinstance(each, Comparison) for each in _each(condition))


def _each(condition: Condition) -> Iterator[Condition]:
    """Yield a condition and all those in it."""
    yield condition
    inner = (condition.condition,) if isinstance(condition, Not) else getattr(condition, "conditions", ())
    for part in inner:
        yield from _each(part)


def _parse_field(name: object, value: Any) -> list[Condition]:
    if not isinstance(name, str) or not name or name.startswith("$") or "\0" in name:
        raise InvalidInputError(f"{shown(name)} is not a field, $and, $or or $not")
    paths = _paths(tuple(whole_name(name).split(".")))
    if not isinstance(value, Mapping):
        return [_parse_test(paths, "$eq", value)]
    if not value:
        raise InvalidInputError(f"the filter on {shown(name)} has no operator; available: {', '.join(OPERATORS)}")
    return [_parse_test(paths, operator, operand) for operator, operand in value.items()]


def _paths(parts: tuple[str, ...]) -> _Paths:
    """Return what a name with dots may mean: each dot reaches into a mapping, or is part of a field's name."""
    if len(parts) == 1:
        return [parts]
    if len(parts) > _MOST_SPLIT:
        return [parts, (".".join(parts),)]
    rest = _paths(parts[1:])
    return [(parts[0], *each) for each in rest] + [(f"{parts[0]}.{each[0]}", *each[1:]) for each in rest]


def _parse_test(paths: _Paths, operator: str, operand: Any) -> Condition:
    if operator not in OPERATORS:
        raise InvalidInputError(f"unknown operator {shown(operator)}; available: {', '.join(OPERATORS)}")
    if operator in ("$in", "$nin"):
        if not isinstance(operand, list | tuple | set | frozenset):
            raise InvalidInputError(f"{operator} takes a list of values")
        test = _at(paths, "in", tuple(_scalar(operator, each) for each in operand))
        return Not(test) if operator == "$nin" else test
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise InvalidInputError("$exists takes true or false")
        test = _at(paths, "exists", None)
        return test if operand else Not(test)
    value = _scalar(operator, operand)
    if operator in ("$eq", "$ne"):
        test = _at(paths, "eq", value)
        return Not(test) if operator == "$ne" else test
    if operand is None or isinstance(operand, bool):
        raise InvalidInputError(f"{operator} compares with a number or a text, not with {shown(operand)}")
    return _at(paths, operator[1:], value)


def _at(paths: _Paths, operator: str, value: Any) -> Condition:
    tests = tuple(Comparison(path, operator, value) for path in paths)
    return tests[0] if len(tests) == 1 else AnyOf(tests)


def _scalar(operator: str, value: Any) -> Any:
    """Return a value to compare with, as records hold it."""
    if isinstance(value, float) and value != value:
        raise InvalidInputError(f"{operator} cannot compare with NaN")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidInputError(f"{operator} compares with numbers of at most 64 bits")
    if isinstance(value, str):
        return whole_text(value)
    if value is not None and not isinstance(value, int | float | bool):
        raise InvalidInputError(f"{operator} compares with a text, a number, true, false or null")
    return value


def holds(condition: Condition, fields: Mapping[str, Any]) -> bool:
    """Return whether `condition` is true of `fields`: the meaning that every store's own filter must have."""
    match condition:
        case AllOf(conditions):
            return all(holds(each, fields) for each in conditions)
        case AnyOf(conditions):
            return any(holds(each, fields) for each in conditions)
        case Not(inner):
            return not holds(inner, fields)
        case Comparison(path, operator, operand):
            found: Any = fields
            for name in path:
                if not isinstance(found, Mapping) or name not in found:
                    return False
                found = found[name]
            if operator == "exists":
                return True
            compare = _COMPARE[operator]
            each_found = found if isinstance(found, list) else [found]
            return any(compare(_as_stored(each), operand) for each in each_found)


def _as_stored(value: Any) -> Any:
    """Return a number as a database has it: whole with 64 bits, else a float."""
    if not isinstance(value, int) or -(2**63) <= value < 2**63:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _family(value: object) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "null" if value is None else "other"


def _equal(found: Any, operand: Any) -> bool:
    return _family(found) == _family(operand) != "other" and bool(found == operand)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda found, operand: _family(found) == _family(operand) and compare(found, operand)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "in": lambda found, operands: any(_equal(found, each) for each in operands),
    "gt": _ordered(lambda found, operand: found > operand),
    "gte": _ordered(lambda found, operand: found >= operand),
    "lt": _ordered(lambda found, operand: found < operand),
    "lte": _ordered(lambda found, operand: found <= operand),
}
