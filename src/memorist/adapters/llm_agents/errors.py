"""Errors and warnings about episodes.

LLMAgentsFromScratchError
└── MemoryStoreError               a store cannot be read, or did not answer in time
    └── EpisodeNotFoundError       there is no episode with this id
LLMAgentsFromScratchWarning
└── MemoryStoreWarning             a part of a store could not be read
    └── MaxResultsExceededWarning  a store returned more episodes than `max_results`

Where the library `llm-agents-from-scratch` is installed, these are its own classes, so that its ``except`` clauses
catch them. What the engine raises, such as `memorist.errors.StoreError`, is passed on as it is.
"""

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__all__ = [
    "EpisodeNotFoundError",
    "LLMAgentsFromScratchError",
    "LLMAgentsFromScratchWarning",
    "MaxResultsExceededWarning",
    "MemoryStoreError",
    "MemoryStoreWarning",
]


def _original() -> Any:
    """Return the library's module of errors; None where it is not installed or cannot be imported."""
    if find_spec("llm_agents_from_scratch") is None:
        return None
    try:
        return import_module("llm_agents_from_scratch.errors")
    except Exception as error:  # the edge to a package that is not ours
        warnings.warn(f"llm_agents_from_scratch cannot be imported, so its errors are not used: {error}", stacklevel=2)
        return None


if TYPE_CHECKING or (_theirs := _original()) is None:

    class LLMAgentsFromScratchError(Exception):
        """Base of every error of this adapter."""

    class MemoryStoreError(LLMAgentsFromScratchError):
        """A store cannot be read, or did not answer in time."""

    class EpisodeNotFoundError(MemoryStoreError):
        """There is no episode with this id in the store."""

    class LLMAgentsFromScratchWarning(Warning):
        """Base of every warning of this adapter."""

    class MemoryStoreWarning(LLMAgentsFromScratchWarning):
        """A part of a store could not be read."""

    class MaxResultsExceededWarning(MemoryStoreWarning):
        """A store returned more episodes than `max_results`."""

else:
    LLMAgentsFromScratchError = _theirs.LLMAgentsFromScratchError
    MemoryStoreError = _theirs.MemoryStoreError
    EpisodeNotFoundError = _theirs.EpisodeNotFoundError
    LLMAgentsFromScratchWarning = _theirs.LLMAgentsFromScratchWarning
    MemoryStoreWarning = _theirs.MemoryStoreWarning
    MaxResultsExceededWarning = _theirs.MaxResultsExceededWarning
