"""LangGraph's `SqliteStore`: a database of items under namespaces."""

import json
from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import EVERYONE, OF_OTHERS, Bad, Item, Left, Options, OwnerError, Reader
from memorist.imports.readers.common import attempt, database, holding, text_field
from memorist.imports.sources import Part
from memorist.records.record import Kind

_ITEMS = "SELECT prefix, key, value, created_at FROM store ORDER BY rowid"
_NAMESPACES = "SELECT DISTINCT prefix FROM store ORDER BY prefix"


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield the text of each item as a note, with its namespace and key.

    Which part of a namespace names a user is the program's own affair, so several are not mixed unasked.

    Raises:
        OwnerError: items lie under several namespaces, and the options do not say whose are taken.
    """
    with database(part) as connection:
        namespaces = [prefix for (prefix,) in connection.execute(_NAMESPACES)]
        if len(namespaces) > 1 and options.owner is None:
            raise OwnerError(part.name, "namespaces", namespaces)
        for row in connection.execute(_ITEMS):
            if options.owner is None or options.owner == EVERYONE or f"{row[0]}.".startswith(f"{options.owner}."):
                yield from attempt(f"item {row[0]}/{row[1]}", _item, tuple(row), options.owner)
            else:
                yield OF_OTHERS


def _item(where: str, row: tuple[str, str, str, Any], owner: str | None) -> Iterator[Item]:
    prefix, key, value, created_at = row
    text, others = text_field(json.loads(value))
    yield Item(
        content=text,
        where=where,
        kind=Kind.NOTE,
        conversation=prefix,
        id=key,
        happened_at=created_at,
        metadata={**others, "namespace": prefix.split("."), "key": key},
        user=owner,
    )


READER = Reader("langgraph", "LangGraph", holding("store", "store_migrations"), read)
