"""mem0's memories: what its `get_all` returns, as JSON, or the folder in which it keeps them.

Records have the ids of mem0's memories, so what `memorist load --from mem0` stored is not stored again.
"""

from collections.abc import Iterator
from typing import Any

from memorist.adapters.mem0.files import StoredMemory, has_history, read_mem0
from memorist.errors import FormatError, InvalidInputError
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, each
from memorist.imports.sources import Part
from memorist.records import Kind

_OWNERS = {"user_id", "agent_id", "run_id"}
_OWN = {*_OWNERS, "id", "memory", "data", "metadata", "created_at", "updated_at", "hash", "text_lemmatized", "score"}


def recognise(part: Part) -> bool:
    """Whether a file holds memories, describes a Qdrant folder with them, or is mem0's history."""
    if {"id", "memory"} <= part.keys or ("results" in part.keys and '"memory"' in part.beginning):
        return True
    if part.pure.name == "meta.json":
        return part.path is not None and '"collections"' in part.beginning and '"mem0' in part.beginning
    is_history = part.path is not None and part.pure.suffix == ".db" and has_history(part.path)
    return is_history and not any(each.pure.name == "meta.json" and recognise(each) for each in part.source.parts)


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each memory, with its owner."""
    if part.json[0] and part.pure.name != "meta.json":
        yield from each(part, _memories)
        return
    assert part.path is not None
    place = part.path.parent if part.pure.name == "meta.json" else part.path
    try:
        for found in read_mem0(place):
            yield from attempt(f"memory {found.id}", _stored, found)
    except InvalidInputError as error:
        raise FormatError(str(error)) from error


def _memories(where: str, given: Any) -> Iterator[Item | Bad]:
    for memory in given.get("results", [given]):
        fields = {**(memory.get("metadata") or {}), **memory}
        place = f"memory {memory.get('id')}"
        yield from attempt(place, _stored, StoredMemory(memory["id"], {**fields, "data": memory["memory"]}))


def _stored(found: StoredMemory) -> Iterator[Item]:
    fields = found.fields
    yield Item(
        content=fields["data"],
        where=f"memory {found.id}",
        kind=Kind.FACT if fields.get("role") is None else Kind.NOTE,
        id=str(found.id),
        happened_at=fields.get("created_at"),
        user=fields.get("user_id"),
        agent=fields.get("agent_id"),
        session=fields.get("run_id"),
        metadata={name: value for name, value in fields.items() if name not in _OWN},
        shared_id=True,
    )


READER = Reader("mem0", "mem0", recognise, read)
