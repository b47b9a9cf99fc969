"""Qdrant's collections with texts in their payloads: the folder of a local client."""

import json
from collections.abc import Iterator

from memorist.errors import InvalidInputError
from memorist.files.qdrant import Point, points
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import attempt, owner_of, text_field
from memorist.imports.readers.episodes import episode
from memorist.imports.sources import Part
from memorist.records.record import Kind

_EPISODE = "episode_json"
"""Where the Qdrant store of "LLM agents from scratch" keeps an episode."""


def recognise(part: Part) -> bool:
    """Whether a file describes a local client's folder, and that folder was given or this format asked for."""
    return part.pure.name == "meta.json" and part.is_named and {"collections", "aliases"} <= part.keys


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the text of each point as a note, with the rest of its payload."""
    assert part.path is not None
    for found in points(part.path.parent):
        yield from attempt(f"point {found.id} of {found.collection}", _point, found)


def _point(where: str, point: Point) -> Iterator[Item]:
    if point.problem is not None:
        raise InvalidInputError(point.problem)
    if not point.payload:
        return
    if isinstance(kept := point.payload.get(_EPISODE), str):
        yield from episode(where, json.loads(kept))
        return
    text, others = text_field(point.payload)
    yield Item(
        content=text,
        where=where,
        kind=Kind.NOTE,
        conversation=point.collection,
        id=str(point.id),
        metadata={**others, "collection": point.collection},
        user=owner_of(point.payload),
    )


READER = Reader("qdrant", "Qdrant", recognise, read)
