"""Reads mem0's configuration.

| in mem0's configuration | becomes |
|---|---|
| `vector_store`: qdrant, chroma, faiss | `memorist.db` in its `path`; a `collection_name` but "mem0", the tenant |
| `embedder` of openai, lmstudio, ollama, fastembed, huggingface | that embedder; the bundled one by default |
| `llm` of openai, lmstudio, vllm, ollama | the chat model; none by default |
| `custom_instructions`, `custom_fact_extraction_prompt` | further instructions for extracting facts |
| `memorist` | `url`, `tenant`, `embedder`, `chat_model`; they override the others |

`history_db_path` and `version` have no effect: the history is in the same file. Every other setting that is not carried
out (a server as `vector_store`, a `reranker`, a `graph_store`) is an error that says what to give instead.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import InvalidInputError
from memorist.records.scope import DEFAULT_TENANT
from memorist.system.places import expanded

if TYPE_CHECKING:
    from memorist.embedders import Embedder, EmbedderSpec
    from memorist.language import ChatModel, ChatModelSpec

_INSTRUCTIONS = ("custom_instructions", "custom_fact_extraction_prompt")
"""The names in mem0 2.x and in 1.x."""
_UNUSED = {
    "reranker": "recall has its own ranking; remove it",
    "graph_store": "there is no graph store; remove it",
    "custom_update_memory_prompt": "use custom_instructions instead",
}
"""The settings that are not carried out, and what to do instead."""
_KNOWN = frozenset(
    ("vector_store", "embedder", "llm", "memorist", "history_db_path", "version", *_INSTRUCTIONS, *_UNUSED)
)
_OWN = frozenset(("url", "tenant", "embedder", "chat_model"))
_ENDPOINTS = {
    "openai": None,
    "lmstudio": "http://localhost:1234/v1",
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
}
"""The providers with OpenAI's interface, and their default URLs."""
_IN_FOLDERS = ("qdrant", "chroma", "faiss")
"""The vector stores that keep their data in a local folder, for which a file in that folder stands in."""
_STORE = frozenset(("path", "collection_name", "on_disk", "embedding_model_dims", "distance_strategy"))
_EMBEDDER = frozenset(("model", "api_key", "embedding_dims"))
_OPTIONS = ("temperature", "top_p", "max_tokens")
_CHAT_MODEL = frozenset(("model", "api_key", *_OPTIONS))
"""The settings of each part that are carried out, or only say what is so here, too; a base URL is one besides."""
_INSTEAD = {
    "vector_store": "set the database with config['memorist'] = {'url': …}, a file or postgresql://…",
    "embedder": "set the embedder with config['memorist'] = {'embedder': …}",
    "llm": "set the chat model with config['memorist'] = {'chat_model': …}",
}
_LIBRARIES = {"fastembed": "fastembed", "huggingface": "sentence-transformers"}
_EMBEDDERS = {"openai": "text-embedding-3-small", "ollama": "nomic-embed-text"}
_CHAT_MODELS = {"openai": "gpt-5-mini"}
"""Default models; the other providers need one in the configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The arguments with which a memory is opened."""

    url: str | os.PathLike[str] | None = None
    tenant: str = DEFAULT_TENANT
    embedder: "EmbedderSpec" = None
    chat_model: "ChatModelSpec | None" = None
    instructions: str | None = None


def opening_of(config: Any) -> Opening:
    """Return what a mem0 configuration asks for.

    Raises:
        InvalidInputError: it is not a configuration, or names an unknown provider; the text says what to give instead.
    """
    given = config.model_dump(exclude_unset=True, warnings=False) if hasattr(config, "model_dump") else config
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"a configuration is a dict, not {type(config).__name__}")
    if unknown := sorted(given.keys() - _KNOWN):
        raise InvalidInputError(
            f"unknown names in the configuration: {', '.join(unknown)}; available: {', '.join(sorted(_KNOWN))}"
        )
    own = dict(given.get("memorist") or {})
    if unknown := sorted(own.keys() - _OWN):
        raise InvalidInputError(
            f"unknown names in 'memorist': {', '.join(unknown)}; available: {', '.join(sorted(_OWN))}"
        )
    for name, instead in _UNUSED.items():
        if given.get(name):
            raise InvalidInputError(f"{name} in the configuration is not used here: {instead}")
    url, tenant = (own.get("url"), None) if own.get("url") else _place(given.get("vector_store"))
    return Opening(
        url=url,
        tenant=own.get("tenant") or tenant or DEFAULT_TENANT,
        embedder=own["embedder"] if "embedder" in own else _embedder(given.get("embedder")),
        chat_model=own["chat_model"] if "chat_model" in own else _chat_model(given.get("llm")),
        instructions=next((text for name in _INSTRUCTIONS if (text := given.get(name))), None),
    )


def _place(given: Any) -> tuple[Path | None, str | None]:
    """Return the file and the tenant for a vector store."""
    if not given:
        return None, None
    provider, config = _part("vector_store", given, "qdrant")
    if provider not in _IN_FOLDERS:
        raise InvalidInputError(f"the vector store {provider!r} is not used here; {_INSTEAD['vector_store']}")
    _check_carried_out("vector_store", config, _STORE)
    name = config.get("collection_name")
    path = config.get("path")
    folder = None if path is None else expanded(path)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder and folder / "memorist.db", None if name == "mem0" else name


def _embedder(given: Any) -> "Embedder | None":
    if not given:
        return None
    provider, config = _part("embedder", given, "openai")
    _check_carried_out("embedder", config, _EMBEDDER | {f"{provider}_base_url"})
    model = config.get("model") or _EMBEDDERS.get(provider)
    base_url = config.get(f"{provider}_base_url")
    if model is None:
        raise _unknown("embedder", provider, "embedder")
    if provider in _ENDPOINTS or (provider == "huggingface" and base_url):
        from memorist.embedders.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            model,
            base_url=_versioned(provider, base_url),
            api_key=config.get("api_key"),
            dimensions=config.get("embedding_dims"),
        )
    if provider in _LIBRARIES:
        from memorist.embedders import open_embedder

        return open_embedder(f"{_LIBRARIES[provider]}:{model}")
    raise _unknown("embedder", provider, "embedder")


def _chat_model(given: Any) -> "ChatModel | None":
    if not given:
        return None
    provider, config = _part("llm", given, "openai")
    provider = provider.removesuffix("_structured")
    model = config.get("model") or _CHAT_MODELS.get(provider)
    if provider not in _ENDPOINTS or model is None:
        raise _unknown("llm", provider, "chat_model")
    _check_carried_out("llm", config, _CHAT_MODEL | {f"{provider}_base_url"})
    from memorist.language import open_chat_model

    base_url = _versioned(provider, config.get(f"{provider}_base_url"))
    options = {name: config[name] for name in _OPTIONS if config.get(name) is not None}
    spec = f"openai:{model}" if base_url is None else f"openai:{model}@{base_url}"
    return open_chat_model(spec, api_key=config.get("api_key"), options=options or None)


def _part(name: str, given: Any, default: str) -> tuple[str, Mapping[str, Any]]:
    """Return the provider and the settings of one part of the configuration."""
    if not isinstance(given, Mapping) or not isinstance(config := given.get("config") or {}, Mapping):
        raise InvalidInputError(f"{name} in the configuration is a dict with a provider and a config")
    return str(given.get("provider") or default), config


def _check_carried_out(part: str, config: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise for settings of a part that nothing here carries out; one without a value asks for nothing."""
    if unused := [str(name) for name, value in config.items() if name not in known and value not in (None, False, "")]:
        raise InvalidInputError(f"{', '.join(unused)} in the config of {part} is not used here; {_INSTEAD[part]}")


def _versioned(provider: str, base_url: str | None) -> str | None:
    base_url = base_url or _ENDPOINTS.get(provider)
    if provider == "ollama" and base_url is not None and not base_url.rstrip("/").endswith("/v1"):
        return f"{base_url.rstrip('/')}/v1"
    return base_url


def _unknown(part: str, provider: str, argument: str) -> InvalidInputError:
    return InvalidInputError(
        f"the {part} {provider!r} is not known here, or names no model; give one with config['memorist'] = "
        f"{{{argument!r}: …}}, or as the argument {argument}="
    )
