"""Chroma's collections of texts: the ``chroma.sqlite3`` of a persistent client's folder."""

import itertools
import sqlite3
from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, database, holding
from memorist.imports.sources import Part
from memorist.records.record import Kind

_FIELDS = """
    SELECT collections.name, embeddings.embedding_id, field.key,
        coalesce(field.string_value, field.int_value, field.float_value, field.bool_value)
    FROM embeddings
    JOIN segments ON segments.id = embeddings.segment_id
    JOIN collections ON collections.id = segments.collection
    JOIN embedding_metadata AS field ON field.id = embeddings.id
    ORDER BY embeddings.id
"""
_DOCUMENT = "chroma:document"


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each document as a note, with its metadata."""
    with database(part) as connection:
        rows: sqlite3.Cursor = connection.execute(_FIELDS)
        for (collection, id), fields in itertools.groupby(rows, key=lambda row: (row[0], row[1])):
            yield from attempt(
                f"document {id} of {collection}", _document, collection, id, {row[2]: row[3] for row in fields}
            )


def _document(where: str, collection: str, id: str, fields: dict[str, Any]) -> Iterator[Item]:
    yield Item(
        content=fields.pop(_DOCUMENT, ""),
        where=where,
        kind=Kind.NOTE,
        conversation=collection,
        id=id,
        metadata={**fields, "collection": collection},
    )


READER = Reader("chroma", "Chroma", holding("collections", "segments", "embeddings", "embedding_metadata"), read)
