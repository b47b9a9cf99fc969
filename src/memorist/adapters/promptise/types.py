"""Promptise's types, and the interface of a provider."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from memorist.adapters.originals import original


class MemoryScope(str, Enum):  # noqa: UP042  # as Promptise has it: a member's text is not its value
    """Whether every caller sees every entry, or each user their own. Where Promptise is installed, it is its own."""

    SHARED = "shared"
    PER_USER = "per_user"


if (_theirs := original("promptise", "promptise.memory", "MemoryScope")) is not None:
    MemoryScope = _theirs  # type: ignore[misc]  # a program may compare members by identity


class MemoryIsolationError(RuntimeError):
    """A call names no user where every entry belongs to one."""


@dataclass(frozen=True)
class MemoryResult:
    """One memory that a search found. The score is clamped to 0 to 1; NaN becomes 0."""

    content: str
    score: float
    memory_id: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        score = float(self.score)
        object.__setattr__(self, "score", 0.0 if math.isnan(score) else min(max(score, 0.0), 1.0))


@runtime_checkable
class MemoryProvider(Protocol):
    """The interface of a memory backend.

    With the scope PER_USER, every call names a user, and reads and changes only that user's entries. With SHARED,
    `user_id` is ignored. The providers here also have `list_entries`, as Promptise 1.10 has it.

    Raises (from `search`, `add` and `delete`):
        MemoryIsolationError: no user is named where the scope is PER_USER.
    """

    scope: MemoryScope

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return memories relevant to a query, best first."""

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Store a text, and return its id."""

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete an entry; return False if it is missing or another user's."""

    async def purge_user(self, user_id: str, *, tenant_id: str | None = None) -> int:
        """Delete every entry of a user (of a tenant), and return how many; 0 where the scope is SHARED."""

    async def close(self) -> None:
        """Release connections and files."""


def is_adaptive(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether an entry is a note that Promptise's adaptive strategy keeps for itself, and so not a memory.

    Entries of Promptise 1.2.1 and before are told by their type and confidence.
    """
    given = metadata or {}
    legacy = given.get("type") in ("failure_log", "strategy") and "confidence" in given
    return "_promptise_adaptive_scope" in given or legacy


def owner_key(user_id: str, tenant_id: str | None = None) -> str:
    """Return the name under which a user's entries are kept: with a tenant, ``"{tenant_id}::{user_id}"``.

    Raises:
        ValueError: the tenant is blank or has a colon, or the user of a tenant has two together.
    """
    if tenant_id is None:
        return user_id
    if not tenant_id.strip() or ":" in tenant_id:
        raise ValueError(f"tenant_id must be a string without ':', not {tenant_id!r}")
    if "::" in user_id:
        raise ValueError(f"user_id must not contain '::', which separates it from the tenant; it is {user_id!r}")
    return f"{tenant_id}::{user_id}"
