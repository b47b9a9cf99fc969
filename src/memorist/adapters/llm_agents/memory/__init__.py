"""The memory of an agent, and recipes for it."""

from memorist.adapters.llm_agents.memory.memory import Memory, MetadataFn
from memorist.adapters.llm_agents.memory.recipes import recency_memory, reflective_memory, similarity_memory

__all__ = ["Memory", "MetadataFn", "recency_memory", "reflective_memory", "similarity_memory"]
