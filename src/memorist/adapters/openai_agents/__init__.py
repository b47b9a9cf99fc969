"""The OpenAI Agents SDK: a session that remembers, what it recalls for a turn, and tools for the model."""

from memorist.adapters.openai_agents.session import MemoristSession

__all__ = ["MemoristSession"]
