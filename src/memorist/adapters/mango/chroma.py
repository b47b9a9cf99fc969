"""Mango's memory in Chroma, as Mango's own keeps it."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from memorist.adapters.mango.layered import Layer, LayeredMemory, Stored
from memorist.adapters.mango.types import make_entry_id
from memorist.stores.chroma.clients import COSINE, connect, translated
from memorist.stores.chroma.searching import Embedding, nearest

__all__ = ["ChromaAgentMemory", "make_entry_id"]

_T = TypeVar("_T")


class ChromaAgentMemory(LayeredMemory):
    """Three collections in cosine space: tool calls, ``…_text`` and ``…_training``.

    Args:
        persist_dir: a folder, or ":memory:" for a memory of this object alone.
        collection_name: the first collection's name, and how the others' begin.
        embedding_function: as Chroma's own (called with a list of texts), or whatever Memorist takes as an
            embedder; by default Memorist's, never Chroma's, which would be downloaded at first use.
        rerank: see `LayeredMemory`.
        provenance: see `LayeredMemory`.

    Raises:
        ImportError: chromadb is not installed.
    """

    def __init__(
        self,
        persist_dir: str | Path = ".mango_memory",
        collection_name: str = "mango_memory",
        *,
        embedding_function: Any = None,
        rerank: bool = False,
        provenance: bool = False,
    ) -> None:
        super().__init__(rerank=rerank, provenance=provenance)
        self._where = str(persist_dir)
        place = None if self._where == ":memory:" else Path(self._where).expanduser().absolute()
        self._client, self._release = connect(place)
        self._embedding = Embedding(self._client, embedding_function)
        with translated(self._where):
            self._collections: dict[Layer, Any] = {
                layer: self._client.get_or_create_collection(name, configuration=COSINE, embedding_function=None)
                for layer, name in _names(collection_name).items()
            }

    async def close(self) -> None:
        """Release Chroma and the embedder; what was stored stays. Nothing else may be called afterwards."""
        await self._embedding.close()
        await asyncio.to_thread(self._release)

    async def _run(self, work: Callable[[], _T]) -> _T:
        def checked() -> _T:
            with translated(self._where):
                return work()

        return await asyncio.to_thread(checked)

    async def _put(self, layer: Layer, entry: Stored) -> None:
        collection = self._collections[layer]
        embeddings = await self._embedding.documents(collection, [entry.text])
        row: dict[str, Any] = {"ids": [entry.id], "documents": [entry.text], "embeddings": embeddings}
        if metadata := _metadata(entry.fields):
            row["metadatas"] = [metadata]
        await self._run(lambda: collection.upsert(**row))

    async def _nearest(self, layer: Layer, text: str, count: int, threshold: float) -> Sequence[Stored]:
        collection = self._collections[layer]
        if not await self._run(collection.count):
            return []
        vector = await self._embedding.query(collection, text)
        found = await self._run(lambda: nearest(collection, vector, count))
        return [
            Stored(each.id, each.document, _fields(each.metadata), each.similarity)
            for each in found
            if each.similarity >= threshold
        ]

    async def _remove(self, layer: Layer, id: str) -> None:
        await self._run(lambda: self._collections[layer].delete(ids=[id]))

    async def _get(self, layer: Layer, id: str) -> Stored | None:
        return next(iter(await self._read(layer, ids=[id])), None)

    async def _all(self, layer: Layer) -> Sequence[Stored]:
        return await self._read(layer)

    async def _read(self, layer: Layer, **chosen: Any) -> list[Stored]:
        found = await self._run(lambda: self._collections[layer].get(include=["documents", "metadatas"], **chosen))
        return [
            Stored(id, document or "", _fields(metadata or {}))
            for id, document, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        ]

    def _count(self, layer: Layer) -> int:
        with translated(self._where):
            return int(self._collections[layer].count())


def _names(first: str) -> dict[Layer, str]:
    return {"tool": first, "text": f"{first}_text", "training": f"{first}_training"}


def _metadata(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Chroma can keep: the arguments as text."""
    plain = dict(fields)
    if "tool_args" in plain:
        plain["tool_args"] = json.dumps(plain["tool_args"])
    return plain


def _fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(metadata)
    if "tool_name" in fields:
        fields["tool_args"] = json.loads(fields.get("tool_args") or "{}")
        fields.setdefault("result_summary", "")
        fields.setdefault("timestamp", "")
    return fields
