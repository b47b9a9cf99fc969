"""Embedders: text to unit vectors, with a role and a fingerprint."""

from memorist.embedders.base import Embedder, Role, Vectors, embed_checked, unit_rows
from memorist.embedders.batching import BatchedEmbedder
from memorist.embedders.bundled import BundledEmbedder
from memorist.embedders.callables import CallableEmbedder
from memorist.embedders.onnx import OnnxEmbedder
from memorist.embedders.prefixes import Prefixes, prefixes_for
from memorist.embedders.registry import EmbedderSpec, open_embedder

__all__ = [
    "BatchedEmbedder",
    "BundledEmbedder",
    "CallableEmbedder",
    "Embedder",
    "EmbedderSpec",
    "OnnxEmbedder",
    "Prefixes",
    "Role",
    "Vectors",
    "embed_checked",
    "open_embedder",
    "prefixes_for",
    "unit_rows",
]
