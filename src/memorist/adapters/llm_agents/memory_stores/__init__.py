"""Stores of episodes: a JSONL file, and this project's engine."""

from memorist.adapters.llm_agents.memory_stores.engine import MemoristMemoryStore
from memorist.adapters.llm_agents.memory_stores.json import JSONMemoryStore

__all__ = ["JSONMemoryStore", "MemoristMemoryStore"]
