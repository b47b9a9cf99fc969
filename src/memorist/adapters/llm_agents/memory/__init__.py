"""The memory of an agent, recipes for it, and the stores that it works on."""

from memorist.adapters.llm_agents.memory.memory import Memory, MetadataFn
from memorist.adapters.llm_agents.memory.recipes import recency_memory, reflective_memory, similarity_memory
from memorist.adapters.llm_agents.memory_stores import JSONMemoryStore, MemoristMemoryStore

__all__ = [
    "JSONMemoryStore",
    "MemoristMemoryStore",
    "Memory",
    "MetadataFn",
    "recency_memory",
    "reflective_memory",
    "similarity_memory",
]
