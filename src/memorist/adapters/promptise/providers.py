"""The rules of every provider: whose entries a call is about, what can be found, and when it is closed."""

import copy
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from typing import Any

from memorist.adapters.entries import first
from memorist.adapters.originals import caught_by
from memorist.adapters.promptise.types import MemoryIsolationError, MemoryProvider, MemoryResult, MemoryScope, owner_key


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
