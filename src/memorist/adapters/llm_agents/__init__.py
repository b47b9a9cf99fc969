"""The episode memory of "LLM agents from scratch": recent and similar episodes, on this engine or in a JSONL file."""

from memorist.adapters.llm_agents.base import BaseMemoryStore
from memorist.adapters.llm_agents.data_structures import Episode, EpisodeFormatMode, RecallMode, Task, TaskResult
from memorist.adapters.llm_agents.errors import (
    EpisodeNotFoundError,
    LLMAgentsFromScratchError,
    LLMAgentsFromScratchWarning,
    MaxResultsExceededWarning,
    MemoryStoreError,
    MemoryStoreWarning,
)
from memorist.adapters.llm_agents.memory import Memory, MetadataFn, recency_memory, reflective_memory, similarity_memory
from memorist.adapters.llm_agents.memory_stores import JSONMemoryStore, MemoristMemoryStore

__all__ = [
    "BaseMemoryStore",
    "Episode",
    "EpisodeFormatMode",
    "EpisodeNotFoundError",
    "JSONMemoryStore",
    "LLMAgentsFromScratchError",
    "LLMAgentsFromScratchWarning",
    "MaxResultsExceededWarning",
    "MemoristMemoryStore",
    "Memory",
    "MemoryStoreError",
    "MemoryStoreWarning",
    "MetadataFn",
    "RecallMode",
    "Task",
    "TaskResult",
    "recency_memory",
    "reflective_memory",
    "similarity_memory",
]
