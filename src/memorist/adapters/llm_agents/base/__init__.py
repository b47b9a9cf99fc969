"""What stores have in common."""

from memorist.adapters.llm_agents.base.memory_store import BaseMemoryStore

__all__ = ["BaseMemoryStore"]
