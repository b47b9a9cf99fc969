"""The caller of a request, set by the program that serves it and never by a model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass
class CallerContext:
    """The person or program on whose behalf an agent runs.

    Args:
        user_id: whose memory is read and written; None for an unknown caller.
        bearer_token: the token they authenticated with; left out of the representation.
        roles: their roles.
        scopes: their permissions.
        metadata: anything else.
    """

    user_id: str | None = None
    bearer_token: str | None = field(default=None, repr=False)
    roles: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    metadata: Mapping[str, Any] = field(default_factory=dict)


caller: ContextVar[CallerContext | None] = ContextVar("memorist_caller", default=None)
"""The caller of the current task; tasks and threads started from it inherit it."""


def current_caller() -> CallerContext | None:
    """Return the caller of the current task, or None."""
    return caller.get()


@contextmanager
def serving(who: CallerContext | None) -> Iterator[None]:
    """Set the caller for the duration of a ``with`` block."""
    token = caller.set(who)
    try:
        yield
    finally:
        caller.reset(token)
