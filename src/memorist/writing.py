"""From what a caller wants stored or changed to writes, again where another writer came between."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import random
from typing import Literal, TypeAlias, TypeVar

from memorist.engine import Engine
from memorist.errors import ConflictError, InvalidInputError, NotFoundError
from memorist.filters import make_filter
from memorist.records import Action, Draft, Fields, Record
from memorist.scope import Scope
from memorist.stores.base import Put, Remove, Vector, Write
from memorist.times import now

__all__ = ["IfExists", "change", "draft_of", "remember"]

IfExists: TypeAlias = Literal["error", "replace", "ignore"]
_T = TypeVar("_T")
_ATTEMPTS = 30


async def remember(
    engine: Engine, scope: Scope, drafts: Sequence[Draft], if_exists: IfExists, forgetting: Sequence[str] = ()
) -> list[Record]:
    """Forget some ids and store the drafts, all or none, and return the records in their order."""
    if if_exists not in ("error", "replace", "ignore"):
        raise InvalidInputError(f"if_exists is 'error', 'replace' or 'ignore', not {if_exists!r}")
    records = engine.stamp(drafts, scope)
    vectors = await engine.embed(records, [draft.vector for draft in drafts])

    async def attempt() -> list[Record]:
        batch = _Batch(engine, scope, if_exists)
        await batch.forget(forgetting)
        await batch.look_up(drafts, records)
        stored = [
            await batch.place(draft, record, vector)
            for draft, record, vector in zip(drafts, records, vectors, strict=True)
        ]
        if batch.writes:
            await engine.store.write(scope.wall, batch.writes)
        return stored

    reads = if_exists != "error" or any(draft.supersedes is not None for draft in drafts)
    return await (_until_undisturbed(attempt) if reads else attempt())


async def change(
    engine: Engine,
    scope: Scope,
    id: str,
    action: Action,
    edit: Callable[[Record], Record],
    source: str | None,
) -> Record:
    """Read a record, edit it and write it back; `edit` may run several times."""

    async def attempt() -> Record:
        found = await engine.store.get(scope.wall, [id])
        if not found or not scope.sees(found[0].scope):
            raise NotFoundError(f"there is no record {id!r} in this scope")
        old = found[0]
        new = engine.changed(old, edit(old))
        same = new.text == old.text
        [vector] = [None] if same else await engine.embed([new], [None])
        await engine.store.write(scope.wall, [engine.put(new, action, vector, keep_index=same, source=source)])
        return new

    return await _until_undisturbed(attempt, 20 * _ATTEMPTS)  # only another change can be in the way: it will pass


async def _until_undisturbed(attempt: Callable[[], Awaitable[_T]], attempts: int = _ATTEMPTS) -> _T:
    """Repeat a read and a write that builds on it, until no other writer comes between."""
    for turn in range(attempts - 1):
        try:
            return await attempt()
        except ConflictError:  # all who were disturbed must not come back together
            await asyncio.sleep(random() * min(0.001 * turn, 0.1))
    return await attempt()


class _Batch:
    """The writes of one `remember`, each knowing what the ones before it will have stored."""

    def __init__(self, engine: Engine, scope: Scope, if_exists: IfExists) -> None:
        self.writes: list[Write] = []
        self._engine = engine
        self._scope = scope
        self._if_exists = if_exists
        self._known: dict[str, Record] = {}
        self._gone: set[str] = set()

    async def forget(self, ids: Sequence[str]) -> None:
        """Add what takes these records out, of those that the scope sees."""
        for each in await self._engine.store.get(self._scope.wall, ids) if ids else ():
            if self._scope.sees(each.scope):
                self.writes.append(Remove(each.id, Action.FORGOTTEN, now(), None))
                self._gone.add(each.id)

    async def look_up(self, drafts: Sequence[Draft], records: Sequence[Record]) -> None:
        """Learn what is stored under the ids that the drafts name."""
        ids = [draft.supersedes for draft in drafts if draft.supersedes is not None]
        if self._if_exists != "error":
            ids += [record.id for draft, record in zip(drafts, records, strict=True) if draft.id is not None]
        if ids:
            found = await self._engine.store.get(self._scope.wall, ids)
            self._known = {each.id: each for each in found if each.id not in self._gone}

    async def place(self, draft: Draft, record: Record, vector: Vector | None) -> Record:
        """Add what stores `record`, and return the record as it will be stored."""
        old = None if self._if_exists == "error" else await self._taken(record, draft.supersedes)
        if old is not None and old.id == record.id and not self._scope.sees(old.scope):
            raise ConflictError(f"the id {record.id!r} is taken by another agent or session; choose another id")
        if old is not None and self._if_exists == "ignore":
            return old
        if old is not None:
            rating = old.rating if record.rating is None else record.rating
            labels = old.scope if old.id != record.id else _labelled(record.scope, old.scope)
            record = replace(
                record, id=old.id, scope=labels, created_at=old.created_at, version=old.version + 1, rating=rating
            )
        if draft.supersedes is not None:
            self._supersede(draft.supersedes, record)
        action = Action.REMEMBERED if old is None else Action.REVISED
        self._add(self._engine.put(record, action, vector))
        return record

    async def _taken(self, record: Record, supersedes: str | None) -> Record | None:
        """Return the record that has the id or the key; the one to be superseded gives its key up."""
        if record.id in self._known:
            return self._known[record.id]
        if record.key is None:
            return None
        for known in self._known.values():
            if known.current and (known.kind, known.key) == (record.kind, record.key):
                return None if known.id == supersedes else known
        chosen = make_filter(kind=record.kind, key=record.key)
        same = await self._engine.store.select(self._scope.reach(), chosen, order="newest", limit=1)
        given_up = self._gone.union(self._known)
        return same[0] if same and same[0].id not in given_up else None

    def _supersede(self, id: str, by: Record) -> None:
        old = self._known.get(id)
        if old is None or not self._scope.sees(old.scope):
            raise NotFoundError(f"there is no record {id!r} in this scope to supersede")
        if old.id == by.id:
            raise InvalidInputError("a record cannot supersede itself; revise it")
        if not old.current:
            raise InvalidInputError(f"the record {id!r} is superseded already, by {old.superseded_by!r}")
        moment = max(by.at, old.at)
        ended = self._engine.changed(old, replace(old, superseded_by=by.id, superseded_at=moment))
        self._add(self._engine.put(ended, Action.SUPERSEDED, None, keep_index=True, source=by.source))

    def _add(self, write: Put) -> None:
        self.writes.append(write)
        self._known[write.record.id] = write.record


def _labelled(scope: Scope, old: Scope) -> Scope:
    """Return `scope` with the labels of `old` where it names none: a record keeps its labels."""
    return replace(scope, agent=scope.agent or old.agent, session=scope.session or old.session)


def draft_of(content: str | Draft, fields: Fields) -> Draft:
    """Return what is to be remembered as a draft."""
    if isinstance(content, Draft):
        if fields:
            raise InvalidInputError("a Draft has its fields already; give them there")
        return content
    try:
        return Draft(content=content, **fields)
    except TypeError as error:
        raise InvalidInputError(f"a record has no such field: {error}") from error
