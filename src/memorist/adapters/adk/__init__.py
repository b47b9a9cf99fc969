"""Google's Agent Development Kit: a memory service, a session service, and both for ``memorist:`` URLs."""

from memorist.adapters.lazy import needing

with needing({"google.adk": "adk"}):
    from memorist.adapters.adk.memory import MemoristMemoryService
    from memorist.adapters.adk.registry import memory_service, register, session_service
    from memorist.adapters.adk.sessions import MemoristSessionService

__all__ = ["MemoristMemoryService", "MemoristSessionService", "memory_service", "register", "session_service"]
