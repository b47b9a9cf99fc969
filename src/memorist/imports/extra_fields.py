"""What a record has that another system has no field for: one text, among the fields that the system leaves to others.

A reader finds it there again, so that what comes back is the record that went out.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from memorist.errors import InvalidInputError
from memorist.imports.reader import Item
from memorist.imports.undoing import NAME
from memorist.records.kind import Kind
from memorist.records.origins import NOBODY, parse_authors
from memorist.records.record import Record, parse_kind

KEPT = "memorist"
"""The name of the field with the text."""
_TEXTS = ("id", "agent", "session", "cue", "key", "created_at", "updated_at", "happened_at")
_OBJECTS = ("metadata", "payload")


def kept(record: Record, *without: str) -> str:
    """Return the text for a record: what it is beside its content and its user, without the parts named."""
    plain = record.to_dict()
    plain["payload"].pop(NAME, None)
    parts = {name: plain[name] for name in ("kind", *_TEXTS, *_OBJECTS)} | {"authors": record.origin.authors.names}
    said = {name: value for name, value in parts.items() if value is not None or name == "happened_at"}
    return json.dumps({name: value for name, value in said.items() if name not in without}, ensure_ascii=False)


def metadata_with(record: Record, *without: str, taken: Collection[str] = ()) -> dict[str, Any]:
    """Return a record's metadata together with the text; without names that are `taken` there, which the text has."""
    clash = record.metadata.keys() & {KEPT, *taken}
    own = {name: value for name, value in record.metadata.items() if name not in clash}
    return {**own, KEPT: kept(record, *without, *(() if clash else ("metadata",)))}


def restored(item: Item, text: object) -> Item:
    """Return an item as it was before it was exported; the item itself where a system says nothing of that.

    Raises:
        InvalidInputError: the text was changed, and says what no record can be.
    """
    try:
        given = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return item
    if not isinstance(given, dict) or "kind" not in given:
        return item
    texts = {name: given[name] for name in _TEXTS if name in given}
    objects = {name: given[name] for name in _OBJECTS if name in given}
    if not all(isinstance(each, str | None) for each in texts.values()):
        raise InvalidInputError(f"{', '.join(_TEXTS)} in {KEPT} must be texts")
    if not all(isinstance(each, Mapping) for each in objects.values()):
        raise InvalidInputError(f"{' and '.join(_OBJECTS)} in {KEPT} must be objects")
    objects.setdefault("metadata", {name: value for name, value in item.metadata.items() if name != KEPT})
    authors = parse_authors(given["authors"]) if given.get("authors") else NOBODY
    found = replace(item, kind=parse_kind(given["kind"]), authors=authors, shared_id=True, **texts, **objects)
    if found.kind is not Kind.MESSAGE:
        return found
    found = replace(found, conversation=found.session, record_id=found.id)
    if "payload" not in given:
        return replace(found, id=None)
    payload = dict(found.payload)
    said = {name: payload.pop(name, None) for name in ("role", "speaker", "id")}
    return replace(found, payload=payload, **said)
