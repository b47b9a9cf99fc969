"""LangGraph's long-term store, checkpointer and agent middleware, on one Memorist memory."""

from typing import TYPE_CHECKING

from memorist.adapters.lazy import lazy_names

if TYPE_CHECKING:
    from memorist.adapters.langgraph.saver import MemoristSaver
    from memorist.adapters.langgraph.store import MemoristStore

__all__ = ["MemoristSaver", "MemoristStore"]

__getattr__ = lazy_names(__name__, {"MemoristSaver": "saver", "MemoristStore": "store"}, extra="langgraph")
