from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from memorist.adapters.mango import AgentMemory, ChromaAgentMemory, MemoryService
from memorist.embedders import Embedder
from memorist.memory import Memory


def plane(input: list[str]) -> Any:
    """An embedding function of Chroma's kind: a text is a direction whose cosine with "north" is known."""
    rows = []
    for text in input:
        cosine = {"near": 0.8, "nearer": 0.9, "on the line": 0.6, "rounded": 0.59961, "half": 0.5, "east": 0.0,
                  "south": -1.0}.get(text.removesuffix("."), 1.0)  # fmt: skip
        rows.append([cosine, (1 - cosine**2) ** 0.5])
    return np.asarray(rows, np.float32)


class Plane(Embedder):
    """The same as an embedder of ours."""

    dimensions = 2
    fingerprint = "plane-v1"

    async def embed(self, texts: Any, role: Any = None) -> Any:
        return plane(list(texts))


@pytest.fixture(params=["chroma", "memorist"])
async def memory(request: pytest.FixtureRequest) -> AsyncIterator[MemoryService]:
    """Mango's memory, in Chroma and on a Memorist store, where every cosine is known."""
    if request.param == "chroma":
        pytest.importorskip("chromadb")
        chroma = ChromaAgentMemory(":memory:", embedding_function=plane)
        yield chroma
        await chroma.close()
        return
    async with Memory.open(":memory:", embedder=Plane()) as opened:
        yield AgentMemory(opened)
