"""What the views share: checks, and the verbs restricted to one kind."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from memorist.arguments import unknown_arguments
from memorist.errors import InvalidInputError
from memorist.kinds.options import RecordFields, SearchOptions
from memorist.records import Hit, Kind, Record
from memorist.verbs import Verbs

__all__ = ["check_text", "delete", "find", "keep", "search"]

_PAGE = 500


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a text that says something.

    Raises:
        InvalidInputError: it is not; the text names the argument.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInputError(f"{name} must not be blank")
    return value


async def keep(
    memory: Verbs,
    kind: Kind,
    content: str,
    fields: RecordFields,
    *,
    cue: str | None = None,
    payload: Mapping[str, Any] | None = None,
    supersedes: str | None = None,
) -> Record:
    """Remember one record of this kind, with the fields that the caller gave the view."""
    unknown_arguments(f"a record of kind {kind}", fields, RecordFields.__annotations__)
    record: Record = await memory.remember(
        content, kind=kind, cue=cue, payload=payload, supersedes=supersedes, **fields
    )
    return record


async def search(
    memory: Verbs,
    kind: Kind,
    query: str,
    limit: int,
    options: SearchOptions,
    payload: Mapping[str, Any] | None = None,
) -> list[Hit]:
    """Recall records of this kind, with the options that the caller gave the view."""
    unknown_arguments("search", options, get_type_hints(SearchOptions))
    return await memory.recall(query, limit=limit, kind=kind, payload=payload, **options)


async def find(memory: Verbs, kind: Kind, id: str) -> Record | None:
    """Return the record with this id if it is of this kind, superseded or not; else None."""
    record = await memory.get(id)
    return record if record is not None and record.kind == kind else None


async def delete(memory: Verbs, kind: Kind, ids: tuple[str, ...]) -> int:
    """Forget those of `ids` that are of this kind; return how many there were. No ids forget nothing."""
    return sum([await memory.forget(*ids[start : start + _PAGE], kind=kind) for start in range(0, len(ids), _PAGE)])
