"""Promptise's provider on any Memorist store."""

import json
from collections.abc import Mapping
from typing import Any

from memorist.adapters.promptise.types import MemoryResult, MemoryScope, is_blank, matches, owner_key, owner_of
from memorist.memory import Memory
from memorist.records import Record

__all__ = ["MemoristProvider"]


class MemoristProvider:
    """Stores notes, and finds what `Memory.recall` finds; a user is a wall in the store.

    Args:
        memory: an open memory; `close` does not close it.
        scope: SHARED works on the memory's own scope, PER_USER on each user's.
    """

    def __init__(self, memory: Memory, *, scope: MemoryScope = MemoryScope.SHARED) -> None:
        self.scope = MemoryScope(scope)
        self._memory = memory
        self._closed = False

    def _of(self, owner: str | None) -> Memory:
        return self._memory if owner is None else self._memory.scoped(user=owner)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("MemoristProvider is closed")

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        """Return memories relevant to a query, best first, with the score of the hit."""
        self._check_open()
        owner = owner_of(self, "search", user_id)
        if is_blank(query, limit):
            return []
        hits = await self._of(owner).recall(query, limit=limit)
        return [_result(hit.record, hit.score) for hit in hits]

    async def list_entries(
        self, *, user_id: str | None = None, metadata: Mapping[str, Any] | None = None, limit: int = 1000
    ) -> list[MemoryResult]:
        """Return the entries whose metadata has these values, oldest first."""
        self._check_open()
        memory = self._of(owner_of(self, "list_entries", user_id))
        found: list[MemoryResult] = []
        if limit < 1:
            return found
        async for each in memory.iterate(order="oldest"):
            if matches(each.metadata, metadata):
                found.append(_result(each, 1.0))
            if len(found) == limit:
                break
        return found

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Store a text, and return its id. Metadata that is not JSON is stored as text."""
        self._check_open()
        owner = owner_of(self, "add", user_id)
        plain = json.loads(json.dumps(metadata or {}, default=str))
        return (await self._of(owner).notes.add(content, metadata=plain)).id

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete a record, and return whether there was one."""
        self._check_open()
        owner = owner_of(self, "delete", user_id)
        return await self._of(owner).forget(memory_id) > 0

    async def purge_user(self, user_id: str, *, tenant_id: str | None = None) -> int:
        """Delete every record of a user (of a tenant) and every trace of it, and return how many there were."""
        self._check_open()
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0
        return (await self._memory.unlabelled().scoped(user=owner_key(user_id, tenant_id)).purge()).purged

    async def close(self) -> None:
        """Refuse further calls. The memory stays open."""
        self._closed = True


def _result(record: Record, score: float) -> MemoryResult:
    return MemoryResult(record.content, score, record.id, json.loads(json.dumps(record.metadata)))
