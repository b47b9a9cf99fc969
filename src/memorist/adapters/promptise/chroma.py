"""Promptise's provider on Chroma."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorist.adapters.chroma import ChromaFolder, Embedding, Rows
from memorist.adapters.promptise.types import MemoryResult, MemoryScope, is_blank, matches, owner_key, owner_of

__all__ = ["ChromaProvider"]

logger = logging.getLogger("memorist.adapters.promptise")

_OWNER = "_promptise_user_id"
"""The key of a row's metadata that names its user, as in Promptise's own collections. It never leaves this file."""


class ChromaProvider:
    """Keeps texts in one Chroma collection, in cosine space.

    Args:
        collection_name: the collection.
        persist_directory: a folder; None or "" keeps everything in memory, where no other object sees it.
        embedding_function: a function as Chroma takes it (called with a list of texts), or what
            `memorist.embedders.open_embedder` takes. The default is the bundled model, never Chroma's own,
            which is downloaded at first use.
        scope: whether entries belong to users.

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
        scope: MemoryScope = MemoryScope.SHARED,
    ) -> None:
        self.scope = MemoryScope(scope)
        self._closed = False
        self._folder = ChromaFolder(persist_directory or None, Embedding(embedding_function))
        self._own = self._folder.rows(collection_name)
        self._client, self._collection = self._folder.client, self._own.collection

    def _rows(self) -> Rows:
        if self._closed:
            raise RuntimeError("ChromaProvider is closed")
        return Rows(self._collection) if self._folder is None else self._own

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return the texts nearest in meaning; the score is the cosine, 0 to 1."""
        rows = self._rows()
        owner = owner_of(self, "search", user_id)
        if is_blank(query, limit):
            return []
        found = await rows.nearest(query, limit, None if owner is None else {_OWNER: owner})
        return [MemoryResult(row.document, row.similarity, row.id, _shown(row.metadata)) for row in found]

    async def list_entries(
        self, *, user_id: str | None = None, metadata: Mapping[str, Any] | None = None, limit: int = 1000
    ) -> list[MemoryResult]:
        """Return the entries whose metadata has these values, in Chroma's order."""
        rows = self._rows()
        owner = owner_of(self, "list_entries", user_id)
        chosen = {} if owner is None else {"where": {_OWNER: owner}}
        found = ((row, _shown(row.metadata)) for row in await rows.get(**chosen))
        wanted = _kept(metadata or {}, None)
        listed = [MemoryResult(row.document, 1.0, row.id, shown) for row, shown in found if matches(shown, wanted)]
        return listed[: max(limit, 0)]

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Store a text and return its id. Metadata that is no text, number or boolean is stored as text."""
        rows = self._rows()
        owner = owner_of(self, "add", user_id)
        id = str(uuid4())
        await rows.add(id, content, _kept(metadata or {}, owner))
        return id

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete an entry; return False if there is none, it is another user's, or Chroma fails."""
        rows = self._rows()
        owner = owner_of(self, "delete", user_id)

        def work() -> bool:
            found = rows.collection.get(ids=[memory_id], include=["metadatas"])
            if not found["ids"]:
                return False
            if owner is not None and ((found["metadatas"] or [None])[0] or {}).get(_OWNER) != owner:
                return False
            rows.collection.delete(ids=[memory_id])
            return True

        try:
            return await rows.run(work)
        except Exception:  # the host's rule: whatever the backend raises is a False
            logger.warning("ChromaProvider.delete failed for memory_id=%s", memory_id, exc_info=True)
            return False

    async def purge_user(self, user_id: str, *, tenant_id: str | None = None) -> int:
        """Delete every entry of a user (of a tenant), and return how many."""
        rows = self._rows()
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0
        where = {_OWNER: owner_key(user_id, tenant_id)}

        def work() -> int:
            count = len(rows.collection.get(where=where, include=[])["ids"])
            if count:
                rows.collection.delete(where=where)
            return count

        return await rows.run(work)

    async def close(self) -> None:
        """Release Chroma; what is in a folder stays there. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        folder, self._folder = self._folder, None
        self._client = self._collection = None
        if folder is not None:
            await folder.close()


def _kept(metadata: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
    """Return metadata as Chroma can keep it, with its owner."""
    kept = {
        str(name): value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in metadata.items()
        if name != _OWNER
    }
    return kept if owner is None else {**kept, _OWNER: owner}


def _shown(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name != _OWNER}
