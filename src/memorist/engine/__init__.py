"""Engines answer requests: `local` from a store, `remote` from a server, `traced` around another."""

from memorist.engine.base import Engine

__all__ = ["Engine"]
