"""What tests need: a deterministic embedder, and the contract of a store as a test suite."""

from typing import TYPE_CHECKING

from memorist.testing.embedder import HashEmbedder

if TYPE_CHECKING:
    from memorist.testing.contract import StoreContract

__all__ = ["HashEmbedder", "StoreContract"]


def __getattr__(name: str) -> object:
    """Import the contract, which needs pytest, when it is first asked for."""
    if name != "StoreContract":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memorist.testing.contract import StoreContract

    return StoreContract
