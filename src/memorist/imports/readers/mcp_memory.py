"""The graph of the MCP memory server: ``memory.json``, entities with observations and relations in lines."""

from collections.abc import Iterator
from typing import Any

from memorist.imports.reader import Item, Reader
from memorist.imports.readers.common import each_record, having
from memorist.records.record import Kind


def _entry(where: str, entry: Any) -> Iterator[Item]:
    """Yield each observation and each relation as a fact."""
    if entry["type"] == "entity":
        about = {"entity": entry["name"], "entity_type": entry.get("entityType")}
        for observation in entry.get("observations") or ():
            yield Item(content=f"{entry['name']}: {observation}", where=where, kind=Kind.FACT, metadata=about)
    elif entry["type"] == "relation":
        text = f"{entry['from']} {str(entry['relationType']).replace('_', ' ')} {entry['to']}"
        about = {name: entry[name] for name in ("from", "to")}
        yield Item(content=text, where=where, kind=Kind.FACT, metadata={**about, "relation": entry["relationType"]})


READER = Reader(
    "mcp_memory",
    "MCP memory server",
    having({"type", "name", "entityType", "observations"}, {"type", "from", "to", "relationType"}),
    each_record(_entry),
)
