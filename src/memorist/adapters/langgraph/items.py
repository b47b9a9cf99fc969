"""Converts LangGraph's items to records and back, and applies LangGraph's filters."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from memorist.records.attribution import origin_on_own
from memorist.records.content import whole_name, whole_names
from memorist.records.record import Draft, Kind, Record
from memorist.records.times import iso, parse_time

FIELD = "langgraph"
"""Where an item's parts are in its record's payload."""
Namespace = tuple[str, ...]
_Fields: TypeAlias = dict[str, Any]


def path_of(namespace: Sequence[str]) -> str:
    """Return the prefix of the ids and keys of all items in a namespace and in those below it."""
    return f"{FIELD}:" + "".join(f"{label}." for label in namespace)


def make_id(namespace: Sequence[str], key: str) -> str:
    """Return the id of an item's record. Labels hold no dot and are not empty, so an empty one ends them."""
    return f"{path_of(namespace)}.{key}"


def draft_of(op: PutOp, fields: Sequence[str], now: datetime) -> Draft:
    """Return the draft of an item's record: a note if it has texts to index, else state, which is not embedded."""
    value = dict(op.value or {})
    paths = fields if op.index is None else op.index or ()
    text = "\n".join(text for path in paths for text in _texts(value, path) if text.strip())
    id = make_id(op.namespace, op.key)
    parts = {
        "namespace": list(whole_names(op.namespace)),
        "key": whole_name(op.key),
        "value": value,
        "updated_at": iso(now),
        "ttl": op.ttl,
    }
    return Draft(
        content=text or id,
        kind=Kind.NOTE if text else Kind.STATE,
        id=id,
        key=id,
        session=_thread(),
        payload={FIELD: parts},
        expires_at=None if op.ttl is None else op.ttl * 60,
    )


def _thread() -> str | None:
    """Return the thread of the run in which an item is put; None outside of a run."""
    thread = (var_child_runnable_config.get() or {}).get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _texts(value: dict[str, Any], path: str) -> list[str]:
    if path != "$":
        found: list[str] = get_text_at_path(value, path)
        return found
    leaves = list(_leaves(value))
    if len(leaves) == 1:
        return [leaves[0][1]]  # the text alone is nearer to a question than the text with a field's name
    return [f"{name}: {text}" if name else text for name, text in leaves]


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a value, each with the name of the field it is in."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _leaves(each, str(inner))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each, name)
    elif value is not None:
        yield name, str(value)


def namespace_of(record: Record) -> Namespace:
    """Return the namespace of an item's record."""
    return tuple(record.payload[FIELD]["namespace"])


def parts_of(record: Record) -> dict[str, Any]:
    """Return the fields of the item that a record holds."""
    held = record.payload[FIELD]
    return {
        "namespace": namespace_of(record),
        "key": held["key"],
        "value": held["value"],
        "created_at": record.created_at,
        # Not the record's own time, which a read that renews the item changes.
        "updated_at": max(parse_time(held["updated_at"]), record.created_at),
    }


class MarkedItem(Item):
    """An item that came through an import, a web page, a tool or another agent.

    Attributes:
        origin: which, as "an import". `dict` has it beside the value, which is as it was put.
    """

    __slots__ = ("origin",)
    origin: str

    def dict(self) -> _Fields:
        return {**super().dict(), "origin": self.origin}


class MarkedSearchItem(SearchItem):
    """As `MarkedItem`, of a search."""

    __slots__ = ("origin",)
    origin: str

    def dict(self) -> _Fields:
        return {**super().dict(), "origin": self.origin}


def item_of(record: Record) -> Item:
    """Return the item that a record holds, with its origin where it is to be marked."""
    origin = origin_on_own(record)
    if not origin:
        return Item(**parts_of(record))
    marked = MarkedItem(**parts_of(record))
    marked.origin = origin
    return marked


def found_item(record: Record, score: float | None) -> SearchItem:
    """Return what a search finds, with its origin where it is to be marked."""
    origin = origin_on_own(record)
    if not origin:
        return SearchItem(**parts_of(record), score=score)
    marked = MarkedSearchItem(**parts_of(record), score=score)
    marked.origin = origin
    return marked


def matches(value: Any, wanted: Any) -> bool:
    """Return whether a value passes a filter: it is equal, or its operators or all its fields pass.

    A name with dots is a field of that name, or else a path into fields.
    Only numbers with numbers and texts with texts can be ordered; any other comparison is false.

    Raises:
        ValueError: there is no such operator.
    """
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compare(value, operator, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and all(matches(_at(value, name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        same_length = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same_length and all(map(matches, value, wanted))
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _at(value: Mapping[Any, Any], name: Any) -> Any:
    outer, dot, rest = (str(name), "", "") if name in value else str(name).partition(".")
    inner = value.get(outer if dot else name)
    if not dot:
        return inner
    return _at(inner, rest) if isinstance(inner, Mapping) else None


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return matches(value, operand) == (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"unknown operator {operator!r}; available: $eq, $ne, $gt, $gte, $lt, $lte")
    if not any(isinstance(value, form) and isinstance(operand, form) for form in (str, int | float)):
        return False
    above, equal = value > operand, value == operand
    return bool((above if operator.startswith("$gt") else not above and not equal) or (equal and operator[-1] == "e"))
