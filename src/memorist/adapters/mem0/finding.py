"""Finds a memory by its id, among all users, and what a search asks for."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memorist.adapters.mem0.checks import IDS, check_search, owner_of
from memorist.adapters.mem0.filters import Check, split
from memorist.adapters.mem0.shapes import KINDS, expired, flat, item
from memorist.errors import ConflictError, InvalidInputError
from memorist.memory import Memory
from memorist.records.attribution import told_text
from memorist.records.record import Change, Hit, Record

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
                f"more than one user has a memory {id!r}; ids that you assign must be unique across users"
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


_TOP_K, _TOP_K_1 = 20, 100
"""The most results by default: in the form of mem0 2.x, and in that of 1.x."""
_THRESHOLD = 0.1


@dataclass(frozen=True, slots=True)
class Selection:
    """Whose memories, which, and how many; `is_first_form` if the ids are arguments, as in mem0 1.x."""

    owner: Mapping[str, str | None]
    where: dict[str, Any] | None
    check: Check | None
    top_k: int
    is_first_form: bool

    def floor(self, threshold: Any) -> float:
        """Return the least similarity.

        Raises:
            InvalidInputError: it is not a number from 0 to 1.
        """
        check_search(threshold, self.top_k)
        if threshold is None:
            return 0.0 if self.is_first_form else _THRESHOLD
        return float(threshold)

    def test(self, show_expired: bool, now: datetime) -> Callable[[Record], bool]:
        """Return the test that a record from the store must pass at this time."""

        def passes(record: Record) -> bool:
            return (show_expired or not expired(record, now)) and (self.check is None or self.check(flat(record)))

        return passes


def selection_of(ids: Mapping[str, Any], filters: Mapping[str, Any] | None, top_k: Any, limit: Any) -> Selection:
    """Return what the arguments ask for; ids that are arguments override those in the filters.

    Raises:
        InvalidInputError: no id is given, or one of the arguments makes no sense.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInputError(f"filters must be a dict, not {type(filters).__name__}")
    given = {name: value for name, value in ids.items() if value is not None}
    top_k = limit if top_k is None else top_k
    if top_k is None:
        top_k = _TOP_K_1 if given else _TOP_K
    check_search(None, top_k)
    rest = dict(filters or {})
    named = {name: rest.pop(name) for name in IDS if name in rest}
    if not any(value is not None for value in (*named.values(), *given.values())):
        raise InvalidInputError(
            "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
        )
    return Selection(owner_of({**named, **given}), *split(rest), top_k, bool(given))


def shown(hit: Hit, floor: float, *, explain: bool) -> dict[str, Any]:
    """Return a hit in the form of a search result of mem0, its text as a model is told it."""
    found = item(hit.record, score=hit.score) | {"memory": told_text(hit.record)}
    if explain:
        found["score_details"] = {
            **hit.signals,
            "semantic_score": hit.similarity,
            "bm25_score": hit.signals.get("words", 0.0),
            "entity_boost": 0.0,  # mem0's links between entities have no counterpart here
            "raw_score": hit.score,
            "max_possible_score": 1.0,
            "final_score": hit.score,
            "threshold": floor,
        }
    return found
