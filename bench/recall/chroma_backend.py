"""Chroma, persistent, with the default embedder's vectors; its telemetry is off."""

import atexit
import itertools
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import Any

import chromadb
import shared
from chromadb.config import Settings

from memorist.embedders import Role

_BATCH = 1000
_numbers = itertools.count()


@cache
def _client() -> Any:
    folder = tempfile.TemporaryDirectory(prefix="memorist-bench-chroma-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return chromadb.PersistentClient(path=folder.name, settings=Settings(anonymized_telemetry=False))


def build(rows: Sequence[shared.Row]) -> Any:
    """Return a collection of the rows."""
    collection = _client().create_collection(
        f"rows-{next(_numbers)}", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    rows = shared.said(rows)
    for start in range(0, len(rows), _BATCH):
        some = rows[start : start + _BATCH]
        texts = [shared.text_of(row) for row in some]
        vectors = shared.EMBEDDER.embed_now(texts)
        collection.add(ids=[row["id"] for row in some], embeddings=vectors, documents=texts)
    return collection


def search(index: Any, query: str, k: int) -> list[str]:
    """Return the ids of the best k."""
    vectors = shared.EMBEDDER.embed_now([query], Role.QUERY)
    found = index.query(query_embeddings=vectors, n_results=k, include=["documents"])
    return list(found["ids"][0])


def close(index: Any) -> None:
    _client().delete_collection(index.name)
