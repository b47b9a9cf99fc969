"""mem0 as ``pip install mem0ai`` gives it, told to store texts as they are (``infer=False``).

Its vector store is its default, Qdrant's local mode; the vectors are the default embedder's. It asks for a chat
model and gets one at an address where nobody answers: a call would fail, and none is made. Its search by words
needs a further package and a download, so here it goes by vectors alone; mem0_words_backend has both. Its
telemetry is off.
"""

import os
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

os.environ["MEM0_TELEMETRY"] = "False"  # both are read on import
os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="memorist-bench-mem0-")

import shared
from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from memorist.embedders import Role

_NOBODY = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}
_USER = "someone"


class Index(NamedTuple):
    """A mem0 memory in a folder of its own, and the rows' ids by mem0's."""

    memory: Any
    ids: dict[str, str]
    folder: tempfile.TemporaryDirectory[str]


class _Embeddings(EmbeddingBase):  # type: ignore[misc]
    """The default embedder, as mem0 calls it."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        role = Role.QUERY if memory_action == "search" else Role.DOCUMENT
        return shared.EMBEDDER.embed_now([text], role)[0].tolist()  # type: ignore[no-any-return]


def build(rows: Sequence[shared.Row]) -> Index:
    """Return a memory that holds the rows."""
    return build_with(rows, encoder=False)


def build_with(rows: Sequence[shared.Row], encoder: Any) -> Index:
    """Return the same with an encoder for its search by words; False for none."""
    rows = shared.said(rows)
    shared.EMBEDDER.embed_now([shared.text_of(row) for row in rows])  # at once: mem0 asks text by text
    folder = tempfile.TemporaryDirectory(prefix="memorist-bench-mem0-", ignore_cleanup_errors=True)
    store = {"path": f"{folder.name}/qdrant", "embedding_model_dims": shared.EMBEDDER.dimensions}
    memory = Memory.from_config(
        {
            "llm": {"provider": "openai", "config": _NOBODY},
            "embedder": {"provider": "openai", "config": _NOBODY},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": f"{folder.name}/history.db",
        }
    )
    memory.embedding_model = _Embeddings()
    memory.vector_store._bm25_encoder = encoder
    messages = [{"role": "user", "content": shared.text_of(row)} for row in rows]
    added = memory.add(messages, user_id=_USER, infer=False)["results"]
    ids = {new["id"]: row["id"] for new, row in zip(added, rows, strict=True)}
    return Index(memory, ids, folder)


def search(index: Index, query: str, k: int) -> list[str]:
    """Return the ids of the best k."""
    found = index.memory.search(query, top_k=k, filters={"user_id": _USER})["results"]
    return [index.ids[hit["id"]] for hit in found]


def close(index: Index) -> None:
    index.memory.vector_store.client.close()
    index.memory.close()
    index.folder.cleanup()
