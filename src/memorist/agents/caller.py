"""Who a call is made for: said by the program that serves them, never by the model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CallerContext", "caller", "current_caller", "serving"]


@dataclass
class CallerContext:
    """The person or program on whose behalf an agent runs.

    Args:
        user_id: whose memory is read and written; None where nobody is known.
        bearer_token: what they showed to be let in; left out of the representation.
        roles: what they are.
        scopes: what they may do.
        metadata: anything else.
    """

    user_id: str | None = None
    bearer_token: str | None = field(default=None, repr=False)
    roles: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    metadata: Mapping[str, Any] = field(default_factory=dict)


caller: ContextVar[CallerContext | None] = ContextVar("memorist_caller", default=None)
"""The caller of the task that runs; every task and thread started from it inherits it."""


def current_caller() -> CallerContext | None:
    """Return the caller of the task that runs, or None."""
    return caller.get()


@contextmanager
def serving(who: CallerContext | None) -> Iterator[None]:
    """Make `who` the caller within a ``with`` block."""
    token = caller.set(who)
    try:
        yield
    finally:
        caller.reset(token)
