"""Promptise's provider on Chroma; see `host_files`."""

import logging
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorist.adapters.host_files.chroma import ChromaFolder, Embedding, Row, Rows
from memorist.adapters.promptise.providers import Provider
from memorist.adapters.promptise.types import MemoryResult, MemoryScope

logger = logging.getLogger("memorist.adapters.promptise")

_OWNER = "_promptise_user_id"
"""The key of a row's metadata that names its user, as in Promptise's own collections. It never leaves this file."""


class ChromaProvider(Provider):
    """Keeps texts in one Chroma collection, in cosine space; the score is the cosine, 0 to 1.

    Metadata that is not a text, number or boolean is stored as text.

    Args:
        collection_name: the collection.
        persist_directory: a folder; None or "" keeps everything in memory, where no other object sees it.
        embedding_function: a function as Chroma takes it (called with a list of texts), or what
            `memorist.embedders.open_embedder` takes. The default is the bundled model, never Chroma's own,
            which is downloaded at first use.
        scope: whether entries belong to users; by default they are shared.

    Raises:
        ImportError: chromadb is not installed.
    """

    _folder: ChromaFolder | None = None
    """None where somebody sets `_collection` on an instance that was built without the constructor."""

    def __init__(
        self,
        *,
        collection_name: str = "agent_memory",
        persist_directory: str | Path | None = None,
        embedding_function: Any = None,
        scope: MemoryScope | None = None,
    ) -> None:
        super().__init__(scope)
        self._folder = ChromaFolder(persist_directory or None, Embedding(embedding_function))
        self._own = self._folder.rows(collection_name)
        self._client, self._collection = self._folder.client, self._own.collection

    @property
    def _rows(self) -> Rows:
        return Rows(self._collection) if self._folder is None else self._own

    def _kept(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return {
            str(name): value if isinstance(value, str | int | float | bool) else str(value)
            for name, value in metadata.items()
            if name != _OWNER
        }

    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        found = await self._rows.nearest(query, limit, None if owner is None else {_OWNER: owner})
        return [_result(row, row.similarity) for row in found]

    async def _entries(self, owner: str | None) -> AsyncIterator[MemoryResult]:
        chosen = {} if owner is None else {"where": {_OWNER: owner}}
        for row in await self._rows.get(**chosen):
            yield _result(row, 1.0)

    async def _add(self, content: str, metadata: dict[str, Any], owner: str | None) -> str:
        id = str(uuid4())
        await self._rows.add(id, content, metadata if owner is None else {**metadata, _OWNER: owner})
        return id

    async def _delete(self, id: str, owner: str | None) -> bool:
        try:
            rows = self._rows
            found = await rows.get(ids=[id])
            if not found or (owner is not None and found[0].metadata.get(_OWNER) != owner):
                return False
            await rows.run(lambda: rows.collection.delete(ids=[id]))
            return True
        except Exception:  # the host's rule: return False for any exception of the backend
            logger.warning("ChromaProvider.delete failed for memory_id=%s", id, exc_info=True)
            return False

    async def _purge(self, owner: str) -> int:
        rows, where = self._rows, {_OWNER: owner}

        def work() -> int:
            count = len(rows.collection.get(where=where, include=[])["ids"])
            if count:
                rows.collection.delete(where=where)
            return count

        return await rows.run(work)

    async def _release(self) -> None:
        folder, self._folder = self._folder, None
        self._client = self._collection = None
        if folder is not None:
            await folder.close()


def _result(row: Row, score: float) -> MemoryResult:
    shown = {name: value for name, value in row.metadata.items() if name != _OWNER}
    return MemoryResult(row.document, score, row.id, shown)
