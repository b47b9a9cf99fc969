"""Strands Agents: a memory store and a session repository."""

from memorist.adapters.lazy import needing

with needing({"strands": "strands"}):
    from memorist.adapters.strands.repository import MemoristSessionRepository
    from memorist.adapters.strands.store import MemoristStore, injection

__all__ = ["MemoristSessionRepository", "MemoristStore", "injection"]
