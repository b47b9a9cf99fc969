"""Setting up mem0: without its telemetry, with our models, and safe to call from threads."""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import Any

from memorist.adapters.agentscope.models import as_embedder
from memorist.embedders import open_embedder
from memorist.errors import needs

_PROVIDER = "memorist"
_MODELS = "memorist.adapters.agentscope.mem0_models"


def mem0_library() -> Any:
    """Import mem0, without its telemetry unless the environment asks for it.

    Raises:
        MissingExtraError: it is not installed; an ImportError.
    """
    asked_for = os.environ.setdefault("MEM0_TELEMETRY", "False").lower() in ("true", "1", "yes")
    with needs("mem0ai", "mem0"):
        import mem0
        from mem0.configs.llms.base import BaseLlmConfig
        from mem0.memory import main, telemetry
        from mem0.utils.factory import EmbedderFactory, LlmFactory
    for each in (main, telemetry):
        each.MEM0_TELEMETRY = asked_for  # mem0 reads the variable on import, which may have happened already
    LlmFactory.provider_to_class[_PROVIDER] = (f"{_MODELS}.Mem0ChatModel", BaseLlmConfig)
    EmbedderFactory.provider_to_class[_PROVIDER] = f"{_MODELS}.Mem0Embedder"
    return mem0


def configured(given: Any, model: Any, embedder: Any, store: Any, options: Mapping[str, Any]) -> Any:
    """Return mem0's configuration with our models put in."""
    from mem0.configs.base import MemoryConfig
    from mem0.embeddings.configs import EmbedderConfig
    from mem0.llms.configs import LlmConfig

    parts: dict[str, Any] = {}
    # Constructed without validation, because the validation accepts only mem0's own providers.
    if model is not None:
        parts["llm"] = LlmConfig.model_construct(provider=_PROVIDER, config={"model": model})
    if embedder is not None:
        parts["embedder"] = EmbedderConfig.model_construct(provider=_PROVIDER, config={"model": embedder})
    if store is not None:
        parts["vector_store"] = store
    elif given is None:
        parts["vector_store"] = _default_store(embedder, options)
    return MemoryConfig(**parts) if given is None else given.model_copy(update=parts)


def _default_store(embedder: Any, options: Mapping[str, Any]) -> Any:
    from mem0.configs.base import mem0_dir
    from mem0.vector_stores.configs import VectorStoreConfig

    path = options.get("path") or Path(mem0_dir) / "qdrant"
    config = {"path": str(path), "on_disk": options.get("on_disk", True), "embedding_model_dims": _dimensions(embedder)}
    return VectorStoreConfig(provider="qdrant", config=config)


def one_at_a_time(memory: Any) -> None:
    """Let a local Qdrant do one thing at a time: mem0 calls Qdrant from several threads, which would mix up vectors."""
    local = getattr(getattr(memory.vector_store, "client", None), "_client", None)
    if type(local).__name__ != "QdrantLocal":
        return
    lock = RLock()

    def locked(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with lock:
                return method(*args, **kwargs)

        return call

    for name in dir(type(local)):
        if not name.startswith("_") and inspect.isfunction(getattr(type(local), name)):
            setattr(local, name, locked(getattr(local, name)))


def _dimensions(given: Any) -> int:
    embedder = open_embedder(as_embedder(given))
    if not embedder.dimensions:
        from memorist.adapters.agentscope.mem0_models import wait_for

        wait_for(embedder.ready())
    return embedder.dimensions
