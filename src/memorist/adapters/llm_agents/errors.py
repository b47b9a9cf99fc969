"""What goes wrong with episodes, and what is only worth a warning.

LLMAgentsFromScratchError
└── MemoryStoreError               a store cannot be read, or did not answer in time
    └── EpisodeNotFoundError       there is no episode with this id
LLMAgentsFromScratchWarning
└── MemoryStoreWarning             a store could be read but for something
    └── MaxResultsExceededWarning  a store gave more than it was asked for

What the engine raises, such as `memorist.errors.StoreError`, comes through as it is.
"""

__all__ = [
    "EpisodeNotFoundError",
    "LLMAgentsFromScratchError",
    "LLMAgentsFromScratchWarning",
    "MaxResultsExceededWarning",
    "MemoryStoreError",
    "MemoryStoreWarning",
]


class LLMAgentsFromScratchError(Exception):
    """Base of every error of this adapter."""


class MemoryStoreError(LLMAgentsFromScratchError):
    """A store cannot be read, or did not answer in time."""


class EpisodeNotFoundError(MemoryStoreError):
    """There is no episode with this id in the store."""


class LLMAgentsFromScratchWarning(Warning):
    """Base of every warning of this adapter."""


class MemoryStoreWarning(LLMAgentsFromScratchWarning):
    """A store could be read but for something."""


class MaxResultsExceededWarning(MemoryStoreWarning):
    """A store gave more episodes than it was asked for."""
