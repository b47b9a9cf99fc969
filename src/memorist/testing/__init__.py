"""Helpers for tests: a deterministic embedder, and the contracts of a store, an index and a memory as test suites."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memorist.testing.embedder import HashEmbedder

if TYPE_CHECKING:
    from memorist.testing.contract import IndexContract, StoreContract
    from memorist.testing.memory import MemoryContract

__all__ = ["HashEmbedder", "IndexContract", "MemoryContract", "StoreContract"]

_CONTRACTS = {"IndexContract": "contract", "MemoryContract": "memory", "StoreContract": "contract"}


def __getattr__(name: str) -> Any:
    """Import a contract, which needs pytest, when it is first asked for."""
    if name not in _CONTRACTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_CONTRACTS[name]}"), name)
