"""What tests need: a deterministic embedder."""

from memorist.testing.embedder import HashEmbedder

__all__ = ["HashEmbedder"]
