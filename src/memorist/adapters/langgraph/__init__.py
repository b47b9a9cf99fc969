"""LangGraph's long-term store and checkpointer, LangChain's agent middleware and tools, on one Memorist memory."""

from typing import TYPE_CHECKING

from memorist.adapters.lazy import lazy_names

if TYPE_CHECKING:
    from memorist.adapters.langgraph.middleware import MemoryMiddleware
    from memorist.adapters.langgraph.saver import MemoristSaver
    from memorist.adapters.langgraph.store import MemoristStore
    from memorist.adapters.langgraph.tools import memory_tools

__all__ = ["MemoristSaver", "MemoristStore", "MemoryMiddleware", "memory_tools"]

_MODULES = {
    "MemoristSaver": "saver",
    "MemoristStore": "store",
    "MemoryMiddleware": "middleware",
    "memory_tools": "tools",
}
_EXTRAS = {"langchain": "langgraph", "langchain_core": "langgraph", "langgraph": "langgraph"}
__getattr__ = lazy_names(__name__, _MODULES, extras=_EXTRAS)
