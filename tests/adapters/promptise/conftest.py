import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.promptise import (
    ChromaProvider,
    InMemoryProvider,
    Mem0Provider,
    MemoristProvider,
    MemoryProvider,
    MemoryScope,
)
from memorist.memory import Memory
from memorist.testing import HashEmbedder

_NOBODY = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9/v1"}

MakeMem0 = Callable[..., Mem0Provider]


class Embeddings:
    """A deterministic embedder, as mem0 calls it."""

    def __init__(self) -> None:
        self.inner = HashEmbedder(64)
        self.config = type("Config", (), {"embedding_dims": 64})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            rows = thread.submit(lambda: asyncio.run(self.inner.embed([text or "-"]))).result()
        return [float(each) for each in rows[0]]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]


class ChatModel:
    """A chat model that finds one fact in what it reads, or none, as it is told."""

    def __init__(self, fact: str | None) -> None:
        self.fact = fact
        self.config = type("Config", (), {"model": "scripted"})()

    def generate_response(self, messages: Any, **rest: Any) -> str:
        if self.fact is None:
            return json.dumps({"facts": [], "memory": []})
        added = {"id": "0", "text": self.fact, "event": "ADD"}
        return json.dumps({"facts": [self.fact], "memory": [added]})


@pytest.fixture
def mem0(tmp_path: Path) -> Any:
    """Return a function that makes a provider on the real mem0, offline."""
    pytest.importorskip("mem0")
    clients: list[Any] = []

    def make(*, fact: str | None = None, **given: Any) -> Mem0Provider:
        folder = tmp_path / f"mem0-{len(clients)}"
        store = {"path": str(folder / "qdrant"), "embedding_model_dims": 64, "on_disk": True}
        config = {
            "llm": {"provider": "openai", "config": _NOBODY},
            "embedder": {"provider": "openai", "config": _NOBODY},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
        }
        provider = Mem0Provider(config=config, **given)
        provider._client.embedding_model = Embeddings()
        provider._client.llm = ChatModel(fact)
        vectors = provider._client.vector_store
        if hasattr(vectors, "_bm25_encoder"):  # the search by words would be downloaded
            vectors._bm25_encoder = False
        clients.append(provider._client)
        return provider

    yield make
    for client in clients:
        client.vector_store.client.close()
        client.close()


@pytest.fixture(params=["in_memory", "chroma", "memorist", "mem0"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[MemoryScope], MemoryProvider]]:
    """Return a function that makes an empty provider with a scope: each of the four kinds."""
    providers: list[MemoryProvider] = []
    memories: list[Memory] = []
    if request.param == "mem0":
        mem0 = request.getfixturevalue("mem0")
    if request.param == "chroma":
        pytest.importorskip("chromadb")
    if request.param == "memorist":
        memories = [await Memory.open(":memory:", embedder=HashEmbedder()) for _ in range(3)]
    unused = list(memories)

    def of(scope: MemoryScope) -> MemoryProvider:
        made: dict[str, Callable[[], MemoryProvider]] = {
            "in_memory": lambda: InMemoryProvider(scope=scope),
            "chroma": lambda: ChromaProvider(scope=scope, embedding_function="hash"),
            "memorist": lambda: MemoristProvider(unused.pop(), scope=scope),
            "mem0": lambda: mem0(scope=scope),
        }
        provider = made[request.param]()
        providers.append(provider)
        return provider

    yield of
    for provider in providers:
        await provider.close()
    for memory in memories:
        await memory.close()
