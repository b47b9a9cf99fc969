"""LlamaIndex: a block of its Memory on one Memorist memory."""

from typing import TYPE_CHECKING

from memorist.adapters.lazy import lazy_names

if TYPE_CHECKING:
    from memorist.adapters.llama_index.block import MemoristMemoryBlock

__all__ = ["MemoristMemoryBlock"]

_EXTRAS = {"llama_index": "llama-index"}
__getattr__ = lazy_names(__name__, {"MemoristMemoryBlock": "block"}, extras=_EXTRAS)
