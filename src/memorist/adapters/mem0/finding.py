"""Finds a memory by its id, among all users."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from memorist.adapters.mem0.shapes import KINDS
from memorist.errors import ConflictError
from memorist.memory import Memory
from memorist.records.record import Change, Record

_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds memories of all users of the tenant; of one user, if the memory's scope has one.

    The owners of recent ids are cached, so that most lookups read one wall.
    """

    memory: Memory
    _owners: dict[str, str | None] = field(default_factory=dict)

    def keep_in_mind(self, id: str, user: str | None) -> None:
        """Cache the owner of an id."""
        self._owners.pop(id, None)
        while len(self._owners) >= _MOST_KNOWN:
            self._owners.pop(next(iter(self._owners)), None)
        self._owners[id] = user

    async def find(self, id: object) -> Record | None:
        """Return the record with this id, or the current one that superseded it, or None.

        Raises:
            ConflictError: more than one user has a record of this id.
        """
        record = await self._record(id) if isinstance(id, str) else None
        if record is None or not self.memory.scope.sees(record.scope):
            return None
        self.keep_in_mind(str(id), record.scope.user)
        return record if record.current else await self.behind(record).facts.current(record.id)

    async def _record(self, id: str) -> Record | None:
        if id in self._owners:
            record = await self._of(self._owners[id]).get(id)
            if record is not None and record.kind in KINDS:
                return record
        # Each wall has an index of its ids: this costs microseconds a user.
        everyone = self.memory.scope.user is None
        found = [each for each in await self.memory.find(id, everyone=everyone) if each.kind in KINDS]
        if len(found) > 1:
            raise ConflictError(
                f"more than one user has a memory {id!r}; ids that others gave must differ between users"
            )
        return found[0] if found else None

    def behind(self, record: Record) -> Memory:
        """Return the memory of the record's user."""
        return self._of(record.scope.user)

    def _of(self, user: str | None) -> Memory:
        return self.memory.unlabelled().scoped(user=user)

    async def chain(self, record: Record) -> list[Record]:
        """Return the record and what it superseded, oldest first."""
        return await self.behind(record).facts.history(record.id) or [record]

    async def histories(self, id: object) -> list[list[Change]]:
        """Return the changes of each record of a memory's chain, oldest first; of a deleted memory, its own."""
        if not isinstance(id, str):
            return []
        record = await self.find(id)
        if record is not None:
            owner = self.behind(record)
            return [await owner.history(each.id) for each in await self.chain(record)]
        async for owner in self._walls(id):
            if changes := await owner.history(id):
                return [changes]
        return []

    async def _walls(self, id: str) -> AsyncIterator[Memory]:
        """Yield the memory of each user, the cached owner first: a user without records is not listed any more."""
        if id in self._owners:
            yield self._of(self._owners[id])
        yield self.memory.unlabelled()
        if self.memory.scope.user is None:
            for user in await self.memory.admin.users():
                if user is not None:
                    yield self._of(user)
