"""Reads the rows of a persistent Chroma client's folder, out of its ``chroma.sqlite3``."""

import itertools
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memorist.files.foreign import tables_of

TABLES = ("collections", "segments", "embeddings", "embedding_metadata")
_DOCUMENT = "chroma:document"
_DEFAULTS = ("default_tenant", "default_database")
_COLLECTIONS = """
    SELECT collections.id, collections.name, databases.tenant_id, databases.name
    FROM collections JOIN databases ON databases.id = collections.database_id
"""
_WITHOUT_DATABASES = f"SELECT id, name, '{_DEFAULTS[0]}', '{_DEFAULTS[1]}' FROM collections"
_FIELDS = """
    SELECT embeddings.id, segments.collection, embeddings.embedding_id, embeddings.created_at,
        field.key, field.string_value, field.int_value, field.float_value, field.bool_value
    FROM embeddings
    JOIN segments ON segments.id = embeddings.segment_id
    JOIN embedding_metadata AS field ON field.id = embeddings.id
    ORDER BY embeddings.id
"""
_LISTS = "SELECT key, string_value, int_value, float_value, bool_value FROM embedding_metadata_array WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection: its name, and the tenant and the database that it is in, None where they are Chroma's default."""

    name: str
    tenant: str | None = None
    database: str | None = None

    @property
    def path(self) -> str:
        """What tells it from a collection of the same name elsewhere."""
        return "/".join(each for each in (self.tenant, self.database, self.name) if each is not None)


@dataclass(frozen=True, slots=True)
class Row:
    """A document with its metadata; `at` is when it was added."""

    collection: Collection
    id: str
    document: str
    fields: Mapping[str, Any]
    at: datetime | None


def collections(connection: sqlite3.Connection) -> dict[str, Collection]:
    """Return the collections, by Chroma's ids."""
    in_databases = "databases" in tables_of(connection)
    found = connection.execute(_COLLECTIONS if in_databases else _WITHOUT_DATABASES)
    return {id: Collection(name, *_named(tenant, database)) for id, name, tenant, database in found}


def rows(connection: sqlite3.Connection) -> Iterator[Row]:
    """Yield the rows that have a document or metadata, in the order in which they were added."""
    known = collections(connection)
    has_lists = "embedding_metadata_array" in tables_of(connection)
    fields: sqlite3.Cursor = connection.execute(_FIELDS)
    for (number, collection, id, at), found in itertools.groupby(fields, key=lambda row: row[:4]):
        values = {row[4]: _value(*row[5:]) for row in found}
        for key, *value in connection.execute(_LISTS, (number,)) if has_lists else ():
            values.setdefault(key, []).append(_value(*value))
        yield Row(known[collection], id, values.pop(_DOCUMENT, None) or "", values, _moment(at))


def _named(tenant: str, database: str) -> tuple[str | None, str | None]:
    return (None, None) if (tenant, database) == _DEFAULTS else (tenant, database)


def _value(text: str | None, whole: int | None, number: float | None, flag: int | None) -> Any:
    if flag is not None:
        return bool(flag)
    return next((each for each in (text, whole, number) if each is not None), None)


def _moment(at: object) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(str(at)).replace(tzinfo=UTC)  # SQLite's CURRENT_TIMESTAMP
    return None
