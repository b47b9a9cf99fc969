"""Mango's memory on any Memorist store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memorist.adapters.entries import id_in
from memorist.adapters.host_files.chroma import Row
from memorist.adapters.mango.layered import Layer, LayeredMemory
from memorist.adapters.opening import AnyMemory, behind
from memorist.blocking_client import run
from memorist.kinds import ToolUse
from memorist.operations.arguments import MAX_LIMIT
from memorist.records.attribution import attributed
from memorist.records.origins import Author
from memorist.records.record import Kind, Record


class AgentMemory(LayeredMemory):
    """Keeps tool calls and examples as tool uses (examples as verified ones), and texts as notes.

    All other verbs of `Memory` see these records. Records that others wrote are not Mango's, and are left alone.
    Memories under different labels share nothing, also where their entries have the same ids.

    Args:
        memory: an open memory, asynchronous or blocking, whose scope says whose memory it is; or a path or URL.
        rerank: see `LayeredMemory`.
        provenance: see `LayeredMemory`.
    """

    def __init__(self, memory: AnyMemory, *, rerank: bool = False, provenance: bool | None = None) -> None:
        super().__init__(rerank=rerank, provenance=provenance)
        self.memory = behind(memory, "mango")

    def _record_id(self, layer: Layer, id: str) -> str:
        return f"{layer}:{id_in(self.memory.scope, id)}"

    async def _put(self, layer: Layer, entry: Row) -> None:
        fields = entry.metadata
        given: dict[str, Any] = {
            "id": self._record_id(layer, entry.id),
            "if_exists": "replace",
            "metadata": _metadata(entry),
            "source": fields.get("source"),
        }
        if layer == "text":
            await self.memory.notes.add(entry.document, verified=fields.get("verified") is True, **given)
            return
        await self.memory.tools.record(
            entry.document if entry.document.strip() else None,
            fields["tool_name"],
            fields["tool_args"],
            fields["result_summary"],
            verified=layer == "training",
            **given,
        )

    async def _nearest(self, layer: Layer, text: str, count: int, threshold: float) -> Sequence[Row]:
        if threshold > 1:
            return []
        hits = await self.memory.recall(
            text, limit=min(count, MAX_LIMIT), mode="dense", min_similarity=max(threshold, 0.0), **_chosen(layer)
        )
        return [_marked(_stored(layer, hit.record, hit.similarity), hit.record) for hit in hits]

    async def _get(self, layer: Layer, id: str) -> Row | None:
        record = await self.memory.get(self._record_id(layer, id))
        return None if record is None or "mango" not in record.metadata else _stored(layer, record)

    async def _remove(self, layer: Layer, id: str) -> None:
        await self.memory.forget(self._record_id(layer, id))

    async def _all(self, layer: Layer) -> Sequence[Row]:
        return [_stored(layer, record) async for record in self.memory.iterate(**_chosen(layer))]

    def _count(self, layer: Layer) -> int:
        return run(lambda: self.memory.count(**_chosen(layer)))


def _chosen(layer: Layer) -> dict[str, Any]:
    """Return the narrowing to the records of a layer."""
    own = {"where": {"mango": {"$exists": True}}}
    if layer == "text":
        return {"kind": Kind.NOTE, **own}
    return {"kind": Kind.TOOL_USE, "verified": layer == "training", **own}


def _metadata(entry: Row) -> dict[str, Any]:
    """Return what a record has no field for: Mango's id and timestamp to the letter, and its own `verified`."""
    kept = {name: entry.metadata[name] for name in ("timestamp", "verified") if name in entry.metadata}
    return {"mango": {"id": entry.id, **kept}}


def _stored(layer: Layer, record: Record, similarity: float = 0.0) -> Row:
    own: dict[str, Any] = {"source": record.source, **record.metadata["mango"]}  # an import has a source of its own
    id = own.pop("id")
    if layer == "text":
        return Row(id, record.content, own, similarity)
    use = ToolUse.of(record)
    fields = {"tool_name": use.tool, "tool_args": dict(use.arguments), "result_summary": use.result, **own}
    return Row(id, record.cue or "", fields, similarity)


def _marked(row: Row, record: Record) -> Row:
    """Return what a search finds with its origin before its text; that a tool was called is said by its kind."""
    note = attributed({}, record.origin.authors & ~(Author.PEER | Author.TOOL), record.scope.user)
    return replace(row, document=note + row.document)
