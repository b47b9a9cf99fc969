"""Promptise's provider on Chroma."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from memorist.adapters.promptise.types import MemoryResult, MemoryScope, is_blank, owner_of
from memorist.stores.chroma.clients import COSINE, connect, translated
from memorist.stores.chroma.searching import Embedding, nearest

__all__ = ["ChromaProvider"]

logger = logging.getLogger("memorist.adapters.promptise")

_OWNER = "_promptise_user_id"
"""The key of an entry's metadata that says whose it is, as in Promptise's own collections; nobody sees or sets it."""
_T = TypeVar("_T")


class ChromaProvider:
    """Keeps texts in a collection of Chroma's, in cosine space.

    Args:
        collection_name: the collection.
        persist_directory: a folder; None or "" keeps everything in this object's memory alone.
        embedding_function: as Chroma's own (called with a list of texts), or whatever Memorist takes as an
            embedder; by default Memorist's, never Chroma's, which would be downloaded at first use.
        scope: whether entries belong to users.

    Raises:
        ImportError: chromadb is not installed.
    """

    _embedding: Embedding | None = None
    _release: Callable[[], None] = staticmethod(lambda: None)

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
        place = Path(persist_directory).expanduser().absolute() if persist_directory else None
        self._client, self._release = connect(place)
        with translated(str(persist_directory or "Chroma")):
            self._collection = self._client.get_or_create_collection(
                collection_name, configuration=COSINE, embedding_function=None
            )
        self._embedding = Embedding(self._client, embedding_function)

    def _opened(self) -> Any:
        if self._closed:
            raise RuntimeError("ChromaProvider is closed")
        return self._collection

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return the texts nearest in meaning; the score is the cosine, 0 to 1."""
        collection = self._opened()
        owner = owner_of(self, "search", user_id)
        if is_blank(query, limit):
            return []
        where = None if owner is None else {_OWNER: owner}
        if self._embedding is None:
            return (await _run(lambda: _results(_asked(collection, query, limit, where))))[:limit]
        vector = await self._embedding.query(collection, query)
        found = await _run(lambda: nearest(collection, vector, limit, where))
        return [_result(each.id, each.document, each.similarity, each.metadata) for each in found]

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Keep a text, and return its id."""
        collection = self._opened()
        owner = owner_of(self, "add", user_id)
        id = str(uuid4())
        row: dict[str, Any] = {"ids": [id], "documents": [content]}
        if kept := _kept(metadata or {}, owner):
            row["metadatas"] = [kept]
        if self._embedding is not None:
            row["embeddings"] = await self._embedding.documents(collection, [content])
        await _run(lambda: collection.add(**row))
        return id

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete an entry; False where there is none, it is another user's, or Chroma fails."""
        collection = self._opened()
        owner = owner_of(self, "delete", user_id)

        def work() -> bool:
            found = collection.get(ids=[memory_id], include=["metadatas"])
            if not found["ids"]:
                return False
            if owner is not None and ((found["metadatas"] or [None])[0] or {}).get(_OWNER) != owner:
                return False
            collection.delete(ids=[memory_id])
            return True

        try:
            return await asyncio.to_thread(work)
        except Exception:
            logger.warning("ChromaProvider.delete failed for memory_id=%s", memory_id, exc_info=True)
            return False

    async def purge_user(self, user_id: str) -> int:
        """Delete every entry of a user, and return how many."""
        collection = self._opened()
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0

        def work() -> int:
            count = len(collection.get(where={_OWNER: user_id}, include=[])["ids"])
            if count:
                collection.delete(where={_OWNER: user_id})
            return count

        return await _run(work)

    async def close(self) -> None:
        """Release Chroma; what is in a folder stays there. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        release, self._release = self._release, lambda: None
        self._client = self._collection = None
        if self._embedding is not None:
            await self._embedding.close()
        await asyncio.to_thread(release)


async def _run(work: Callable[[], _T]) -> _T:
    def checked() -> _T:
        with translated("Chroma"):
            return work()

    return await asyncio.to_thread(checked)


def _kept(metadata: Mapping[str, Any], owner: str | None) -> dict[str, Any]:
    """Return metadata as Chroma can keep it, with its owner."""
    kept = {
        str(name): value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in metadata.items()
        if name != _OWNER
    }
    return kept if owner is None else {**kept, _OWNER: owner}


def _asked(collection: Any, query: str, limit: int, where: dict[str, Any] | None) -> Mapping[str, Any]:
    """Query a collection that somebody else made, and gave an embedding function."""
    given: dict[str, Any] = {} if where is None else {"where": where}
    include = ["documents", "metadatas", "distances"]
    answer: Mapping[str, Any] = collection.query(query_texts=[query], n_results=limit, include=include, **given)
    return answer


def _results(answer: Mapping[str, Any]) -> list[MemoryResult]:
    """Return what a query found, best first."""
    ids = (answer.get("ids") or [[]])[0]
    columns = [(answer.get(name) or [[]])[0] or [None] * len(ids) for name in ("documents", "distances", "metadatas")]
    found = [
        _result(id, document or "", 0.0 if distance is None else 1.0 - distance, metadata or {})
        for id, document, distance, metadata in zip(ids, *columns, strict=True)
    ]
    return sorted(found, key=lambda each: -each.score)


def _result(id: str, content: str, score: float, metadata: Mapping[str, Any]) -> MemoryResult:
    return MemoryResult(content, score, id, {name: value for name, value in metadata.items() if name != _OWNER})
