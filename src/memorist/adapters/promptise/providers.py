"""The rules of every provider, whose entries a call is about and what can be found; and two that need no more."""

import copy
import json
import re
import threading
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from memorist.adapters.entries import first
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.originals import caught_by
from memorist.adapters.promptise.types import MemoryIsolationError, MemoryProvider, MemoryResult, MemoryScope, owner_key
from memorist.memory import Memory
from memorist.records.attribution import told_text
from memorist.records.origins import Author
from memorist.records.record import Record

_PARTLY = 0.49
"""The score of a text that has every word of a query, and not the query itself."""
_WORD = re.compile(r"[^\W_]+")
_JOINING = frozenset(
    "a an and are as at be by can do for from has have how i if in is it its me my no not of on or our so that the"
    " their then this to was we what when with you your".split()
)


def _words(text: str) -> set[str]:
    """Return the words of a text that a search counts."""
    found = set(_WORD.findall(text.casefold())) - _JOINING
    return {word for word in found if len(word) > 1 or word.isdigit()}


class Provider(MemoryProvider):
    """A provider over entries that each have an owner; the owner is None with the scope SHARED.

    Args:
        scope: whether entries belong to users; None means SHARED. Promptise's agent then warns if it serves several
            callers, because the scope was not chosen on purpose.
    """

    _closed = False

    def __init__(self, scope: MemoryScope | None) -> None:
        self.scope = MemoryScope.SHARED if scope is None else MemoryScope(scope)
        self._scope_explicit = scope is not None

    async def search(self, query: str, *, limit: int = 5, user_id: str | None = None) -> list[MemoryResult]:
        owner = self._owner("search", user_id)
        return await self._search(query, limit, owner) if limit > 0 and query.strip() else []

    async def list_entries(
        self, *, user_id: str | None = None, metadata: Mapping[str, Any] | None = None, limit: int = 1000
    ) -> list[MemoryResult]:
        """Return the entries whose metadata has these values exactly, oldest first where the backend has an order."""
        owner, wanted = self._owner("list_entries", user_id), self._kept(metadata or {}).items()

        def matches(metadata: Mapping[str, Any]) -> bool:
            return all(name in metadata and metadata[name] == value for name, value in wanted)

        return await first((each async for each in self._entries(owner) if matches(each.metadata)), limit)

    async def add(self, content: str, *, metadata: dict[str, Any] | None = None, user_id: str | None = None) -> str:
        owner = self._owner("add", user_id)
        return await self._add(content, self._kept(metadata or {}), owner)

    async def delete(self, memory_id: str, *, user_id: str | None = None) -> bool:
        owner = self._owner("delete", user_id)
        return await self._delete(memory_id, owner)

    async def purge_user(self, user_id: str, *, tenant_id: str | None = None) -> int:
        self._check_open()
        if self.scope != MemoryScope.PER_USER or not user_id:
            return 0
        return await self._purge(owner_key(user_id, tenant_id))

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._release()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")

    def _owner(self, method: str, user_id: str | None) -> str | None:
        self._check_open()
        if self.scope != MemoryScope.PER_USER:
            return None
        if not user_id:
            error = caught_by("promptise.memory", MemoryIsolationError)
            raise error(f"{type(self).__name__}.{method} requires a user_id when scope=PER_USER")
        return user_id

    # --- what a backend does -----------------------------------------------------------------------------

    def _kept(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of metadata as the backend keeps it; by default an equal one."""
        return copy.deepcopy(dict(metadata))

    @abstractmethod
    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        """Return the best entries."""

    @abstractmethod
    def _entries(self, owner: str | None) -> AsyncIterator[MemoryResult]:
        """Yield every entry, with the score 1."""

    @abstractmethod
    async def _add(self, content: str, metadata: dict[str, Any], owner: str | None) -> str:
        """Store an entry."""

    @abstractmethod
    async def _delete(self, id: str, owner: str | None) -> bool:
        """Delete an entry."""

    @abstractmethod
    async def _purge(self, owner: str) -> int:
        """Delete every entry of a user."""

    async def _release(self) -> None:
        """Release connections and files."""


class InMemoryProvider(Provider):
    """Finds the texts that contain the query, ignoring case, shortest first; then those with words of it.

    The score of the latter is the share of the query's words that they have, below every score of the former. Words
    that only join others do not count. Not for production.

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
        wanted, words = query.strip().casefold(), _words(query)
        whole, partly = list[MemoryResult](), list[MemoryResult]()
        async for each in self._entries(owner):
            if wanted in each.content.casefold():
                whole.append(replace(each, score=len(wanted) / len(each.content)))
            elif shared := words & _words(each.content):
                partly.append(replace(each, score=_PARTLY * len(shared) / len(words)))
        least = min((each.score for each in whole), default=1.0)
        below = (replace(each, score=each.score * least) for each in partly)
        return sorted([*whole, *below], key=lambda each: -each.score)[:limit]

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


class MemoristProvider(Provider):
    """Stores notes, and finds what `Memory.recall` finds; a user is a wall in the store.

    The score of a result is that of the hit. What came through an import, a web page, a tool or another agent says so
    first where a search finds it. Metadata that is not JSON is stored as text, and a purge leaves no trace.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL; `close` does not close it.
        scope: SHARED, the default, works on the memory's own scope, PER_USER on each user's.
    """

    def __init__(self, memory: AnyMemory, *, scope: MemoryScope | None = None) -> None:
        super().__init__(scope)
        self._memory = behind(memory, "promptise")

    def _of(self, owner: str | None) -> Memory:
        return self._memory if owner is None else self._memory.scoped(user=owner)

    def _kept(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return dict(json.loads(json.dumps(metadata, default=str)))

    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        hits = await self._of(owner).recall(query, limit=limit)
        return [replace(_result(hit.record, hit.score), content=told_text(hit.record)) for hit in hits]

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
