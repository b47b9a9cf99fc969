"""CrewAI's records as records of a memory, and back."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from crewai.memory.types import MemoryRecord
from crewai.memory.utils import normalize_scope_path

from memorist.records.attribution import told_text
from memorist.records.record import Draft, Kind, Record

FORM = "crewai"


def draft_of(record: MemoryRecord) -> Draft:
    """Return the draft of a note for CrewAI's record; the payload has its scope and every scope above it."""
    path = path_of(record.scope)
    parts = path.strip("/").split("/") if path != "/" else []
    payload = {
        "form": FORM,
        "path": path,
        "paths": ["/", *("/" + "/".join(parts[: length + 1]) for length in range(len(parts)))],
        "categories": list(record.categories),
        "importance": record.importance,
        "source": record.source,
        "private": record.private,
        "accessed": record.last_accessed.isoformat(),
    }
    return Draft(
        content=record.content,
        kind=Kind.NOTE,
        id=record.id,
        metadata=record.metadata,
        payload=payload,
        happened_at=record.created_at,
        vector=record.embedding or None,
    )


def record_of(record: Record) -> MemoryRecord:
    """Return the record of CrewAI that a note holds; a note of another origin is at the root."""
    own = record.payload
    accessed = own.get("accessed")
    return MemoryRecord(
        id=record.id,
        content=record.content,
        scope=own.get("path", "/"),
        categories=list(own.get("categories", ())),
        metadata=dict(record.metadata),
        importance=own.get("importance", 0.5),
        created_at=_naive(record.at),
        last_accessed=_naive(record.updated_at) if accessed is None else datetime.fromisoformat(accessed),
        source=own.get("source", record.source),
        private=own.get("private", False),
    )


def told_of(record: Record) -> MemoryRecord:
    """Return the record of CrewAI that a note holds, with its text as a model is told it."""
    return record_of(record).model_copy(update={"content": told_text(record)})


def narrowed(path: str | None = None, categories: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the condition on payloads of CrewAI's records in a scope, or below it, in one of the categories."""
    condition: dict[str, Any] = {"form": FORM, **more}
    if path_of(path) != "/":
        condition["paths"] = path_of(path)
    if categories:
        condition["categories"] = {"$in": list(categories)}
    return condition


def plain_metadata(wanted: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the part of CrewAI's filter that the store can apply; None if there is none."""
    plain = str, int, float
    return {
        name: value for name, value in (wanted or {}).items() if name.isidentifier() and isinstance(value, plain)
    } or None


def has_metadata(record: Record, wanted: Mapping[str, Any] | None) -> bool:
    """Return whether a record has every field of a filter of CrewAI's, whatever their names and values are."""
    return all(record.metadata.get(name) == value for name, value in (wanted or {}).items())


def path_of(path: str | None) -> str:
    """Return a scope's path as CrewAI writes it; the root where there is none."""
    normal: str = normalize_scope_path(path or "/")
    return normal


def visible_to(source: str | None, condition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the condition narrowed to records that are public, or private to `source`."""
    public: list[Mapping[str, Any]] = [{"private": False}]
    return {"$and": [condition, {"$or": [*public, {"source": source}] if source is not None else public}]}


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
