"""This package's own files: exports, and chats in lines. They are stored as `memorist load` stores them."""

import json
from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Item, Reader
from memorist.imports.readers.common import each_record
from memorist.imports.sources import Part
from memorist.operations.lines import FORMAT, check_header, is_export
from memorist.records.record import Kind

_BESIDE = {"speaker", "session", "group", "timestamp", "user", "role", "id"}


def recognise(part: Part) -> bool:
    """Whether the first line is that of an export, or a message."""
    first = part.beginning.partition("\n")[0]
    if is_export(first):
        return True
    return part.json[0] == "{" and "text" in part.keys and bool(_BESIDE & part.keys) and _is_whole(first)


def _line(where: str, given: Any) -> Iterator[Item]:
    """Yield each record or message, for a survey."""
    if given.get("format") == FORMAT:
        check_header(json.dumps(given))
        return
    talk = [given[name] for name in ("group", "session") if given.get(name) is not None]
    yield Item(
        content=given.get("text") or given["content"],
        where=where,
        kind=Kind(given.get("kind", Kind.MESSAGE)),
        conversation="/".join(map(str, talk)) or None,
        speaker=given.get("speaker"),
        role=given.get("role") or "other",
        happened_at=given.get("happened_at") or given.get("timestamp"),
    )


def _is_whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


READER = Reader("memorist", "Memorist", recognise, each_record(_line))
