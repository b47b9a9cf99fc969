"""Tasks, their results, and episodes."""

from memorist.adapters.llm_agents.data_structures.memory import (
    Episode,
    EpisodeFormatMode,
    RecallMode,
    Task,
    TaskResult,
    own_copy,
)

__all__ = ["Episode", "EpisodeFormatMode", "RecallMode", "Task", "TaskResult", "own_copy"]
