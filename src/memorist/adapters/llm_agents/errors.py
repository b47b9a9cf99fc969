"""Errors and warnings about episodes.

LLMAgentsFromScratchError
└── MemoryStoreError               a store cannot be read, or did not answer in time
    └── EpisodeNotFoundError       there is no episode with this id
LLMAgentsFromScratchWarning
└── MemoryStoreWarning             a part of a store could not be read
    └── MaxResultsExceededWarning  a store returned more episodes than `max_results`

The ``except`` clauses of the library `llm-agents-from-scratch` catch them, too. What the engine raises, such as
`memorist.errors.StoreError`, is passed on as it is.
"""

from typing import TypeVar

from memorist.adapters.originals import caught_by

_E = TypeVar("_E", bound=Exception)


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


def known(error: type[_E]) -> type[_E]:
    """Return one of these classes, derived from the library's own class if the library is imported."""
    return caught_by("llm_agents_from_scratch.errors", error)
