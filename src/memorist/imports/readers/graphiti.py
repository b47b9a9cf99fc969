"""Zep's and Graphiti's graphs as JSON: edges with their facts, nodes with their summaries, episodes."""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Reader
from memorist.imports.readers.common import attempt, each_record
from memorist.imports.sources import Part
from memorist.records.record import Kind

_LISTS = ("edges", "nodes", "episodes", "facts")
_OWN = {"uuid", "fact", "summary", "content", "fact_embedding", "name_embedding", "attributes"}


def recognise(part: Part) -> bool:
    """Whether a file holds edges with facts, nodes with summaries, or lists of them."""
    one = {"uuid", "fact"} <= part.keys or {"uuid", "name", "summary"} <= part.keys
    return one or bool({"edges", "nodes"} & part.keys and '"uuid"' in part.beginning)


def _record(where: str, given: Any) -> Iterator[Item | Bad]:
    """Yield each fact as one, each summary and episode as a note."""
    lists = [given[name] for name in _LISTS if isinstance(given.get(name), list)]
    if not lists:
        yield from _entry(where, given)
    for entries in lists:
        for entry in entries:
            place = f"{where}, {entry.get('uuid') if isinstance(entry, dict) else entry}"
            yield from attempt(place, _entry, entry)


def _entry(where: str, entry: Any) -> Iterator[Item]:
    text = entry.get("fact") or entry.get("content")
    if text is None and entry.get("summary"):
        text = f"{entry['name']}: {entry['summary']}"
    about = {name: value for name, value in entry.items() if name not in _OWN and isinstance(value, str | int | list)}
    yield Item(
        content=text or "",
        where=where,
        kind=Kind.FACT if entry.get("fact") else Kind.NOTE,
        id=entry["uuid"],
        happened_at=entry.get("valid_at") or entry.get("created_at"),
        metadata={**about, **(entry.get("attributes") or {})},
        user=str(entry.get("group_id") or "").strip() or None,
    )


READER = Reader("graphiti", "Zep or Graphiti", recognise, each_record(_record))
