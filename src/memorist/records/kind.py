"""What sort of memory a record is, in a module of its own that loads nothing else."""

from enum import StrEnum


class Kind(StrEnum):
    """What sort of memory a record is."""

    MESSAGE = "message"
    NOTE = "note"
    TOPIC = "topic"
    EPISODE = "episode"
    FACT = "fact"
    EXPERIENCE = "experience"
    TOOL_USE = "tool_use"
    TOOL_GUIDELINE = "tool_guideline"
    STATE = "state"

    @property
    def recallable(self) -> bool:
        """Whether `recall` finds records of this kind. The others are found by their exact key alone."""
        return self not in (Kind.TOPIC, Kind.TOOL_GUIDELINE, Kind.STATE)


MEMORIES = tuple(kind for kind in Kind if kind is not Kind.STATE)
"""The kinds that are listed and counted where none is named: not what a framework keeps for itself."""
