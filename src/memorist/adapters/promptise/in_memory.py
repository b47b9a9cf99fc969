"""Promptise's provider for tests: a substring search in this process's memory."""

import copy
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from memorist.adapters.promptise.types import MemoryResult, MemoryScope, is_blank, matches, owner_key, owner_of

__all__ = ["InMemoryProvider"]


@dataclass(frozen=True, slots=True)
class _Entry:
    content: str
    metadata: dict[str, Any]


class InMemoryProvider:
    """Finds the texts that contain the query, ignoring case. Not for production.

    Args:
        max_entries: the most entries (of each user, with the scope PER_USER); the oldest are evicted.
        scope: whether entries belong to users.

    Raises:
        ValueError: `max_entries` is less than 1.
    """

    def __init__(self, *, max_entries: int = 10_000, scope: MemoryScope = MemoryScope.SHARED) -> None:
        if max_entries < 1:
            raise ValueError("max_entries must be >= 1")
        self.scope = MemoryScope(scope)
        self._max_entries = max_entries
        self._entries: dict[str | None, dict[str, _Entry]] = {}
        self._lock = threading.Lock()

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return the texts that contain the query, shortest first."""
        owner = owner_of(self, "search", user_id)
        if is_blank(query, limit):
            return []
        wanted = query.casefold()
        with self._lock:
            entries = list(self._entries.get(owner, {}).items())
        found = [
            MemoryResult(entry.content, len(query) / len(entry.content), id, copy.deepcopy(entry.metadata))
            for id, entry in entries
            if wanted in entry.content.casefold()
        ]
        return sorted(found, key=lambda each: -each.score)[:limit]

    async def list_entries(
        self, *, user_id: str | None = None, metadata: Mapping[str, Any] | None = None, limit: int = 1000
    ) -> list[MemoryResult]:
        """Return the entries whose metadata has these values, oldest first."""
        owner = owner_of(self, "list_entries", user_id)
        with self._lock:
            entries = list(self._entries.get(owner, {}).items())
        found = [
            MemoryResult(entry.content, 1.0, id, copy.deepcopy(entry.metadata))
            for id, entry in entries
            if matches(entry.metadata, metadata)
        ]
        return found[: max(limit, 0)]

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Store a text, and return its id."""
        owner = owner_of(self, "add", user_id)
        id = uuid4().hex
        entry = _Entry(content, copy.deepcopy(metadata or {}))
        with self._lock:
            entries = self._entries.setdefault(owner, {})
            entries[id] = entry
            while len(entries) > self._max_entries:
                del entries[next(iter(entries))]
        return id

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete an entry, and return whether there was one."""
        owner = owner_of(self, "delete", user_id)
        with self._lock:
            return self._entries.get(owner, {}).pop(memory_id, None) is not None

    async def purge_user(self, user_id: str, *, tenant_id: str | None = None) -> int:
        """Delete every entry of a user (of a tenant), and return how many."""
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0
        with self._lock:
            return len(self._entries.pop(owner_key(user_id, tenant_id), {}))

    async def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
