"""Promptise's provider on any Memorist store."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from memorist.adapters.promptise.providers import Provider
from memorist.adapters.promptise.types import MemoryResult, MemoryScope
from memorist.memory import Memory
from memorist.records.origins import Author
from memorist.records.record import Record


class MemoristProvider(Provider):
    """Stores notes, and finds what `Memory.recall` finds; a user is a wall in the store.

    The score of a result is that of the hit. Metadata that is not JSON is stored as text, and a purge leaves no trace.

    Args:
        memory: an open memory; `close` does not close it.
        scope: SHARED, the default, works on the memory's own scope, PER_USER on each user's.
    """

    def __init__(self, memory: Memory, *, scope: MemoryScope | None = None) -> None:
        super().__init__(scope)
        self._memory = memory.through("promptise")

    def _of(self, owner: str | None) -> Memory:
        return self._memory if owner is None else self._memory.scoped(user=owner)

    def _kept(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return dict(json.loads(json.dumps(metadata, default=str)))

    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        hits = await self._of(owner).recall(query, limit=limit)
        return [_result(hit.record, hit.score) for hit in hits]

    async def _entries(self, owner: str | None) -> AsyncIterator[MemoryResult]:
        async for each in self._of(owner).iterate():
            yield _result(each, 1.0)

    async def _add(self, content: str, metadata: dict[str, Any], owner: str | None) -> str:
        author = Author.USER | Author.ASSISTANT if metadata.get("source") == "auto_store" else None
        return (await self._of(owner).notes.add(content, metadata=metadata, author=author)).id

    async def _delete(self, id: str, owner: str | None) -> bool:
        return await self._of(owner).forget(id) > 0

    async def _purge(self, owner: str) -> int:
        return (await self._memory.unlabelled().scoped(user=owner).purge()).purged


def _result(record: Record, score: float) -> MemoryResult:
    return MemoryResult(record.content, score, record.id, json.loads(json.dumps(record.metadata)))
