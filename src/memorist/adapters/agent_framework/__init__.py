"""Microsoft's Agent Framework: a context provider that recalls and keeps, a history provider, and tools."""

from memorist.adapters.lazy import needing

with needing({"agent_framework": "agent-framework"}):
    from memorist.adapters.agent_framework.providers import (
        MemoristContextProvider,
        MemoristHistoryProvider,
        memory_tools,
    )

__all__ = ["MemoristContextProvider", "MemoristHistoryProvider", "memory_tools"]
