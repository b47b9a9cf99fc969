"""Texts in a collection of one's own: embedded by us, found by cosine. What the adapters to Chroma's users share."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memorist.embedders import Embedder, Role, open_embedder
from memorist.errors import EmbedderError, EmbedderMismatchError
from memorist.stores.chroma.clients import Client

__all__ = ["Embedding", "Found", "nearest"]

_MARK = "memorist:embedder"


@dataclass(frozen=True, slots=True)
class Found:
    """A row that a search found; `similarity` is the cosine, 0 to 1."""

    id: str
    document: str
    similarity: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Embedding:
    """Turns texts into vectors for Chroma.

    Args:
        client: of the collections.
        given: an embedding function of Chroma's kind (called with a list of texts), or whatever
            `open_embedder` takes; None is this project's own embedder, never Chroma's default.
    """

    def __init__(self, client: Client, given: Any = None) -> None:
        self._client = client
        self._function: Callable[..., Any] | None = None
        self._embedder: Embedder | None = None
        if callable(given) and not isinstance(given, Embedder):
            self._function = given
        else:
            self._embedder = open_embedder(given)
        self._checked: set[str] = set()

    async def documents(self, collection: Any, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts to be stored in `collection`."""
        return await self._embed(collection, list(texts), Role.DOCUMENT)

    async def query(self, collection: Any, text: str) -> list[float]:
        """Embed a question to `collection`."""
        [row] = await self._embed(collection, [text], Role.QUERY)
        return row

    async def _embed(self, collection: Any, texts: list[str], role: Role) -> list[list[float]]:
        if self._embedder is not None:
            await self._embedder.ready()
            await asyncio.to_thread(self._check, collection, self._embedder.fingerprint)
            rows: Any = await self._embedder.embed(texts, role)
        else:
            assert self._function is not None
            call = getattr(self._function, "embed_query", self._function) if role == Role.QUERY else self._function
            rows = await asyncio.to_thread(call, texts)
        matrix = np.asarray(rows, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(texts):
            raise EmbedderError(f"the embedding function returned shape {matrix.shape} for {len(texts)} texts")
        listed: list[list[float]] = matrix.tolist()
        return listed

    def _check(self, collection: Any, fingerprint: str) -> None:
        """Refuse to mix our vectors with those that something else put into the collection."""
        if collection.name in self._checked:
            return
        # What the collection object knows is from when it was made, and somebody else may have stored since.
        known = dict(self._client.get_collection(collection.name, embedding_function=None).metadata or {})
        if known.get(_MARK) != fingerprint:
            if collection.count():
                raise EmbedderMismatchError(
                    f"the collection {collection.name!r} holds vectors of {known.get(_MARK, 'another embedder')!r}, "
                    f"not of {fingerprint!r}; give the function that made them as embedding_function"
                )
            collection.modify(metadata={**_unchangeable(known), _MARK: fingerprint})
        self._checked.add(collection.name)

    async def close(self) -> None:
        """Release the embedder, if it is ours."""
        if self._embedder is not None:
            await self._embedder.close()


def _unchangeable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without what Chroma lets nobody change: how distances are measured."""
    return {name: value for name, value in metadata.items() if not name.startswith("hnsw:")}


def nearest(
    collection: Any, vector: Sequence[float], count: int, where: Mapping[str, Any] | None = None
) -> list[Found]:
    """Return the rows nearest to a vector, best first, however the collection itself measures distances."""
    total = collection.count()
    if count < 1 or not total:
        return []
    given: dict[str, Any] = {} if where is None else {"where": dict(where)}
    include = ["documents", "metadatas", "embeddings"]
    answer = collection.query(query_embeddings=[list(vector)], n_results=min(count, total), include=include, **given)
    rows = np.asarray(answer["embeddings"][0], np.float64)
    asked = np.asarray(vector, np.float64)
    found = [
        Found(id, document or "", _cosine(asked, row), metadata or {})
        for id, document, metadata, row in zip(
            answer["ids"][0], answer["documents"][0], answer["metadatas"][0], rows, strict=True
        )
    ]
    return sorted(found, key=lambda each: -each.similarity)


def _cosine(one: Any, other: Any) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(max(float(one @ other) / lengths, 0.0), 1.0) if lengths else 0.0
