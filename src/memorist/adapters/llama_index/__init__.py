"""LlamaIndex: a block of its Memory on one Memorist memory."""

from memorist.adapters.lazy import needing

with needing({"llama_index": "llama-index"}):
    from memorist.adapters.llama_index.block import MemoristChatMemory, MemoristMemoryBlock

__all__ = ["MemoristChatMemory", "MemoristMemoryBlock"]
