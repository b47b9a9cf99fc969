"""CrewAI: a storage for its memory, and a memory that also searches words and needs no model."""

from memorist.adapters.lazy import needing

with needing({"crewai": "crewai"}):
    from memorist.adapters.crewai.memory import MemoristMemory
    from memorist.adapters.crewai.storage import MemoristStorage, embedder, factory

__all__ = ["MemoristMemory", "MemoristStorage", "embedder", "factory"]
