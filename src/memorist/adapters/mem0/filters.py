"""mem0's filters: the store answers what it can; the rest is tested on the records that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memorist.adapters.mem0.shapes import BESIDE, LABELS
from memorist.errors import InvalidInputError
from memorist.times import parse_time

__all__ = ["FilterNode", "Split", "parse", "split"]

_STORED = {"eq": "$eq", "ne": "$ne", "gt": "$gt", "gte": "$gte", "lt": "$lt", "lte": "$lte", "in": "$in", "nin": "$nin"}
_TEXTUAL = ("contains", "icontains")
_TIMES = ("created_at", "updated_at")
_OUTSIDE = frozenset((*LABELS, *BESIDE, *_TIMES, "id", "hash", "data", "memory"))
"""Fields of a memory that are not in a record's metadata."""
_GROUPS = {"AND": "AND", "OR": "OR", "NOT": "NOT", "$and": "AND", "$or": "OR", "$not": "NOT"}


@dataclass(frozen=True, slots=True)
class FilterNode:
    """A group (AND, OR, NOT: none of its parts) with its parts, or a comparison of one field."""

    operator: str
    parts: tuple[FilterNode, ...] = ()
    field: str = ""
    value: Any = None

    def fields(self) -> Iterator[str]:
        """Yield the fields it reads, and "" for a comparison that a store cannot make."""
        if self.operator in _GROUPS:
            for part in self.parts:
                yield from part.fields()
        else:
            yield self.field if self.operator in _STORED else ""

    def where(self) -> dict[str, Any]:
        """Return it as a filter of this package's."""
        inner = [part.where() for part in self.parts]
        if self.operator == "AND":
            return {"$and": inner}
        if self.operator == "OR":
            return {"$or": inner}
        if self.operator == "NOT":
            return {"$not": {"$or": inner}}
        compared = {self.field: {_STORED[self.operator]: self.value}}
        if self.operator in ("ne", "nin"):  # a missing field is not different
            return {"$and": [{self.field: {"$exists": True}}, compared]}
        return compared

    def holds(self, memory: Mapping[str, Any]) -> bool:
        """Return whether it is true of a memory, given as one mapping of its fields."""
        if self.operator == "AND":
            return all(part.holds(memory) for part in self.parts)
        if self.operator in ("OR", "NOT"):
            return any(part.holds(memory) for part in self.parts) is (self.operator == "OR")
        found: Any = memory
        for name in self.field.split("."):
            if not isinstance(found, Mapping) or name not in found:
                return False
            found = found[name]
        each = found if isinstance(found, list) else [found]
        compare = _compare_times if self.field in _TIMES else _compare
        if self.operator in ("ne", "nin"):
            return not any(compare("in" if self.operator == "nin" else "eq", one, self.value) for one in each)
        return any(compare(self.operator, one, self.value) for one in each)


@dataclass(frozen=True, slots=True)
class Split:
    """A condition in two parts: `where` for the store, and `check` for the rest (None if there is none)."""

    where: dict[str, Any] | None
    check: Callable[[Mapping[str, Any]], bool] | None


def split(filters: Mapping[str, Any]) -> Split:
    """Return a caller's filters, without the ids, in two parts.

    Raises:
        InvalidInputError: an operator is unknown, or its value is unfit.
    """
    stored: list[dict[str, Any]] = []
    left: list[FilterNode] = []
    for part in _parts(parse(filters)):
        if _OUTSIDE.isdisjoint(fields := set(part.fields())) and "" not in fields:
            stored.append(part.where())
        else:
            left.append(part)
    where = {"$and": stored} if stored else None
    return Split(where, (lambda memory: all(each.holds(memory) for each in left)) if left else None)


def parse(filters: object) -> FilterNode:
    """Return the condition that a mapping describes; all of its entries must hold.

    Raises:
        InvalidInputError: it is no such mapping.
    """
    if not isinstance(filters, Mapping):
        raise InvalidInputError(f"a filter must be a dict, not {type(filters).__name__}")
    parts: list[FilterNode] = []
    for name, value in filters.items():
        if name in _GROUPS:
            parts.append(_group(_GROUPS[name], value))
        elif isinstance(value, Mapping):
            parts.extend(_comparisons(name, value))
        elif isinstance(value, list):
            parts.append(FilterNode("in", field=name, value=value))
        elif value != "*":  # "*" is any value
            parts.append(FilterNode("eq", field=name, value=value))
    return FilterNode("AND", tuple(parts))


def _group(operator: str, value: object) -> FilterNode:
    if not isinstance(value, list | tuple) or (not value and operator != "AND"):
        size = "" if operator == "AND" else "non-empty "
        raise InvalidInputError(f"{operator} operator requires a {size}list of conditions")
    parts = tuple(part for each in value if (part := parse(each)).parts)  # empty conditions are left out
    return FilterNode(operator if parts else "AND", parts)


def _comparisons(name: str, value: Mapping[str, Any]) -> Iterator[FilterNode]:
    if not value:
        raise InvalidInputError(
            f"the filter on {name!r} has no operator; there are: {', '.join((*_STORED, *_TEXTUAL))}"
        )
    for operator, operand in value.items():
        if operator not in _STORED and operator not in _TEXTUAL:
            raise InvalidInputError(f"Unsupported metadata filter operator: {operator}")
        if operator in ("in", "nin") and not isinstance(operand, list | tuple | set | frozenset):
            raise InvalidInputError(f"{operator} takes a list of values")
        if operator in _TEXTUAL and not isinstance(operand, str):
            raise InvalidInputError(f"{operator} takes a text")
        yield FilterNode(operator, field=name, value=operand)


def _parts(condition: FilterNode) -> Iterator[FilterNode]:
    """Yield the conditions that must all hold."""
    if condition.operator == "AND":
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition


def _compare(operator: str, found: Any, value: Any) -> bool:
    if operator == "in":
        return any(_compare("eq", found, each) for each in value)
    if operator in _TEXTUAL:
        return isinstance(found, str) and (
            value in found if operator == "contains" else value.casefold() in found.casefold()
        )
    if _sort(found) != _sort(value):
        return False
    if operator == "eq":
        return bool(found == value)
    return _sort(found) in (float, str) and bool(_ORDERED[operator](found, value))


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda found, value: found > value,
    "gte": lambda found, value: found >= value,
    "lt": lambda found, value: found < value,
    "lte": lambda found, value: found <= value,
}


def _sort(value: object) -> type:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else type(value)


def _compare_times(operator: str, found: Any, value: Any) -> bool:
    if operator in _TEXTUAL:
        return _compare(operator, found, value)
    if operator == "in":
        return any(_compare_times("eq", found, each) for each in value)
    moments: list[datetime] = [parse_time(found), parse_time(value)]
    return _compare(operator, *(moment.timestamp() for moment in moments))
