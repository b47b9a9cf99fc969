"""Qdrant's collections with texts in their payloads: the folder of a local client."""

from collections.abc import Iterator
from typing import Any

from memorist.adapters.mem0.files import points
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, text_field
from memorist.imports.sources import Part
from memorist.records import Kind


def recognise(part: Part) -> bool:
    """Whether a file describes a local client's folder."""
    return part.pure.name == "meta.json" and part.path is not None and {"collections", "aliases"} <= part.keys


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the text of each point as a note, with the rest of its payload."""
    assert part.path is not None
    for collection, found in points(part.path.parent):
        yield from attempt(f"point {found.id} of {collection}", _point, collection, str(found.id), dict(found.fields))


def _point(where: str, collection: str, id: str, payload: dict[str, Any]) -> Iterator[Item]:
    if not payload:
        return
    text, others = text_field(payload)
    yield Item(
        content=text,
        where=where,
        kind=Kind.NOTE,
        conversation=collection,
        id=id,
        metadata={**others, "collection": collection},
    )


READER = Reader("qdrant", "Qdrant", recognise, read)
