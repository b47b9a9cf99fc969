"""mem0's configuration, read as this package's."""

from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.mem0 import Memory
from memorist.adapters.mem0.settings import Opening, opening_of
from memorist.embedders.openai import OpenAIEmbedder
from memorist.errors import InvalidInputError


def test_nothing_said_is_the_bundled_embedder_and_no_chat_model() -> None:
    assert opening_of({}) == Opening()
    assert opening_of({"version": "v1.1", "history_db_path": "/x/history.db"}) == Opening()


def test_a_folder_becomes_a_file_and_a_collection_a_tenant(tmp_path: Path) -> None:
    def opened(**config: Any) -> Opening:
        return opening_of({"vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path), **config}}})

    assert opened().url == tmp_path / "memorist.db"
    assert (opened().tenant, opened(collection_name="mem0").tenant) == ("default", "default")
    assert opened(collection_name="work").tenant == "work"


def test_what_is_said_for_memorist_goes_first(tmp_path: Path) -> None:
    own = {"url": str(tmp_path / "own.db"), "tenant": "work", "embedder": "hash", "chat_model": None}
    opening = opening_of({"memorist": own, "vector_store": {"config": {"url": "http://x"}}, "llm": {"provider": "x"}})
    assert opening == Opening(url=own["url"], tenant="work", embedder="hash")
    with Memory.from_config({"memorist": own}) as memory:
        memory.add("Likes tea", user_id="alice")
    assert (tmp_path / "own.db").is_file()


@pytest.mark.parametrize(
    ("provider", "config", "model"),
    [
        ("openai", {"api_key": "k"}, "text-embedding-3-small"),
        ("openai", {"model": "m", "openai_base_url": "http://127.0.0.1:9/v1"}, "m"),
        ("ollama", {"ollama_base_url": "http://127.0.0.1:9"}, "nomic-embed-text"),
        ("lmstudio", {"model": "m"}, "m"),
        ("huggingface", {"model": "m", "huggingface_base_url": "http://127.0.0.1:9/v1"}, "m"),
    ],
)
def test_embedders_behind_an_endpoint(provider: str, config: dict[str, Any], model: str) -> None:
    embedder = opening_of({"embedder": {"provider": provider, "config": config}}).embedder
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder.model == model


@pytest.mark.parametrize("provider", ["fastembed", "huggingface"])
def test_embedders_of_other_libraries(provider: str) -> None:
    embedder: Any = opening_of({"embedder": {"provider": provider, "config": {"model": "m"}}}).embedder
    assert embedder.model == "m"


@pytest.mark.parametrize("provider", ["openai", "openai_structured", "ollama", "vllm", "lmstudio"])
def test_chat_models_behind_an_endpoint(provider: str) -> None:
    assert opening_of({"llm": {"provider": provider, "config": {"model": "m"}}}).chat_model is not None


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"embedder": {"provider": "vertexai"}}, "embedder 'vertexai'"),
        ({"embedder": {"provider": "fastembed"}}, "names no model"),
        ({"llm": {"provider": "aws_bedrock"}}, "chat_model="),
        ({"llm": {"provider": "vllm"}}, "names no model"),
        (
            {"vector_store": {"provider": "qdrant", "config": {"host": "x", "port": 1}}},
            "host, port in the config of vector_store",
        ),
        ({"vector_store": 5}, "a provider and a config"),
        ({"vectorstore": {}}, "unknown names in the configuration: vectorstore"),
        ({"memorist": {"path": "x"}}, "unknown names in 'memorist': path"),
        (5, "a configuration is a dict"),
    ],
)
def test_what_cannot_be_had_is_an_error(config: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        opening_of(config)


@pytest.mark.parametrize("provider", ["pinecone", "pgvector", "mongodb", "redis", "no_such_store"])
def test_a_server_that_is_not_used_is_an_error_and_nothing_is_made(tmp_path: Path, provider: str) -> None:
    for config in ({}, {"path": str(tmp_path / "new")}):
        with pytest.raises(InvalidInputError, match=rf"'{provider}' is not used here; .*config\['memorist'\]"):
            Memory.from_config({"vector_store": {"provider": provider, "config": config}})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"vector_store": {"config": {"path": "x", "api_key": "k"}}}, "api_key in the config of vector_store"),
        ({"vector_store": {"provider": "chroma", "config": {"tenant": "t"}}}, "tenant in the config of vector_store"),
        ({"embedder": {"provider": "openai", "config": {"model": "m", "azure_kwargs": {"a": 1}}}}, "azure_kwargs"),
        ({"llm": {"provider": "openai", "config": {"model": "m", "reasoning_effort": "high"}}}, "reasoning_effort"),
        ({"reranker": {"provider": "cohere"}}, "reranker in the configuration is not used here: .*remove it"),
        ({"graph_store": {"provider": "neo4j"}}, "graph_store"),
        ({"custom_update_memory_prompt": "…"}, "use custom_instructions instead"),
    ],
)
def test_a_setting_that_is_not_carried_out_is_an_error_that_says_what_to_do(config: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        opening_of(config)


def test_a_setting_that_asks_for_nothing_is_none() -> None:
    store = {"provider": "chroma", "config": {"host": None, "embedding_model_dims": 384}}
    assert opening_of({"vector_store": store, "reranker": None, "graph_store": {}}) == Opening()


def test_a_configuration_object_is_read_for_what_was_set_in_it(tmp_path: Path) -> None:
    class Given:
        def model_dump(self, *, exclude_unset: bool, warnings: bool) -> dict[str, Any]:
            assert exclude_unset and not warnings
            return {"vector_store": {"provider": "qdrant", "config": {"path": tmp_path}}}

    assert opening_of(Given()).url == tmp_path / "memorist.db"
