"""mem0's memories: what its `get_all` returns, as JSON, or the folder in which it keeps them.

A memory becomes a fact, or a note where somebody said it. It keeps its id, its times and its owner, so that
`memorist.adapters.mem0` can go on using it. What a Qdrant store holds is read from it; the history has no owners and no
metadata, and is read only if there is nothing else.
"""

from collections.abc import Iterator
from typing import Any

from memorist.adapters.mem0.shapes import BESIDE, LABELS
from memorist.errors import FormatError, InvalidInputError
from memorist.files.qdrant import Point, points
from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, database, each, tables
from memorist.imports.sources import Part
from memorist.records.record import Kind
from memorist.records.times import now

OWN = {*LABELS, *BESIDE, *"id memory data metadata created_at updated_at hash text_lemmatized score".split()}
"""Names that cannot be metadata: mem0 keeps both in one object."""
_TOLD = ("data", "created_at", "updated_at", "actor_id", "role")
_COLUMNS = ("memory_id", "event", "new_memory", *_TOLD[1:])
# In the order in which they were written: not every row has its time, and mem0 wrote some in local time.
_CURRENT = f"SELECT {', '.join(_COLUMNS)} FROM history ORDER BY rowid"


def recognise(part: Part) -> bool:
    """Whether a file holds memories, describes a Qdrant folder with them, or is mem0's history."""
    if {"id", "memory"} <= part.keys or ("results" in part.keys and '"memory"' in part.beginning):
        return True
    if part.pure.name == "meta.json":
        return part.is_named and _describes_store(part)
    return part.pure.suffix == ".db" and _has_history(part) and not any(map(_describes_store, part.source.parts))


def _describes_store(part: Part) -> bool:
    is_meta = part.path is not None and part.pure.name == "meta.json"
    return is_meta and '"collections"' in part.beginning and '"mem0' in part.beginning


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each memory, with its owner."""
    if part.json[0] and part.pure.name != "meta.json":
        yield from _in_json(part)
        return
    at = part.path
    for found in points(at.parent) if at is not None and part.pure.name == "meta.json" else _history(part):
        if not found.collection.endswith("_entities") and found.collection != "mem0migrations":  # they are no memories
            yield from attempt(f"memory {found.id}", _stored, found)


def _has_history(part: Part) -> bool:
    if "history" not in tables(part):
        return False
    with database(part) as connection:
        return {row[1] for row in connection.execute("PRAGMA table_info(history)")}.issuperset(_COLUMNS)


def _history(part: Part) -> Iterator[Point]:
    """Yield the memories that a history leaves: the last text of each, unless it was deleted."""
    if not _has_history(part):
        raise FormatError("it is neither a history of mem0's nor a Qdrant store")
    last: dict[str, dict[str, Any]] = {}
    with database(part) as connection:
        for id, event, *values in connection.execute(_CURRENT):
            if event == "DELETE":
                last.pop(id, None)
            else:
                last[id] = dict(zip(_TOLD, values, strict=True))
    for id, fields in last.items():
        yield Point("", id, {name: value for name, value in fields.items() if value is not None})


def _in_json(part: Part) -> Iterator[Item | Bad]:
    if "results" not in part.keys:
        yield from each(part, _memory)
        return
    for path, value in part.walk(lambda path: path[1:] in ((), ("results",))):
        if path[1:2] == ("results",):
            yield from attempt(f"memory {path[-1]}", _memory, value)


def _memory(where: str, memory: Any) -> Iterator[Item]:
    fields = {**(memory.get("metadata") or {}), **memory}
    yield from _stored(where, Point("", memory["id"], {**fields, "data": memory["memory"]}))


def _stored(where: str, found: Point) -> Iterator[Item]:
    fields = found.payload
    if found.problem is not None:
        raise InvalidInputError(found.problem)
    if not isinstance(text := fields.get("data"), str):
        raise InvalidInputError("it has no text")
    user, agent, session = (None if (name := fields.get(label)) is None else str(name).strip() for label in LABELS)
    item = Item(
        content=text,
        where=where,
        kind=Kind.FACT if fields.get("role") is None else Kind.NOTE,
        id=str(found.id),
        created_at=fields.get("created_at") or now(),
        updated_at=fields.get("updated_at"),
        user=user,
        agent=agent,
        session=session,
        metadata={name: value for name, value in fields.items() if name not in OWN},
        payload={name: fields[name] for name in BESIDE if fields.get(name) is not None},
        shared_id=True,
    )
    yield restored(item, fields.get(KEPT))


READER = Reader("mem0", "mem0", recognise, read)
