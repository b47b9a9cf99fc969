"""LangGraph's `SqliteStore`: a database of items under namespaces."""

import json
from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, database, holding, text_field
from memorist.imports.sources import Part
from memorist.records.record import Kind

_ITEMS = "SELECT prefix, key, value, created_at FROM store ORDER BY rowid"


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the text of each item as a note, with its namespace and key."""
    with database(part) as connection:
        for row in connection.execute(_ITEMS):
            yield from attempt(f"item {row[0]}/{row[1]}", _item, *row)


def _item(where: str, prefix: str, key: str, value: str, created_at: Any) -> Iterator[Item]:
    text, others = text_field(json.loads(value))
    yield Item(
        content=text,
        where=where,
        kind=Kind.NOTE,
        conversation=prefix,
        id=key,
        happened_at=created_at,
        metadata={**others, "namespace": prefix.split("."), "key": key},
    )


READER = Reader("langgraph", "LangGraph", holding("store", "store_migrations"), read)
