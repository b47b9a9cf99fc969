"""The OpenAI Agents SDK: a session that remembers, what it recalls for a turn, and tools for the model."""

from memorist.adapters.lazy import needing

with needing({"agents": "openai-agents"}):
    from memorist.adapters.openai_agents.session import MemoristSession
    from memorist.adapters.openai_agents.tools import memory_tools

__all__ = ["MemoristSession", "memory_tools"]
