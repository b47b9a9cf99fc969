"""Opening an embedder by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from memorist.embedders.base import Embedder
from memorist.embedders.bundled import BundledEmbedder
from memorist.embedders.callables import CallableEmbedder, EmbedFunction
from memorist.embedders.onnx import OnnxEmbedder
from memorist.errors import EmbedderError
from memorist.system.places import expanded

ENTRY_POINTS = "memorist.embedders"

EmbedderSpec: TypeAlias = str | Path | Embedder | EmbedFunction | None


def open_embedder(spec: EmbedderSpec = None, *, api_key: str | None = None) -> Embedder:
    """Return the embedder that `spec` names. Nothing is loaded or connected before its first use.

    | spec | embedder |
    |---|---|
    | `None`, `"default"` | the bundled models: one of English, one of all other languages |
    | a folder's path | its `model.onnx` and `tokenizer.json` |
    | `openai:MODEL` | OpenAI, with `api_key` or OPENAI_API_KEY |
    | `http://HOST/v1#MODEL`, `https://…`; also with `?dimensions=N` | any OpenAI-compatible endpoint |
    | `ollama:MODEL` | short for `http://localhost:11434/v1#MODEL` |
    | `fastembed:MODEL`, `sentence-transformers:MODEL` | that library's model |
    | `NAME` or `NAME:ARGUMENT` | the entry point NAME in the group `memorist.embedders` |
    | a function, blocking or async, from a list of texts to vectors | that function |
    | an `Embedder` | itself |

    Args:
        spec: See the table.
        api_key: For the endpoints; no other embedder sees it.

    Raises:
        EmbedderError: The name is unknown or malformed.
    """
    if spec is None or spec == "default":
        return BundledEmbedder()
    if isinstance(spec, Embedder):
        return spec
    if isinstance(spec, Path):
        return OnnxEmbedder(spec)
    if isinstance(spec, str):
        return _named(spec.strip(), api_key)
    if callable(spec):
        return CallableEmbedder(spec)
    raise EmbedderError(f"an embedder is a name, a folder, a function or an Embedder, not {type(spec).__name__}")


def open_ahead(spec: EmbedderSpec = None, *, brief: bool = False) -> Embedder:
    """Return the embedder that `spec` names; a model in a folder is loaded by a thread while the caller goes on.

    Of the bundled ones that is the model of English.

    Args:
        spec: As for `open_embedder`.
        brief: Load it sooner, for a few texts; see `OnnxEmbedder.load_ahead`.

    Raises:
        EmbedderError: The name is unknown or malformed.
    """
    embedder = open_embedder(spec)
    if isinstance(embedder, OnnxEmbedder | BundledEmbedder):
        embedder.load_ahead(brief=brief)
    return embedder


def _named(spec: str, api_key: str | None) -> Embedder:
    name, _, argument = spec.partition(":")
    if name in ("http", "https"):
        return _endpoint(spec, api_key)
    # Checked before the names, because "C:\models\e5" has a colon too.
    if spec and expanded(spec).is_dir():
        return OnnxEmbedder(expanded(spec))
    if name in _BUILT_IN:
        if not argument:
            raise EmbedderError(f"the embedder {spec!r} names no model; write {name}:MODEL")
        module, kind, options = _BUILT_IN[name]
        made: Callable[..., Embedder] = getattr(import_module(f"memorist.embedders.{module}"), kind)
        return made(argument, **options, **({"api_key": api_key} if module == "openai" else {}))
    from importlib.metadata import entry_points  # it takes longer to import than to open what is built in

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        opened = entry.load()(argument) if argument else entry.load()()
        return opened if isinstance(opened, Embedder) else open_embedder(opened)
    if "/" in spec or "\\" in spec:
        return OnnxEmbedder(expanded(spec))
    known = sorted({"default", *_BUILT_IN, *(entry.name for entry in entry_points(group=ENTRY_POINTS))})
    raise EmbedderError(f"no embedder {spec!r}: it is neither a folder nor one of {', '.join(known)}")


def _endpoint(spec: str, api_key: str | None) -> Embedder:
    from memorist.embedders.openai import OpenAIEmbedder

    parts = urlsplit(spec)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    dimensions = options.pop("dimensions", None)
    if not parts.fragment or not parts.hostname or options:
        raise EmbedderError("write an endpoint as http://HOST/v1#MODEL or http://HOST/v1?dimensions=N#MODEL")
    if dimensions is not None and not (dimensions.isdecimal() and int(dimensions) > 0):
        raise EmbedderError(f"dimensions={dimensions!r} in the endpoint is not a whole number above 0")
    base_url = parts._replace(query="", fragment="").geturl()
    size = int(dimensions) if dimensions else None
    return OpenAIEmbedder(parts.fragment, base_url=base_url, api_key=api_key, dimensions=size)


_BUILT_IN: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "openai": ("openai", "OpenAIEmbedder", {}),
    "ollama": ("openai", "OpenAIEmbedder", {"base_url": "http://localhost:11434/v1"}),
    "fastembed": ("hub", "FastembedEmbedder", {}),
    "sentence-transformers": ("hub", "SentenceTransformersEmbedder", {}),
}
"""Each name's module and class, imported when it is asked for, and the arguments that it takes beside the model."""
