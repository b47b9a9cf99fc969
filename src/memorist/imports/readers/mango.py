"""Mango's memory: the folder ``.mango_memory``, or what its `export_all` returns, as JSON or a line each."""

import re
from collections.abc import Iterator
from typing import Any

from memorist.errors import InvalidInputError
from memorist.imports.extra_fields import KEPT, restored
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers import rows
from memorist.imports.readers.common import each
from memorist.imports.readers.tool_calls import LAYERS, entry
from memorist.imports.sources import Part
from memorist.records.fingerprints import digest

_CALL = frozenset(("question", "tool_name", "tool_args"))
_TEXT = frozenset(("type", "text"))
_MORE = frozenset(("id", "source", "verified", KEPT))
_IS_TEXT = re.compile(r'"type"\s*:\s*"text"')
_in_folder = rows.recognises("mango")


def recognise(part: Part) -> bool:
    """Whether a file is the database of a Mango folder, or holds entries with their types."""
    is_text = _TEXT <= part.keys <= _TEXT | _MORE and _IS_TEXT.search(part.beginning) is not None
    return part.keys >= _CALL or is_text or _in_folder(part)


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield each entry."""
    if part.json[0]:
        yield from each(part, _entry)
    else:
        yield from rows.read(part, options)


def _entry(where: str, given: Any) -> Iterator[Item]:
    layer = given.get("type", "training")  # as Mango's own training files have it
    if layer not in LAYERS:
        raise InvalidInputError(f"unknown type {layer!r}; available: {', '.join(LAYERS)}")
    text = given["text" if layer == "text" else "question"]
    id = given.get("id") or digest(given)
    yield restored(entry(where, layer, str(id), text, given, None), given.get(KEPT))


READER = Reader("mango", "Mango", recognise, read)
