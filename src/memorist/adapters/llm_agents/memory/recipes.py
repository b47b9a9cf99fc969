"""Memories that most agents want, in one call."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from memorist.adapters.llm_agents.data_structures.memory import Episode
from memorist.adapters.llm_agents.memory.memory import Memory, MetadataFn
from memorist.adapters.llm_agents.memory_stores.engine import MemoristMemoryStore, parts_of
from memorist.adapters.llm_agents.memory_stores.json import JSONMemoryStore
from memorist.embedders import EmbedderSpec
from memorist.errors import ModelUnavailableError
from memorist.language import ChatModel, Reply, open_chat_model, reflect
from memorist.memory import Memory as Engine


def recency_memory(path: str | PathLike[str], max_results: int = 5) -> Memory:
    """Return a memory of the newest `max_results` episodes, in a JSONL file in the folder `path`."""
    return Memory(JSONMemoryStore(path, max_results=max_results))


def similarity_memory(
    collection: str = "episodes",
    max_results: int = 5,
    *,
    memory: Engine | str | PathLike[str] | None = None,
    embedder: EmbedderSpec = None,
) -> Memory:
    """Return a memory of the `max_results` episodes most relevant to a task.

    Args:
        collection: separates several memories in one database.
        max_results: the most episodes that it recalls.
        memory: the database, as `MemoristMemoryStore` takes it.
        embedder: likewise.
    """
    return Memory(MemoristMemoryStore(memory, collection, embedder=embedder, max_results=max_results))


def reflective_memory(
    llm: Any,
    collection: str = "reflections",
    max_results: int = 5,
    *,
    memory: Engine | str | PathLike[str] | None = None,
    embedder: EmbedderSpec = None,
) -> Memory:
    """Return a `similarity_memory` that adds what a model learns from each episode, as ``metadata["reflection"]``.

    While the model cannot be reached, recording raises `ModelUnavailableError` and stores nothing. An unusable answer
    is replaced by one line that says how the task ended.

    Args:
        llm: a chat model in any form that `memorist.language.open_chat_model` takes, or one of the original's,
            whose ``complete(prompt)`` returns something with a ``response``.
        collection: as in `similarity_memory`, like the other arguments. The default differs, so that an agent can
            have a memory of each recipe in one database.
    """
    store = MemoristMemoryStore(memory, collection, embedder=embedder, max_results=max_results)
    return Memory(store, metadata_fns={"reflection": _reflection_by(_InPlainWords(_opened(llm)))})


def _reflection_by(model: ChatModel) -> MetadataFn:
    async def reflection(episode: Episode) -> str:
        found = await reflect(parts_of(episode), model=model)
        if found.problem is not None and found.problem.temporary:
            raise ModelUnavailableError(found.problem.reason)
        return found.text

    return reflection


class _InPlainWords:
    """A chat model whose answer may also be the reflection itself, not an object that holds it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        reply = await self._model.complete(messages, schema=schema)
        text = reply.text.strip()
        if reply.data is not None or not text or text.startswith(("{", "[", "```")):
            return reply
        return replace(reply, data={"reflection": text}, problem=None)


def _opened(llm: Any) -> ChatModel:
    complete = getattr(llm, "complete", None)
    if complete is None or {"messages", "schema"} & set(inspect.signature(complete).parameters):
        return open_chat_model(llm)

    async def original(messages: Sequence[Mapping[str, str]]) -> str:
        answer = await complete("\n\n".join(message["content"] for message in messages))
        return str(answer.response)

    return open_chat_model(original)
