"""mem0's filters: the store answers what it can; the rest is tested on the records that it returns."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from memorist.adapters.mem0.shapes import BESIDE, LABELS
from memorist.errors import InvalidInputError
from memorist.records.filters import holds, parse_where
from memorist.records.times import parse_time

_STORED = {"eq": "$eq", "ne": "$ne", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte", "in": "$in", "nin": "$nin"}
_TEXTUAL = ("contains", "icontains")
_ORDERING = ("gt", "gte", "lt", "lte")
_TIMES = ("created_at", "updated_at")
_OUTSIDE = frozenset((*LABELS, *BESIDE, *_TIMES, "id", "hash", "data", "memory"))
"""Fields of a memory that are not in a record's metadata."""
_GROUPS = {"AND": "AND", "OR": "OR", "NOT": "NOT", "$and": "AND", "$or": "OR", "$not": "NOT"}
Check: TypeAlias = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class _Part:
    """A condition as a test of a memory, given as one mapping of its fields; and for a store, if that can make it."""

    check: Check
    where: dict[str, Any] | None = None


def split(filters: Mapping[str, Any]) -> tuple[dict[str, Any] | None, Check | None]:
    """Return a caller's filters, without the ids, as a condition for the store and a check of the rest.

    Raises:
        InvalidInputError: an operator is unknown, or its value is unfit.
    """
    parts = list(_parts(filters))
    stored = [part.where for part in parts if part.where is not None]
    left = [part for part in parts if part.where is None]
    return {"$and": stored} if stored else None, _all(left).check if left else None


def _parts(filters: object) -> Iterator[_Part]:
    """Yield the conditions of a mapping, which must all hold."""
    if not isinstance(filters, Mapping):
        raise InvalidInputError(f"a filter must be a dict, not {type(filters).__name__}")
    for name, value in filters.items():
        if name in _GROUPS:
            yield from _group(_GROUPS[name], value)
        elif isinstance(value, Mapping):
            yield from _comparisons(name, value)
        elif isinstance(value, list):
            yield _comparison(name, "in", value)
        elif value != "*":  # "*" is any value
            yield _comparison(name, "eq", value)


def _group(operator: str, value: object) -> Iterator[_Part]:
    if not isinstance(value, list | tuple) or (not value and operator != "AND"):
        size = "" if operator == "AND" else "non-empty "
        raise InvalidInputError(f"{operator} operator requires a {size}list of conditions")
    groups = [parts for each in value if (parts := list(_parts(each)))]  # empty conditions are left out
    if operator == "AND":
        yield from (part for parts in groups for part in parts)
    elif groups:
        yield _any([_all(parts) for parts in groups], wanted=operator == "OR")


def _all(parts: list[_Part]) -> _Part:
    wheres = [part.where for part in parts if part.where is not None]
    where = {"$and": wheres} if len(wheres) == len(parts) else None
    return _Part(lambda memory: all(part.check(memory) for part in parts), where)


def _any(parts: list[_Part], *, wanted: bool) -> _Part:
    """Return the condition that one of the parts holds; without `wanted`, the condition that none of them holds."""
    wheres = [part.where for part in parts if part.where is not None]
    one: dict[str, Any] = {"$or": wheres}
    where = None if len(wheres) < len(parts) else one if wanted else {"$not": one}
    return _Part(lambda memory: any(part.check(memory) for part in parts) is wanted, where)


def _comparisons(name: str, value: Mapping[str, Any]) -> Iterator[_Part]:
    if not value:
        raise InvalidInputError(
            f"the filter on {name!r} has no operator; available: {', '.join((*_STORED, *_TEXTUAL))}"
        )
    for operator, operand in value.items():
        if operator not in _STORED and operator not in _TEXTUAL:
            raise InvalidInputError(f"Unsupported metadata filter operator: {operator}")
        if operator in ("in", "nin") and not isinstance(operand, list | tuple | set | frozenset):
            raise InvalidInputError(f"{operator} takes a list of values")
        if operator in _TEXTUAL and not isinstance(operand, str):
            raise InvalidInputError(f"{operator} takes a text")
        if operator in _ORDERING and isinstance(operand, str):
            operand = _ordered(name, operator, operand)
        yield _comparison(name, operator, operand)


def _comparison(name: str, operator: str, operand: Any) -> _Part:
    if operator in _TEXTUAL:
        return _Part(lambda memory: _contains(memory, name, operator, operand))
    if name in _TIMES:
        operand = [_stamp(each) for each in operand] if operator in ("in", "nin") else _stamp(operand)
        timed = parse_where({name: {_STORED[operator]: operand}})
        return _Part(lambda memory: holds(timed, {name: _stamp(memory[name])}))
    where: dict[str, Any] = {name: {_STORED[operator]: operand}}
    if operator in ("ne", "nin"):  # a record without the field does not count as different
        where = {"$and": [{name: {"$exists": True}}, where]}
    condition = parse_where(where)
    return _Part(lambda memory: holds(condition, memory), None if name in _OUTSIDE else where)


def _ordered(name: str, operator: str, operand: str) -> str | float:
    """Return a text that values are compared with: a time as it is, a number as a number."""
    with suppress(ValueError):
        return float(operand)
    try:
        parse_time(operand)
    except InvalidInputError as error:
        raise InvalidInputError(f"{operator} of {name!r} takes a number or a time, not {operand!r}") from error
    return operand


def _contains(found: Any, path: str, operator: str, wanted: str) -> bool:
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    texts = [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, str)]
    if operator == "contains":
        return any(wanted in each for each in texts)
    return any(wanted.casefold() in each.casefold() for each in texts)


def _stamp(time: Any) -> float:
    return parse_time(time).timestamp()
