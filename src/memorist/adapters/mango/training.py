"""Training from files with one JSON object a line, and export to such a file."""

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

from memorist.adapters.mango.types import MemoryService
from memorist.errors import FormatError
from memorist.operations.lines import BadLine, read_object

__all__ = ["BadLine", "TrainingReport", "export_lines", "train_lines"]


@dataclass(slots=True)
class TrainingReport:
    """The result of importing a file."""

    imported: int = 0
    bad: list[BadLine] = field(default_factory=list)


async def train_lines(memory: MemoryService, lines: Iterable[str | bytes]) -> TrainingReport:
    """Import one entry a line, in the form of `export_all`; an entry without a type is a training entry.

    Blank lines are skipped; bad lines are reported, and the others imported.

    Raises:
        StoreError: the memory failed; the lines before are imported.
    """
    report = TrainingReport()
    for number, line in enumerate(lines, 1):
        try:
            reason = await _take_in(memory, read_object(line)) if line.strip() else ""
        except FormatError as error:
            reason = f"it is {error}"
        if reason is None:
            report.imported += 1
        elif reason:
            report.bad.append(BadLine(number, reason))
    return report


async def _take_in(memory: MemoryService, entry: dict[str, Any]) -> str | None:
    """Import one entry; return what is wrong with it, or None."""
    entry = {"type": "training", **entry}
    if entry["type"] not in ("tool", "text", "training"):
        return f"unknown type {entry['type']!r}; available: tool, text, training"
    needed = ("text",) if entry["type"] == "text" else ("question", "tool_name", "tool_args")
    missing = [name for name in needed if name not in entry]
    if missing:
        return f"it lacks {', '.join(missing)}"
    return None if await memory.import_all([entry]) else "one of its fields is wrong"


async def export_lines(memory: MemoryService) -> AsyncIterator[str]:
    """Yield every entry as a line of JSON, without its end, as `train_lines` reads it."""
    for entry in await memory.export_all():
        yield json.dumps(entry, ensure_ascii=False)
