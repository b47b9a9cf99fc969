"""Mango's memory on any Memorist store."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorist.adapters.mango.layered import Layer, LayeredMemory, Stored
from memorist.kinds import ToolUse
from memorist.memory import MAX_LIMIT, Memory
from memorist.records import Kind, Record
from memorist.twin import run

__all__ = ["AgentMemory"]

_PAGE = 500


class AgentMemory(LayeredMemory):
    """The same memory over the verbs: tool calls and examples are tool uses (verified ones), texts are notes.

    Every other verb of `Memory` sees them, too; what others stored under ids of their own is not Mango's and
    is left alone.

    Args:
        memory: an open memory; its scope is whose memory this is.
        rerank: see `LayeredMemory`.
        provenance: see `LayeredMemory`.
    """

    def __init__(self, memory: Memory, *, rerank: bool = False, provenance: bool = False) -> None:
        super().__init__(rerank=rerank, provenance=provenance)
        self.memory = memory

    async def _put(self, layer: Layer, entry: Stored) -> None:
        id, fields = f"{layer}:{entry.id}", entry.fields
        given: dict[str, Any] = {"source": fields.get("source"), "metadata": _metadata(layer, fields)}
        if layer == "text":
            await self.memory.notes.add(entry.text, id=id, if_exists="replace", **given)
            return
        await self.memory.tools.record(
            entry.text if entry.text.strip() else None,
            fields["tool_name"],
            fields["tool_args"],
            fields["result_summary"],
            id=id,
            if_exists="replace",
            verified=layer == "training",
            **given,
        )

    async def _nearest(self, layer: Layer, text: str, count: int, threshold: float) -> Sequence[Stored]:
        if threshold > 1:
            return []
        hits = await self.memory.recall(
            text, limit=min(count, MAX_LIMIT), kind=_kind(layer), where={"mango": {"$exists": True}}, mode="dense",
            verified=layer == "training", min_similarity=max(threshold, 0.0),
        )  # fmt: skip
        return [_stored(layer, hit.record, hit.similarity) for hit in hits]

    async def _get(self, layer: Layer, id: str) -> Stored | None:
        record = await self.memory.get(f"{layer}:{id}")
        return None if record is None or "mango" not in record.metadata else _stored(layer, record)

    async def _remove(self, layer: Layer, id: str) -> None:
        await self.memory.forget(f"{layer}:{id}")

    async def _all(self, layer: Layer) -> Sequence[Stored]:
        records: list[Record] = []
        cursor = None
        while True:
            page = await self.memory.browse(**_chosen(layer), order="oldest", limit=_PAGE, cursor=cursor)
            records += page.records
            if (cursor := page.next) is None:
                return [_stored(layer, record) for record in records]

    def _count(self, layer: Layer) -> int:
        return run(lambda: self.memory.count(**_chosen(layer)))


def _kind(layer: Layer) -> Kind:
    return Kind.NOTE if layer == "text" else Kind.TOOL_USE


def _chosen(layer: Layer) -> dict[str, Any]:
    where = {"mango": {"$exists": True}}
    return {"kind": _kind(layer), "where": where, "verified": layer == "training"}


def _metadata(layer: Layer, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record has no field for: Mango's timestamp to the letter, and its own `verified`."""
    kept = {name: fields[name] for name in ("timestamp", "verified") if name in fields}
    return {"mango": kept}


def _stored(layer: Layer, record: Record, similarity: float = 0.0) -> Stored:
    id = record.id.removeprefix(f"{layer}:")
    own: dict[str, Any] = {**record.metadata["mango"], "source": record.source}
    if layer == "text":
        return Stored(id, record.content, own, similarity)
    use = ToolUse.of(record)
    fields = {"tool_name": use.tool, "tool_args": dict(use.arguments), "result_summary": use.result, **own}
    return Stored(id, record.cue or "", fields, similarity)
