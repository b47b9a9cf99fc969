"""This project's and AgentScope's models as mem0 calls them: blocking, from threads of its own.

Imported by mem0's factories alone, by name.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from mem0.embeddings.base import EmbeddingBase
from mem0.llms.base import LLMBase

from memorist.adapters.agentscope.models import as_chat_model, as_embedder
from memorist.blocking_client import run
from memorist.embedders import Role, open_embedder
from memorist.errors import ModelError

_T = TypeVar("_T")

callers_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("callers_loop", default=None)
"""The event loop that awaits mem0. The models run on this loop, because their clients may belong to it."""


class Mem0ChatModel(LLMBase):  # type: ignore[misc]
    """A chat model, as mem0 calls it. The model itself is in the configuration."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._chat = as_chat_model(self.config.model)

    def generate_response(
        self,
        messages: Sequence[dict[str, Any]],
        response_format: Any = None,
        tools: Any = None,
        tool_choice: str = "auto",
        **kwargs: Any,
    ) -> Any:
        """Return the answer to a chat: a text."""
        if self._chat is None:
            raise ModelError("mem0 asked for a chat model, and none was given")
        asked = [{"role": each["role"], "content": str(each["content"])} for each in messages]
        reply = wait_for(self._chat.complete(asked))
        return {"content": reply.text, "tool_calls": []} if tools else reply.text


class Mem0Embedder(EmbeddingBase):  # type: ignore[misc]
    """An embedder, as mem0 calls it. The embedder itself is in the configuration."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._embedder = open_embedder(as_embedder(self.config.model))

    def embed(self, text: str | list[str], memory_action: str | None = None) -> list[float]:
        """Return the vector of a text."""
        return self.embed_batch([text] if isinstance(text, str) else text[:1], memory_action)[0]

    def embed_batch(self, texts: list[str], memory_action: str | None = "add") -> list[list[float]]:
        """Return the vectors of texts."""
        role = Role.QUERY if memory_action == "search" else Role.DOCUMENT
        vectors = wait_for(self._embedder.embed(list(texts), role))
        return [[float(number) for number in vector] for vector in vectors]


def wait_for(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait for `work` in the event loop that awaits mem0, or else in a new event loop."""
    loop = callers_loop.get()
    if loop is not None and loop.is_running() and _running() is not loop:
        return asyncio.run_coroutine_threadsafe(work, loop).result()
    return run(lambda: work)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
