"""The rules that every memory of Mango's kind follows, over three layers that store and search."""

import json
import logging
import re
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from memorist.adapters.host_files.chroma import Row
from memorist.adapters.mango.types import MemoryEntry, MemoryService, TextMemoryEntry, TrainingEntry, make_entry_id
from memorist.operations import arguments
from memorist.records.content import whole

logger = logging.getLogger("memorist.adapters.mango")

Layer: TypeAlias = Literal["tool", "text", "training"]
_Call = TypeVar("_Call", MemoryEntry, TrainingEntry)

LAYERS: tuple[Layer, ...] = ("tool", "text", "training")
_CALL_FIELDS = ("tool_name", "tool_args", "result_summary", "timestamp")
_FLOAT_NOISE = 1e-6
"""Vectors are 32-bit floats: a similarity equal to the threshold may be computed slightly below it."""
_CANDIDATES = 4
"""How many times `top_k` entries are read when they are re-ranked."""
_BY_SIMILARITY, _BY_ARGUMENTS = 0.7, 0.3


class LayeredMemory(MemoryService):
    """Applies thresholds, limits and rounding; exports and imports.

    Args:
        rerank: order hits by 0.7 x similarity + 0.3 x the share of the question's words that are found in the
            arguments; `similarity` stays the cosine.
        provenance: store and export `source` and `verified` of each entry; by default of texts alone, as Mango does.
    """

    def __init__(self, *, rerank: bool = False, provenance: bool | None = None) -> None:
        self.rerank = rerank
        self.provenance = provenance

    # --- what a layer does: it keeps an entry as a row, whose document is what a search matches ------------

    @abstractmethod
    async def _put(self, layer: Layer, entry: Row) -> None:
        """Store an entry, and replace one with the same id."""

    @abstractmethod
    async def _nearest(self, layer: Layer, text: str, count: int, threshold: float) -> Sequence[Row]:
        """Return up to `count` entries whose unrounded similarity is `threshold` or more, best first."""

    @abstractmethod
    async def _get(self, layer: Layer, id: str) -> Row | None:
        """Return an entry, or None."""

    @abstractmethod
    async def _remove(self, layer: Layer, id: str) -> None:
        """Delete an entry, if there is one."""

    @abstractmethod
    async def _all(self, layer: Layer) -> Sequence[Row]:
        """Return every entry, oldest first."""

    @abstractmethod
    def _count(self, layer: Layer) -> int:
        """Return how many entries there are."""

    # --- the interface -----------------------------------------------------------------------------------

    async def store(self, entry: MemoryEntry) -> None:
        await self._put("tool", self._stored(entry, verified=False))

    async def retrieve(self, question: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[MemoryEntry]:
        found = await self._search("tool", question, top_k, similarity_threshold)
        return [_call(MemoryEntry, each) for each in found]

    async def delete(self, entry_id: str) -> None:
        await self._remove("tool", entry_id)

    async def save_text(self, text: str, *, source: str | None = None, verified: bool | None = None) -> str:
        source = source or "manual"
        is_verified = source == "manual" if verified is None else verified
        origin = self._origin(source, is_verified, "text")
        id = make_entry_id()
        await self._put("text", Row(id, arguments.text("text", text), origin))
        return id

    async def search_text(self, query: str, top_k: int = 3, similarity_threshold: float = 0.6) -> list[TextMemoryEntry]:
        found = await self._search("text", query, top_k, similarity_threshold)
        return [TextMemoryEntry(row.id, row.document, round(row.similarity, 3), **_origin_of(row)) for row in found]

    def count(self) -> int:
        return self._count("tool")

    async def train(self, entry: TrainingEntry) -> None:
        await self._put("training", self._stored(entry, verified=True))

    async def get_training_entries(
        self, question: str, top_k: int = 5, similarity_threshold: float = 0.5
    ) -> list[TrainingEntry]:
        found = await self._search("training", question, top_k, similarity_threshold)
        return [_call(TrainingEntry, each) for each in found]

    def training_count(self) -> int:
        return self._count("training")

    async def export_all(self) -> list[dict[str, Any]]:
        exported: list[dict[str, Any]] = []
        for layer in LAYERS:
            for each in await self._all(layer):
                said = {"text": each.document} if layer == "text" else {"question": each.document, **_call_fields(each)}
                origin = _origin_of(each) if self._keeps_origin(layer) else {}
                exported.append({"type": layer, "id": each.id, **said, **origin})
        return exported

    async def import_all(self, entries: list[dict[str, Any]]) -> int:
        """Store what `export_all` returned, and return how many entries were imported.

        Unknown types and bad entries are logged as warnings and skipped. An entry without an id gets one made
        from its content, and an entry without a timestamp keeps the stored one, so that importing twice changes
        nothing.
        """
        imported = 0
        for entry in entries:
            kind = entry.get("type") if isinstance(entry, Mapping) else None
            if kind not in LAYERS:
                logger.warning("Unknown entry type '%s' during import — skipped.", kind)
                continue
            try:
                await self._import(kind, entry)
            except (KeyError, TypeError, ValueError) as error:
                reason = f"it lacks {error}" if isinstance(error, KeyError) else error
                logger.warning("Bad %s entry during import — skipped: %s", kind, reason)
                continue
            imported += 1
        return imported

    async def _import(self, layer: Layer, entry: Mapping[str, Any]) -> None:
        id = _text(entry, "id", _id_of(entry)) or _id_of(entry)
        source, verified = entry.get("source") or "import", entry.get("verified")
        if layer == "text":
            await self._put("text", Row(id, _text(entry, "text"), self._origin(source, bool(verified), "text")))
            return
        made = TrainingEntry if layer == "training" else MemoryEntry
        call = made(
            id,
            _text(entry, "question"),
            _text(entry, "tool_name"),
            dict(arguments.mapping("tool_args", entry["tool_args"])),
            _text(entry, "result_summary", ""),
            source=source,
            verified=verified,
        )
        if entry.get("timestamp") is not None:
            call.timestamp = _text(entry, "timestamp")
        elif (known := await self._get(layer, id)) is not None:
            call.timestamp = known.metadata["timestamp"]
        await self._put(layer, self._stored(call, verified=layer == "training"))

    # --- how ---------------------------------------------------------------------------------------------

    def _stored(self, entry: MemoryEntry | TrainingEntry, *, verified: bool) -> Row:
        """Return an entry as a layer keeps it; Mango's own entries need not have `source` and `verified`."""
        texts = {
            name: arguments.text(name, getattr(entry, name))
            for name in ("id", "question", "tool_name", "result_summary", "timestamp")
        }
        given = whole(json.loads(json.dumps(arguments.mapping("tool_args", entry.tool_args), default=str)))
        fields = {name: texts.get(name, given) for name in _CALL_FIELDS}
        source, checked = getattr(entry, "source", None), getattr(entry, "verified", None)
        origin = self._origin(source or "manual", verified if checked is None else checked, "tool")
        return Row(arguments.handle("id", entry.id), texts["question"], {**fields, **origin})

    def _keeps_origin(self, layer: Layer) -> bool:
        return layer == "text" if self.provenance is None else self.provenance

    def _origin(self, source: str, verified: bool, layer: Layer) -> dict[str, Any]:
        return {"source": source, "verified": verified} if self._keeps_origin(layer) else {}

    async def _search(self, layer: Layer, question: str, top_k: int, threshold: float) -> list[Row]:
        """Return the best `top_k` entries; the threshold is inclusive."""
        question = arguments.text("question", question)
        if top_k < 1 or not question.strip():
            return []
        count = top_k * _CANDIDATES if self.rerank else top_k
        found = list(await self._nearest(layer, question, count, threshold - _FLOAT_NOISE))
        if self.rerank and layer != "text":
            found.sort(key=lambda each: -_blended(question, each))
        return found[:top_k]


def _call(kind: type[_Call], found: Row) -> _Call:
    fields = {**_call_fields(found), **_origin_of(found)}
    return kind(id=found.id, question=found.document, similarity=round(found.similarity, 3), **fields)


def _call_fields(found: Row) -> dict[str, Any]:
    return {name: found.metadata[name] for name in _CALL_FIELDS}


def _origin_of(found: Row) -> dict[str, Any]:
    return {name: found.metadata.get(name) for name in ("source", "verified")}


def _blended(question: str, found: Row) -> float:
    words = set(_words(question))
    shared = words & set(_words(json.dumps(found.metadata["tool_args"], ensure_ascii=False)))
    return _BY_SIMILARITY * found.similarity + _BY_ARGUMENTS * (len(shared) / len(words) if words else 0.0)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _id_of(entry: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in entry.items() if name != "id"}
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(plain, sort_keys=True, default=str)))


def _text(entry: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = entry.get(name) if default is not None else entry[name]
    return arguments.text(name, default if value is None else value)
