"""Mango's entries, as its `export_all` returns them and its `import_all` takes them: the mirror of the reader.

A call of a tool is an entry of its layer, a verified one an example, and a note a text. What Mango has no field for
stands beside the entry, where Mango leaves it alone.
"""

import json
from collections.abc import Iterator
from typing import Any

from memorist.imports.extra_fields import KEPT, kept
from memorist.imports.writer import Output, Writer
from memorist.kinds import ToolUse
from memorist.records.kind import Kind
from memorist.records.record import Record
from memorist.records.times import iso


class _Entries(Output):
    begin = "["
    _separator = "\n"

    def add(self, record: Record) -> Iterator[str]:
        own = dict(record.metadata.get("mango") or {})
        is_theirs = bool(own)
        entry = {"type": _layer(record), "id": own.pop("id", record.id), **_said(record), **own}
        if not is_theirs:
            entry[KEPT] = kept(record)
        yield self._separator + json.dumps(entry, ensure_ascii=False)
        self._separator = ",\n"

    def end(self) -> Iterator[str]:
        yield "\n]\n"


def _layer(record: Record) -> str:
    if record.kind is Kind.NOTE:
        return "text"
    return "training" if record.verified else "tool"


def _said(record: Record) -> dict[str, Any]:
    if record.kind is Kind.NOTE:
        return {"text": record.content, "verified": record.verified}
    call = ToolUse.of(record)
    result = call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
    return {
        "question": record.cue or "",
        "tool_name": call.tool,
        "tool_args": dict(call.arguments),
        "result_summary": result,
        "timestamp": iso(record.at),
    }


def _is_entry(record: Record) -> bool:
    return record.kind in (Kind.NOTE, Kind.TOOL_USE)


WRITER = Writer(
    "mango",
    "Mango",
    "mango_memory.json",
    "application/json",
    _Entries,
    takes=_is_entry,
    places=frozenset(("verification",)),
)
