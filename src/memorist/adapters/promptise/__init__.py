"""Promptise's memory: providers that isolate users, and an agent that gets relevant memories with each call."""

from memorist.adapters.promptise.agent import MemoryAgent
from memorist.adapters.promptise.chroma import ChromaProvider
from memorist.adapters.promptise.context import (
    CallerContext,
    _caller_ctx_var,
    _format_memory_context,
    get_current_caller,
    sanitize_memory_content,
)
from memorist.adapters.promptise.mem0 import Mem0Provider
from memorist.adapters.promptise.providers import InMemoryProvider, MemoristProvider
from memorist.adapters.promptise.types import MemoryIsolationError, MemoryProvider, MemoryResult, MemoryScope, owner_key

__all__ = [
    "CallerContext",
    "ChromaProvider",
    "InMemoryProvider",
    "Mem0Provider",
    "MemoristProvider",
    "MemoryAgent",
    "MemoryIsolationError",
    "MemoryProvider",
    "MemoryResult",
    "MemoryScope",
    "_caller_ctx_var",
    "_format_memory_context",
    "get_current_caller",
    "owner_key",
    "sanitize_memory_content",
]
