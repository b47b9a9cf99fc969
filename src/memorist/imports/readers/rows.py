"""Rows of Chroma as the memory that wrote them means them: Mango, LoCAL2, Promptise; any others are notes.

A folder may hold collections of several programs, so each row is told by its own form.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memorist.files.chroma import TABLES, Collection, Row, collections, rows
from memorist.imports.reader import Bad, Item, Options
from memorist.imports.readers.common import attempt, database, owner_of, tables, when_of
from memorist.imports.readers.tool_calls import LAYERS, entry
from memorist.imports.sources import Part
from memorist.records.origins import NOBODY, Author
from memorist.records.record import Kind

_OWNER = "_promptise_user_id"
_PROMPTISE = "agent_memory"
_LOCAL2 = ("topic", "episodic", "pinned")
_HIDDEN = "memorist"
"""What our own LoCAL2 keeps beside a row's metadata."""
_CRITIC_MIDDLE, _CRITIC_STEP = 3, 2
"""LoCAL2's critic gives 1 to 5."""


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each row, with its user."""
    with database(part) as connection:
        layers = _layers(collections(connection).values())
        for row in rows(connection):
            yield from attempt(f"document {row.id} of {row.collection.path}", _item, row, layers)


def recognises(form: str) -> Callable[[Part], bool]:
    """Return what recognises a folder with rows of a memory: "mango", "local2" or "promptise"."""

    def recognise(part: Part) -> bool:
        if not tables(part).issuperset(TABLES):
            return False
        return form in part.source.kept(("forms", part.name), partial(_forms, part))

    return recognise


def _forms(part: Part) -> frozenset[str]:
    with database(part) as connection:
        names = collections(connection).values()
        found = {"mango"} if _layers(names) else set[str]()
        if any(each.name == _PROMPTISE for each in names) or _has(connection, _OWNER, None):
            found.add("promptise")
        if any(_has(connection, "type", each) for each in _LOCAL2):
            found.add("local2")
        return frozenset(found)


def _has(connection: sqlite3.Connection, key: str, value: str | None) -> bool:
    wanted = "SELECT 1 FROM embedding_metadata WHERE key = ?" + ("" if value is None else " AND string_value = ?")
    return connection.execute(wanted, (key,) if value is None else (key, value)).fetchone() is not None


def _layers(known: Any) -> dict[Collection, str]:
    """Return the layer of each collection of Mango's: there are always three of one name."""
    found: dict[Collection, str] = {}
    given = set(known)
    for each in given:
        three = [each if layer == "tool" else replace(each, name=f"{each.name}_{layer}") for layer in LAYERS]
        if given.issuperset(three):
            found.update(zip(three, LAYERS, strict=True))
    return found


def _item(where: str, row: Row, layers: Mapping[Collection, str]) -> Iterator[Item]:
    fields = dict(row.fields)
    kind = fields.get("type")
    layer = layers.get(row.collection)
    if layer is not None and (layer == "text" or "tool_name" in fields):
        found = _of_mango(where, layer, row)
    elif kind in _LOCAL2:
        found = _of_local2(where, kind, row)
    else:
        found = _note(where, row)
    yield found if row.collection.tenant is None else replace(found, user=_in_tenant(row.collection.tenant, found.user))


def _in_tenant(tenant: str, user: str | None) -> str:
    return tenant if user is None else f"{tenant}::{user}"


def _note(where: str, row: Row) -> Item:
    fields = dict(row.fields)
    owner = fields.pop(_OWNER, None)
    is_promptise = owner is not None or row.collection.name == _PROMPTISE
    said = Author.USER | Author.ASSISTANT if is_promptise and fields.get("source") == "auto_store" else NOBODY
    return Item(
        content=row.document,
        where=where,
        kind=Kind.NOTE,
        conversation=row.collection.path,
        id=row.id,
        happened_at=row.at,
        authors=said,
        metadata=fields if is_promptise else {**fields, "collection": row.collection.name},
        user=owner_of(fields) if owner is None else str(owner),
        shared_id=is_promptise,
    )


def _of_mango(where: str, layer: str, row: Row) -> Item:
    fields = {name: value for name, value in row.fields.items() if name not in ("type", "struct_tags")}
    if "tool_args" in fields:
        fields["tool_args"] = json.loads(fields["tool_args"])
    return entry(where, layer, row.id, row.document, fields, row.at)


def _of_local2(where: str, kind: str, row: Row) -> Item:
    """Return a topic, an episode or a pinned fact; what LoCAL2 has of it stays in the metadata."""
    fields = {name: value for name, value in row.fields.items() if name != _HIDDEN}
    common: dict[str, Any] = {
        "content": row.document,
        "where": where,
        "conversation": row.collection.path,
        "id": row.id,
    }
    if kind == "topic":
        return Item(**common, kind=Kind.TOPIC, key=str(fields["topic"]), happened_at=row.at, metadata=fields)
    hidden = json.loads(row.fields.get(_HIDDEN) or "{}")
    at = fields.get("timestamp_utc") or hidden.get("at") or fields.get("timestamp")
    return Item(
        **common,
        kind=Kind.EPISODE if kind == "episodic" else Kind.FACT,
        shared_id=True,
        happened_at=when_of(at) or row.at,
        authors=Author.USER | Author.ASSISTANT if kind == "episodic" else NOBODY,
        metadata={**fields, **(hidden.get("other") or {})},
        rating=_rating(fields),
        user=owner_of(fields),
    )


def _rating(fields: Mapping[str, Any]) -> float | None:
    """Return the feedback on an episode, -1 to 1: its score, or what LoCAL2's critic gave."""
    score, critic = fields.get("score"), fields.get("critic_score")
    if score is None and critic is not None:
        score = (critic - _CRITIC_MIDDLE) / _CRITIC_STEP
    return None if score is None else max(-1.0, min(1.0, float(score)))
