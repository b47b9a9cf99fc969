"""What the tools answer: the JSON schemas, and records in that form."""

import json
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, get_origin

from memorist.agents.excerpts import share
from memorist.agents.parameters import schema_of
from memorist.operations.answers import Context, Replacement, ReplacementPage
from memorist.records.record import Hit, Record
from memorist.system.hints import fields_of, read_hint

Schema = dict[str, Any]

_WALLS = ("tenant", "user")
LONG = ("content", "cue", "metadata", "payload")
"""The fields that may be too long for a model."""


def _object(texts: Mapping[str, str], required: str, kind: Any = None, about: str = "", **more: Schema) -> Schema:
    """Return the schema of an object.

    Args:
        texts: what a model reads of each field that it is shown.
        required: the names of the fields that are always there.
        kind: the type whose fields these are; a field that it does not have is a text.
        about: what a model reads of the object.
        more: the schemas of fields that the tools show in another form.
    """
    hints = {} if kind is None else fields_of(kind)
    fields = {name: {**_form(hints.get(name, str)), **more.get(name, {}), "description": texts[name]} for name in texts}
    shape: Schema = {"type": "object", "properties": {**more, **fields}, "required": required.split()}
    return {**shape, "description": about} if about else shape


def _form(hint: Any) -> Schema:
    [kind], *_ = read_hint(hint)
    if kind is datetime:
        return {"type": "string", "format": "date-time"}
    return {"type": "object"} if get_origin(kind) is Mapping else schema_of(kind)


RECORD = _object(
    {
        "id": "What get_memory, update_memory, rate_memory and delete_memory take.",
        "kind": "What it is.",
        "content": "The text.",
        "cue": "What a search matches where that is not the content: a question, a situation.",
        "key": "An exact name: a topic's, a tool's.",
        "metadata": "Fields of whoever saved it.",
        "payload": "Fields of the kind: a tool's arguments, who spoke.",
        "source": "Who or what says so.",
        "verified": "Whether someone has checked it.",
        "rating": "Feedback, -1 to 1.",
        "agent": "The label of the agent that saved it.",
        "session": "The label of the conversation it belongs to.",
        "created_at": "When it was saved.",
        "updated_at": "When it was last changed.",
        "happened_at": "When it happened, where that was said.",
        "expires_at": "From when on it is no longer remembered.",
        "superseded_by": "The id of the memory that took its place: this one no longer holds.",
        "superseded_at": "Since when it no longer holds.",
        "version": "Counts its changes, from 1.",
        "cut": "Fields that are too long to show: which characters are here, {from, to, of}. "
        "get_memory with `field` and `offset` reads on.",
        "authors": "Who had a hand in it, but the user.",
    },
    "id kind content created_at updated_at version",
    Record,
    "One memory; a field that says nothing is left out.",
    cut={"type": "object", "additionalProperties": {"type": "object"}},
    authors={"type": "array", "items": {"type": "string"}},
)
RECORDS = _object({}, "records", records={"type": "array", "items": RECORD, "description": "In order."})
_HIT = _object(
    {
        "similarity": "How near it is to the query in meaning, 0 to 1.",
        "score": "What the order goes by, 0 to 1.",
        "matched": "Words of the query found in it.",
    },
    "record similarity score",
    Hit,
    record=RECORD,
    replaced={"type": "object", "description": "A later memory that changed it: its id `by`, `at`, `score`."},
)
HITS = _object({}, "hits", hits={"type": "array", "items": _HIT, "description": "Best first; empty where nothing is."})
_CHANGE = _object(
    {
        "score": "How likely `record` tells another state than `former`, 0 to 1.",
        "signs": "What in its text shows that.",
    },
    "record former score signs",
    Replacement,
    record=RECORD,
    former=RECORD,
)
CHANGES = _object(
    {"next": "The `cursor` of the next page, where there is one."},
    "changes",
    changes={"type": "array", "items": _CHANGE, "description": "Newest first; empty where nothing changed."},
)
CONTEXT = _object(
    {
        "text": "What is worth knowing; empty where nothing is.",
        "confidence": "How likely the memory holds the answer, 0 to 1.",
        "tokens": "How long the text is, about.",
        "ids": "The memories told, in order.",
    },
    "text confidence tokens ids",
    Context,
    ids={"type": "array", "items": {"type": "string"}},
)
DELETED = _object(
    {"id": "The id asked for.", "deleted": "False: there was none."}, "id deleted", deleted={"type": "boolean"}
)
TOPIC = _object(
    {"topic": "The name asked for.", "value": "Its value; null: there is no such topic."},
    "topic value",
    value={"type": ["string", "null"]},
    record=RECORD,
)
TOPICS = _object(
    {
        "topics": "Each topic's value, by name, in the order of the names.",
        "next": "The `cursor` of the next page, where there is one.",
    },
    "topics",
    topics={"type": "object", "additionalProperties": {"type": "string"}},
)

_RESULT = _object(
    {"id": "What fetch takes.", "title": "Its day and the beginning of its text.", "url": "Where a person reads it."},
    "id title url",
)
RESULTS = _object({}, "results", results={"type": "array", "items": _RESULT, "description": "Best first."})
DOCUMENT = _object(
    {
        "id": "The id asked for.",
        "title": "Its day and the beginning of its text.",
        "text": "The whole text, framed as data.",
        "url": "Where a person reads it.",
    },
    "id title text url",
    metadata={"type": "object", "description": "When it was, who says so, and what took its place."},
)


def record_of(
    record: Record, zone: tzinfo, *, most: int | None = None, field: str = "content", offset: int = 0
) -> dict[str, Any]:
    """Return a record as the tools show it: without empty fields, and without its tenant and user.

    Args:
        record: the record.
        zone: in which its times are shown, so that a model tells the days of the user.
        most: the most characters of each field; by default as many as one result may have.
        field: the field that is shown from `offset` on; the others are shown from their beginning.
        offset: the number of characters to pass over; of metadata and payload, of their JSON.
    """
    plain = record.read_in(zone).to_dict()
    authors = plain.pop("origin")["authors"]
    plain["authors"] = [] if authors == ["user"] else authors
    found = {name: value for name, value in plain.items() if _says(name, value)}
    most, cut = most or share(1), dict[str, Any]()
    for name in [each for each in LONG if each in found]:
        value, start = found[name], offset if name == field else 0
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if start or len(text) > most:
            part = text[start : start + most]
            found[name] = part if isinstance(value, str) else {"excerpt": part}
            cut[name] = {"from": start, "to": start + len(part), "of": len(text)}
    return {**found, "cut": cut} if cut else found


def _says(name: str, value: Any) -> bool:
    """Whether a field of a record is shown: not the walls, and nothing that is empty."""
    if name in _WALLS or value is None:
        return False
    return bool(value) if name == "verified" else value not in ({}, [])


def records_of(records: list[Record], zone: tzinfo) -> dict[str, Any]:
    """Return records as the tools show them."""
    return {"records": [record_of(each, zone, most=share(len(records))) for each in records]}


def changes_of(page: ReplacementPage, zone: tzinfo) -> dict[str, Any]:
    """Return a page of changes as the tools show them."""
    most = share(2 * len(page.changes))
    changes = [
        {
            "record": record_of(each.record, zone, most=most),
            "former": record_of(each.former, zone, most=most),
            "score": round(each.score, 4),
            "signs": list(each.signs),
        }
        for each in page.changes
    ]
    return {"changes": changes, **({} if page.next is None else {"next": page.next})}


def context_of(told: Context) -> dict[str, Any]:
    """Return what an agent is told as the tools show it."""
    ids = [item.record.id for item in told.items]
    return {"text": told.text, "confidence": round(told.confidence, 4), "tokens": told.tokens, "ids": ids}


def hits_of(hits: list[Hit], zone: tzinfo) -> dict[str, Any]:
    """Return what a search found as the tools show it."""
    return {
        "hits": [
            {
                "record": record_of(hit.record, zone, most=share(len(hits))),
                "similarity": round(hit.similarity, 4),
                "score": round(hit.score, 4),
                "matched": list(hit.matched),
                **({"replaced": hit.replaced.to_dict()} if hit.replaced is not None else {}),
            }
            for hit in hits
        ]
    }
