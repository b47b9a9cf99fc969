"""Mango's memory in a Chroma folder, in the collections and fields that Mango documents; see `host_files`."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memorist.adapters.host_files.chroma import ChromaFolder, Embedding, Row, Rows, translated
from memorist.adapters.mango.layered import LAYERS, Layer, LayeredMemory
from memorist.adapters.mango.types import make_entry_id

__all__ = ["ChromaAgentMemory", "make_entry_id"]

logger = logging.getLogger("memorist.adapters.mango")


class ChromaAgentMemory(LayeredMemory):
    """Three collections in cosine space: tool calls, ``…_text`` and ``…_training``.

    Args:
        persist_dir: a folder, or ":memory:" for a memory that no other object sees.
        collection_name: the name of the first collection, and the prefix of the other two.
        embedding_function: a function as Chroma takes it (called with a list of texts), or what
            `memorist.embedders.open_embedder` takes. The default is the bundled model, never Chroma's own,
            which is downloaded at first use.
        rerank: see `LayeredMemory`.
        provenance: see `LayeredMemory`.

    Raises:
        StoreUnavailableError: the folder cannot be used.
        ImportError: chromadb is not installed.
    """

    def __init__(
        self,
        persist_dir: str | Path = ".mango_memory",
        collection_name: str = "mango_memory",
        *,
        embedding_function: Any = None,
        rerank: bool = False,
        provenance: bool | None = None,
    ) -> None:
        super().__init__(rerank=rerank, provenance=provenance)
        folder = None if str(persist_dir) == ":memory:" else persist_dir
        self._folder = ChromaFolder(folder, Embedding(embedding_function))
        self._rows: dict[Layer, Rows] = {
            "tool": self._folder.rows(collection_name),
            "text": self._folder.rows(f"{collection_name}_text"),
            "training": self._folder.rows(f"{collection_name}_training"),
        }
        # the names that code on Mango's own class reaches for
        self._client = self._folder.client
        self._collection, self._text_collection, self._training_collection = (
            self._rows[layer].collection for layer in LAYERS
        )

    async def close(self) -> None:
        """Release Chroma and the embedder. Later calls raise `ClosedError`."""
        await self._folder.close()

    async def _put(self, layer: Layer, entry: Row) -> None:
        await self._rows[layer].put(entry.id, entry.document, _metadata(entry.metadata))

    async def _nearest(self, layer: Layer, text: str, count: int, threshold: float) -> Sequence[Row]:
        found = await self._rows[layer].nearest(text, count)
        return _readable(layer, (row for row in found if row.similarity >= threshold))

    async def _remove(self, layer: Layer, id: str) -> None:
        rows = self._rows[layer]
        await rows.run(lambda: rows.collection.delete(ids=[id]))

    async def _get(self, layer: Layer, id: str) -> Row | None:
        return next(iter(_readable(layer, await self._rows[layer].get(ids=[id]))), None)

    async def _all(self, layer: Layer) -> Sequence[Row]:
        return _readable(layer, await self._rows[layer].get())

    def _count(self, layer: Layer) -> int:
        with translated(self._folder.where):
            return int(self._rows[layer].collection.count())


def _metadata(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields as Chroma keeps them: the arguments as JSON text, and no provenance as None."""
    metadata = {"source": None, "verified": None, **fields}
    if "tool_args" in fields:
        metadata["tool_args"] = json.dumps(fields["tool_args"])
    return metadata


def _readable(layer: Layer, rows: Iterable[Row]) -> list[Row]:
    """Return the entries of rows; a row whose tool or arguments cannot be read is logged and left out."""
    found = []
    for row in rows:
        fields = dict(row.metadata)
        if layer != "text":
            try:
                arguments = json.loads(fields.get("tool_args") or "{}")
            except (TypeError, ValueError):
                arguments = None
            if not isinstance(arguments, dict) or "tool_name" not in fields:
                logger.warning("The call of the entry %s cannot be read; it is skipped.", row.id)
                continue
            fields = {"result_summary": "", "timestamp": "", **fields, "tool_args": arguments}
        found.append(replace(row, metadata=fields))
    return found
