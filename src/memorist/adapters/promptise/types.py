"""Promptise's types, and the interface of a provider."""

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

__all__ = ["MemoryIsolationError", "MemoryProvider", "MemoryResult", "MemoryScope", "clamped", "is_blank", "owner_of"]


class MemoryScope(str, Enum):  # noqa: UP042  # as Promptise has it: a member's text is not its value
    """Whether every caller sees every entry, or each user their own."""

    SHARED = "shared"
    PER_USER = "per_user"


class MemoryIsolationError(RuntimeError):
    """A call names no user where every entry belongs to one."""


@dataclass(frozen=True)
class MemoryResult:
    """One memory that a search found; the score is brought into 0 to 1, and is 0 where it is no number."""

    content: str
    score: float
    memory_id: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", clamped(self.score))


def clamped(score: float) -> float:
    """Return a score from 0 to 1."""
    score = float(score)
    return 0.0 if math.isnan(score) else min(max(score, 0.0), 1.0)


@runtime_checkable
class MemoryProvider(Protocol):
    """Where memories are kept.

    With the scope PER_USER every call names its user, and sees and changes that user's entries alone; with
    SHARED it is not looked at.
    """

    scope: MemoryScope

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return memories that matter to a query, best first.

        Raises:
            MemoryIsolationError: no user is named where the scope is PER_USER.
        """
        ...

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Keep a text, and return its id.

        Raises:
            MemoryIsolationError: no user is named where the scope is PER_USER.
        """
        ...

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete an entry; False for one that is missing, or another user's.

        Raises:
            MemoryIsolationError: no user is named where the scope is PER_USER.
        """
        ...

    async def purge_user(self, user_id: str) -> int:
        """Delete every entry of a user, and return how many; 0 where the scope is SHARED."""
        ...

    async def close(self) -> None:
        """Release what the provider holds."""
        ...


def owner_of(provider: MemoryProvider, method: str, user_id: str | None) -> str | None:
    """Return whose entries a call is about; None where they are everybody's.

    Raises:
        MemoryIsolationError: no user is named where the scope is PER_USER.
    """
    if provider.scope != MemoryScope.PER_USER:
        return None
    if not user_id:
        raise MemoryIsolationError(f"{type(provider).__name__}.{method} requires a user_id when scope=PER_USER")
    return user_id


def is_blank(query: str, limit: int) -> bool:
    """Whether a search can find nothing."""
    return limit <= 0 or not query.strip()
