"""Promptise's provider for tests: a substring search in this process's memory."""

import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

from memorist.adapters.promptise.providers import Provider
from memorist.adapters.promptise.types import MemoryResult, MemoryScope


class InMemoryProvider(Provider):
    """Finds the texts that contain the query, ignoring case, shortest first. Not for production.

    Args:
        max_entries: the most entries (of each user, with the scope PER_USER); the oldest are evicted.
        scope: whether entries belong to users; by default they are shared.

    Raises:
        ValueError: `max_entries` is less than 1.
    """

    def __init__(self, *, max_entries: int = 10_000, scope: MemoryScope | None = None) -> None:
        if max_entries < 1:
            raise ValueError("max_entries must be >= 1")
        super().__init__(scope)
        self._max_entries = max_entries
        self._stored: dict[str | None, dict[str, MemoryResult]] = {}
        self._lock = threading.Lock()

    async def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._stored.clear()

    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        wanted = query.casefold()
        found = [
            replace(each, score=len(query) / len(each.content))
            async for each in self._entries(owner)
            if wanted in each.content.casefold()
        ]
        return sorted(found, key=lambda each: -each.score)[:limit]

    async def _entries(self, owner: str | None) -> AsyncIterator[MemoryResult]:
        with self._lock:
            stored = list(self._stored.get(owner, {}).values())
        for each in stored:
            yield replace(each, metadata=self._kept(each.metadata))

    async def _add(self, content: str, metadata: dict[str, Any], owner: str | None) -> str:
        entry = MemoryResult(content, 1.0, uuid4().hex, metadata)
        with self._lock:
            stored = self._stored.setdefault(owner, {})
            stored[entry.memory_id] = entry
            while len(stored) > self._max_entries:
                del stored[next(iter(stored))]
        return entry.memory_id

    async def _delete(self, id: str, owner: str | None) -> bool:
        with self._lock:
            return self._stored.get(owner, {}).pop(id, None) is not None

    async def _purge(self, owner: str) -> int:
        with self._lock:
            return len(self._stored.pop(owner, {}))
