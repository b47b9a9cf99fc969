"""Between mem0's shapes and records: memories, messages and rows of a history."""

import hashlib
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memorist.errors import InvalidInputError
from memorist.records.record import Action, Change, Kind, Record

KINDS = (Kind.NOTE, Kind.FACT)
"""What mem0's calls see: texts stored as they are, and statements drawn from a chat."""
LABELS = ("user_id", "agent_id", "run_id")
BESIDE = ("actor_id", "role", "attributed_to", "expiration_date")
"""Fields that mem0 shows beside the metadata; a record has them in its payload."""
_MADE = "mem0: made at "
_IDENTITY = frozenset((*LABELS, "actor_id"))
_COMPUTED = frozenset(("data", "hash", "updated_at", "text_lemmatized", "id"))

log = logging.getLogger("memorist.adapters.mem0")


def fresh_id() -> str:
    """Return a new id in the form of mem0's."""
    return str(uuid.uuid4())


def item(record: Record, *, score: float | None = None, with_score: bool = True) -> dict[str, Any]:
    """Return a record as mem0 shows a memory."""
    shown: dict[str, Any] = {
        "id": record.id,
        "memory": record.content,
        "hash": hashlib.md5(record.content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(record.metadata) or None,
    }
    if with_score:
        shown["score"] = score
    shown["created_at"] = created_at(record)
    is_changed = record.updated_at > record.created_at
    shown["updated_at"] = record.updated_at.isoformat() if is_changed else shown["created_at"]
    names = (record.scope.user, record.scope.agent, record.scope.session)
    shown.update({label: name for label, name in zip(LABELS, names, strict=True) if name is not None})
    shown.update({name: record.payload[name] for name in BESIDE if name in record.payload})
    return shown


def created_at(record: Record) -> str:
    """Return the creation time: as the writer gave it, or else when the memory was stored."""
    given = record.payload.get("created_at")
    return given if isinstance(given, str) else record.created_at.isoformat()


def flat(record: Record) -> dict[str, Any]:
    """Return a record as mem0's filters see it: all fields in one mapping."""
    shown = item(record, with_score=False)
    metadata = shown.pop("metadata") or {}
    return {**metadata, **shown, "data": record.content}


def expired(record: Record, now: datetime) -> bool:
    """Return whether a memory's expiration date lies before the day of `now`, in UTC."""
    day = record.payload.get("expiration_date")
    return isinstance(day, str) and day < now.date().isoformat()


def split_metadata(
    metadata: Mapping[str, Any] | None, *, context: str, old: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a caller's metadata in two parts: for a record's metadata, and for its payload.

    Ids in the metadata cannot change the owner; they are left out and, unless they equal those in `old`, logged.

    Raises:
        InvalidInputError: it is not a mapping.
    """
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata must be a dict, not {type(metadata).__name__}")
    own: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    for name, value in (metadata or {}).items():
        if name in _IDENTITY:
            if value != (old or {}).get(name):
                log.warning("%s: ignoring metadata[%r]; the owner of a memory cannot be set there", context, name)
        elif name in BESIDE or name == "created_at":
            beside[name] = value
        elif name not in _COMPUTED:
            own[name] = value
    return own, beside


def text_of(message: object) -> str | None:
    """Return a message's text; None, logged, if it has none that can be stored."""
    if not isinstance(message, Mapping) or message.get("role") is None or message.get("content") is None:
        log.warning("Skipping invalid message format: %r", message)
        return None
    content = message["content"]
    if message["role"] == "system" or (isinstance(content, Mapping) and content.get("type") == "image_url"):
        return None
    if isinstance(content, list):
        content = " ".join(each["text"] for each in content if isinstance(each, Mapping) and each.get("type") == "text")
    if isinstance(content, str) and not content.strip():
        log.warning("Skipping a message without text")
        return None
    return content  # type: ignore[no-any-return]  # what is not a text is refused where it is stored


def history_rows(memory_id: str, chain: Sequence[Iterable[Change]]) -> list[dict[str, Any]]:
    """Return the history of a memory, oldest first.

    Args:
        memory_id: the id that was asked for.
        chain: the changes of each record that has stood for this memory, oldest first.
    """
    rows: list[dict[str, Any]] = []
    text: str | None = None
    made: str | None = None
    changes = [change for each in chain for change in each]
    sources = (change.source or "" for change in changes if change.action is Action.FORGOTTEN)
    told = next((source.removeprefix(_MADE) for source in sources if source.startswith(_MADE)), None)
    for change in changes:
        if change.action in (Action.RATED, Action.SUPERSEDED):
            continue
        gone = change.action in (Action.FORGOTTEN, Action.EXPIRED)
        new = None if change.record is None else change.record.content
        at = change.at.isoformat()
        made = made or told or (at if change.record is None else created_at(change.record))
        payload = {} if change.record is None else change.record.payload
        rows.append(
            {
                "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{memory_id}/{len(rows)}")),
                "memory_id": memory_id,
                "old_memory": text,
                "new_memory": new,
                "event": "DELETE" if gone else "UPDATE" if rows else "ADD",
                "created_at": made,
                "updated_at": at if rows else made,
                "is_deleted": gone,
                "actor_id": payload.get("actor_id"),
                "role": payload.get("role"),
            }
        )
        text = new
    return rows


def deleting_source(record: Record) -> str | None:
    """Return the source to delete a record with: it holds the creation time that the writer gave, if any.

    The history of a deleted record keeps nothing else of it.
    """
    given = record.payload.get("created_at")
    return f"{_MADE}{given}" if isinstance(given, str) else None
