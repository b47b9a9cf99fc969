"""From a short text to an embedder."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist.embedders import BundledEmbedder, CallableEmbedder, OnnxEmbedder, open_embedder
from memorist.embedders.hub import FastembedEmbedder, SentenceTransformersEmbedder
from memorist.embedders.onnx import BUNDLED, MULTILINGUAL
from memorist.errors import EmbedderError, MissingExtraError


@pytest.mark.parametrize("spec", [None, "default"])
def test_the_default_is_the_bundled_models(spec: Any) -> None:
    embedder = open_embedder(spec)
    assert isinstance(embedder, BundledEmbedder)
    assert (embedder.english.folder, embedder.other.folder) == (BUNDLED, MULTILINGUAL)


def test_a_folder_is_opened_by_its_path(tmp_path: Path) -> None:
    assert open_embedder(str(tmp_path)).folder == tmp_path
    assert open_embedder(tmp_path).folder == tmp_path


def test_a_path_to_nowhere_says_so_on_first_use(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="no model folder"):
        asyncio.run(open_embedder(str(tmp_path / "nowhere")).ready())


def test_an_embedder_is_itself_and_a_function_is_wrapped() -> None:
    embedder = OnnxEmbedder()
    assert open_embedder(embedder) is embedder
    assert isinstance(open_embedder(lambda texts: [[1.0] for _ in texts]), CallableEmbedder)


@pytest.mark.parametrize(
    ("spec", "model", "where", "dimensions"),
    [
        ("openai:text-embedding-3-small", "text-embedding-3-small", "OpenAI", None),
        ("ollama:nomic-embed-text:latest", "nomic-embed-text:latest", "http://localhost:11434/v1", None),
        ("http://host:8000/v1#BAAI/bge-m3", "BAAI/bge-m3", "http://host:8000/v1", None),
        ("https://host/v1?dimensions=256#m", "m", "https://host/v1", 256),
    ],
)
def test_an_endpoint_is_written_in_one_line(spec: Any, model: Any, where: Any, dimensions: Any) -> None:
    embedder = open_embedder(spec, api_key="k")
    assert (embedder.model, embedder.name, embedder._asked) == (model, f"the model {model!r} at {where}", dimensions)


@pytest.mark.parametrize(
    "spec", ["http://host/v1", "https://#m", "http://host/v1?size=3#m", "http://host/v1?dimensions=many#m"]
)
def test_a_malformed_endpoint_is_refused_with_the_right_form(spec: Any) -> None:
    with pytest.raises(EmbedderError, match=r"http://HOST/v1|whole number"):
        open_embedder(spec)


@pytest.mark.parametrize("spec", ["openai", "openai:", "fastembed:"])
def test_a_library_without_a_model_is_refused(spec: Any) -> None:
    with pytest.raises(EmbedderError, match="names no model; write"):
        open_embedder(spec)


@pytest.mark.parametrize("spec", ["", "word2vec", "word2vec:google"])
def test_an_unknown_name_is_refused_with_the_known_ones(spec: Any) -> None:
    with pytest.raises(EmbedderError, match=r"one of default.*ollama, openai"):
        open_embedder(spec)


def test_what_is_no_embedder_at_all_is_refused() -> None:
    with pytest.raises(EmbedderError, match="not int"):
        open_embedder(42)  # type: ignore[arg-type]


def test_another_package_adds_an_embedder_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lengthy.py").write_text(
        "def make(argument='1'):\n    return lambda texts: [[len(t), float(argument)] for t in texts]\n"
    )
    info = tmp_path / "lengthy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lengthy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[memorist.embedders]\nlengthy = lengthy:make\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert asyncio.run(open_embedder("lengthy").embed(["abc"])).shape == (1, 2)
    row = asyncio.run(open_embedder("lengthy:4").embed(["abc"]))[0]
    assert row.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("spec", "kind", "module"),
    [
        ("fastembed:BAAI/bge-small-en-v1.5", FastembedEmbedder, "fastembed"),
        ("sentence-transformers:all-MiniLM-L6-v2", SentenceTransformersEmbedder, "sentence_transformers"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_command(
    spec: Any, kind: Any, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    embedder = open_embedder(spec)
    assert isinstance(embedder, kind)
    with pytest.raises(MissingExtraError, match=rf"pip install .*\[{embedder.library}\]'"):
        asyncio.run(embedder.ready())


def test_fastembed_runs_a_model_and_agrees_with_our_own(tmp_path: Path) -> None:
    pytest.importorskip("fastembed")
    for name, target in {"model_optimized.onnx": "model.onnx", "tokenizer.json": "tokenizer.json"}.items():
        (tmp_path / name).symlink_to(BUNDLED / target)
    (tmp_path / "config.json").write_text('{"pad_token_id": 0}')
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 512, "pad_token": "[PAD]"}')
    (tmp_path / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')

    async def scenario() -> Any:
        theirs = FastembedEmbedder("BAAI/bge-small-en-v1.5", specific_model_path=str(tmp_path))
        rows = await theirs.embed(["Prefers homestays"])
        ours = await open_embedder().embed(["Prefers homestays"])
        await theirs.close()
        assert theirs.dimensions == 384
        assert str(tmp_path) not in theirs.fingerprint
        return (rows @ ours.T).item()

    assert asyncio.run(scenario()) == pytest.approx(1, abs=1e-4)
