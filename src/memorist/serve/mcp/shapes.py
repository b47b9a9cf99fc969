"""What the tools answer: the JSON schemas, and records in that form."""

import json
from collections.abc import Mapping
from typing import Any

from memorist.agents.excerpts import share
from memorist.operations.answers import Context
from memorist.records.record import Hit, Kind, Record

Schema = dict[str, Any]

_WALLS = ("tenant", "user")
LONG = ("content", "cue", "metadata", "payload")
"""The fields that may be too long for a model."""


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _time(description: str) -> Schema:
    return {"type": "string", "format": "date-time", "description": description}


def _object(properties: Mapping[str, Schema], required: str, description: str = "") -> Schema:
    """Return the schema of an object; `required` holds the names of the fields that are always there."""
    shape: Schema = {"type": "object", "properties": dict(properties), "required": required.split()}
    return {**shape, "description": description} if description else shape


RECORD = _object(
    {
        "id": _text("What get_memory, update_memory, rate_memory and delete_memory take."),
        "kind": {"type": "string", "enum": [str(kind) for kind in Kind]},
        "content": _text("The text."),
        "cue": _text("What a search matches where that is not the content: a question, a situation."),
        "key": _text("An exact name: a topic's, a tool's."),
        "metadata": {"type": "object", "description": "Fields of whoever saved it."},
        "payload": {"type": "object", "description": "Fields of the kind: a tool's arguments, who spoke."},
        "source": _text("Who or what says so."),
        "verified": {"type": "boolean", "description": "Whether someone has checked it."},
        "rating": {"type": "number", "minimum": -1, "maximum": 1, "description": "Feedback."},
        "agent": _text("The label of the agent that saved it."),
        "session": _text("The label of the conversation it belongs to."),
        "created_at": _time("When it was saved."),
        "updated_at": _time("When it was last changed."),
        "happened_at": _time("When it happened, where that was said."),
        "expires_at": _time("From when on it is no longer remembered."),
        "superseded_by": _text("The id of the memory that took its place: this one no longer holds."),
        "superseded_at": _time("Since when it no longer holds."),
        "version": {"type": "integer", "minimum": 1, "description": "Counts its changes."},
        "cut": {
            "type": "object",
            "additionalProperties": {"type": "object"},
            "description": "Fields that are too long to show: which characters are here, {from, to, of}. "
            "get_memory with `field` and `offset` reads on.",
        },
        "authors": {"type": "array", "items": {"type": "string"}, "description": "Who had a hand in it, but the user."},
    },
    required="id kind content created_at updated_at version",
    description="One memory; a field that says nothing is left out.",
)

RECORDS = _object({"records": {"type": "array", "items": RECORD, "description": "In order."}}, required="records")

_HIT = _object(
    {
        "record": RECORD,
        "similarity": {"type": "number", "description": "How near it is to the query in meaning, 0 to 1."},
        "score": {"type": "number", "description": "What the order goes by, 0 to 1."},
        "matched": {"type": "array", "items": {"type": "string"}, "description": "Words of the query found in it."},
    },
    required="record similarity score",
)

HITS = _object(
    {"hits": {"type": "array", "items": _HIT, "description": "Best first; empty where nothing is."}}, required="hits"
)

CONTEXT = _object(
    {
        "text": _text("What is worth knowing; empty where nothing is."),
        "confidence": {"type": "number", "description": "How likely the memory holds the answer, 0 to 1."},
        "tokens": {"type": "integer", "description": "How long the text is, about."},
        "ids": {"type": "array", "items": {"type": "string"}, "description": "The memories told, in order."},
    },
    required="text confidence tokens ids",
)

DELETED = _object(
    {"id": _text("The id asked for."), "deleted": {"type": "boolean", "description": "False: there was none."}},
    required="id deleted",
)

TOPIC = _object(
    {
        "topic": _text("The name asked for."),
        "value": {"type": ["string", "null"], "description": "Its value; null: there is no such topic."},
        "record": RECORD,
    },
    required="topic value",
)

TOPICS = _object(
    {
        "topics": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Each topic's value, by name, in the order of the names.",
        },
        "next": _text("The `cursor` of the next page, where there is one."),
    },
    required="topics",
)


def record_of(record: Record, *, most: int | None = None, field: str = "content", offset: int = 0) -> dict[str, Any]:
    """Return a record as the tools show it: without empty fields, and without its tenant and user.

    Args:
        record: the record.
        most: the most characters of each field; by default as many as one result may have.
        field: the field that is shown from `offset` on; the others are shown from their beginning.
        offset: the number of characters to pass over; of metadata and payload, of their JSON.
    """
    plain = record.to_dict()
    authors = plain.pop("origin")["authors"]
    plain["authors"] = [] if authors == ["user"] else authors
    found = {
        name: value
        for name, value in plain.items()
        if name not in _WALLS and value is not None and value not in ({}, []) and not (name == "verified" and not value)
    }
    most, cut = most or share(1), dict[str, Any]()
    for name in LONG:
        if name not in found:
            continue
        value, start = found[name], offset if name == field else 0
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if start or len(text) > most:
            part = text[start : start + most]
            found[name] = part if isinstance(value, str) else {"excerpt": part}
            cut[name] = {"from": start, "to": start + len(part), "of": len(text)}
    return {**found, "cut": cut} if cut else found


def records_of(records: list[Record]) -> dict[str, Any]:
    """Return records as the tools show them."""
    return {"records": [record_of(each, most=share(len(records))) for each in records]}


def context_of(told: Context) -> dict[str, Any]:
    """Return what an agent is told as the tools show it."""
    ids = [item.record.id for item in told.items]
    return {"text": told.text, "confidence": round(told.confidence, 4), "tokens": told.tokens, "ids": ids}


def hits_of(hits: list[Hit]) -> dict[str, Any]:
    """Return what a search found as the tools show it."""
    return {
        "hits": [
            {
                "record": record_of(hit.record, most=share(len(hits))),
                "similarity": round(hit.similarity, 4),
                "score": round(hit.score, 4),
                "matched": list(hit.matched),
                **({"replaced": hit.replaced.to_dict()} if hit.replaced is not None else {}),
            }
            for hit in hits
        ]
    }
