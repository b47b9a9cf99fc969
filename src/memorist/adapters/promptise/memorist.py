"""Promptise's provider on any Memorist store."""

import json
from typing import Any

from memorist.adapters.promptise.types import MemoryResult, MemoryScope, is_blank, owner_of
from memorist.memory import Memory

__all__ = ["MemoristProvider"]


class MemoristProvider:
    """Keeps notes, and finds whatever `Memory.recall` finds; a user is a wall in the store.

    Args:
        memory: an open memory; closing it stays with whoever opened it.
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
        """Return memories that matter to a query, best first; the score is that of the hit."""
        self._check_open()
        owner = owner_of(self, "search", user_id)
        if is_blank(query, limit):
            return []
        hits = await self._of(owner).recall(query, limit=limit)
        return [
            MemoryResult(hit.record.content, hit.score, hit.record.id, json.loads(json.dumps(hit.record.metadata)))
            for hit in hits
        ]

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        """Keep a text, and return its id. Values of the metadata that are not JSON are kept as texts."""
        self._check_open()
        owner = owner_of(self, "add", user_id)
        plain = json.loads(json.dumps(metadata or {}, default=str))
        return (await self._of(owner).notes.add(content, metadata=plain)).id

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        """Delete a record, and tell whether there was one."""
        self._check_open()
        owner = owner_of(self, "delete", user_id)
        return await self._of(owner).forget(memory_id) > 0

    async def purge_user(self, user_id: str) -> int:
        """Delete every record of a user and every trace of it, and return how many records there were."""
        self._check_open()
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0
        return await self._memory.unlabelled().scoped(user=user_id).purge()

    async def close(self) -> None:
        """Take no more calls. What is stored stays, and so does the memory."""
        self._closed = True
