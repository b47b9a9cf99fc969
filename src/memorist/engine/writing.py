"""Handlers of the requests that write: read, decide, write, and retry if another writer has intervened."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from random import random
from typing import Any, TypeAlias, TypeVar

from memorist.engine.cleaning import cleaned
from memorist.engine.core import Analyses, Core
from memorist.engine.deriving import forgetting
from memorist.errors import ConflictError, InvalidInputError, MemoristError, NotFoundError, ScopeError, shown
from memorist.operations import requests
from memorist.operations.arguments import UNSET
from memorist.operations.calls import Call
from memorist.operations.lines import BadLine, LoadReport, store_each
from memorist.operations.requests import IfExists
from memorist.records.filters import make_filter
from memorist.records.origins import NOBODY, Author, Door, joined
from memorist.records.record import Action, Draft, Record, check_fields
from memorist.records.scope import Scope, Wall
from memorist.stores.base import Put, Remove, Vector, Write
from memorist.system.offload import offload

_T = TypeVar("_T")
Done: TypeAlias = Callable[[], Awaitable[_T | None]]
ATTEMPTS = 30


async def remember(
    core: Core, call: Call, request: requests.Remember, done: Done[list[Record]] | None = None
) -> list[Record]:
    """Forget some ids and store the drafts, all or none, and return the records in their order."""
    drafts, if_exists = request.records, request.if_exists
    if not drafts and not request.forgetting:
        return []
    records = await offload(lambda: core.stamp(drafts, call), drafts)
    analyses = await core.analysed(records, core.zone(call))
    vectors = await core.embed(records, [draft.vector for draft in drafts], later=request.embed != "now")

    async def prepare() -> tuple[list[Write], list[Record]]:
        batch = _Batch(core, call.scope, if_exists, analyses)
        await batch.forget(request.forgetting)
        await batch.look_up(drafts, records)
        stored = [
            await batch.remember(draft, record, vector)
            for draft, record, vector in zip(drafts, records, vectors, strict=True)
        ]
        return batch.writes, stored

    reads = if_exists != "error" or any(draft.supersedes is not None or draft.derived_from for draft in drafts)
    return await written(core, call, prepare, ATTEMPTS if reads else 1, done)


async def revise(core: Core, call: Call, request: requests.Revise, done: Done[Record] | None = None) -> Record:
    """Change the given fields."""
    changes = core.dated(request.changes(), call)
    authors = NOBODY if call.door.is_open else call.door.author
    if request.author is not None:
        authors = call.door.named(request.author)
    if changes.keys().isdisjoint(("content", "cue", "metadata", "payload")):
        authors = NOBODY
    return await _change(core, call, request, Action.REVISED, changes, authors, done)


async def rate(core: Core, call: Call, request: requests.Rate) -> Record:
    """Set or clear a rating. Where agents ask for what they would write, no text of theirs goes with it."""
    if request.source is not None and core.settings.confirm and call.door.proposes:
        raise InvalidInputError("a rating takes effect without approval, so it may carry no text; leave source out")
    return await _change(core, call, request, Action.RATED, {"rating": request.rating})


async def _change(
    core: Core,
    call: Call,
    request: requests.Revise | requests.Rate,
    action: Action,
    changes: dict[str, Any],
    authors: Author = NOBODY,
    done: Done[Record] | None = None,
) -> Record:
    """Read a record, change its fields, add its new authors and write it back."""

    async def prepare() -> tuple[list[Write], Record]:
        found = await core.store.get(call.scope.wall, [str(request.id)])
        if not found or not call.scope.sees(found[0].scope):
            raise NotFoundError(f"there is no record {shown(request.id)} in this scope")
        old = found[0]
        origin = replace(old.origin, authors=old.origin.authors | authors)
        new = await offload(lambda: core.changed(old, replace(old, **changes, origin=origin)), old, changes)
        if not changes.keys().isdisjoint(("content", "cue", "metadata", "payload")):
            core.sized(new, call.door)
        same = new.text == old.text
        source = None if request.source is UNSET else request.source
        [vector] = [None] if same else await core.embed([new], [None])
        return [await core.put(new, action, vector, keep_index=same, source=source, zone=core.zone(call))], new

    return await written(core, call, prepare, 20 * ATTEMPTS, done)  # only a concurrent change conflicts


async def written(
    core: Core,
    call: Call,
    prepare: Callable[[], Awaitable[tuple[list[Write], _T]]],
    attempts: int,
    done: Done[_T] | None = None,
) -> _T:
    """Write what `prepare` returns, and prepare again if another writer intervened; return its second value.

    Where `done` returns a result, the same was written already, and nothing is.
    """
    for turn in range(attempts):
        writes, result = await prepare()
        if done is not None and (there := await done()) is not None:  # asked last: what comes later conflicts
            return there
        try:
            if writes:
                await core.store.write(call.scope.wall, writes, act=call.act)
                core.note_stored(call.scope.wall, len(writes))
            return result
        except ConflictError:
            if turn == attempts - 1:
                raise
            await asyncio.sleep(random() * min(0.001 * turn, 0.1))  # so that writers retry at different times
    raise AssertionError("the last attempt returns or raises")


async def forget(core: Core, call: Call, request: requests.Forget) -> int:
    """Delete the records that pass the filter, superseded ones included: all or none."""
    if request.derived:
        return len(await written(core, call, partial(forgetting, core, call, request), 20 * ATTEMPTS))
    passing = core.filter(request, call)
    return await core.store.remove(call.scope.wall, passing, at=core.clock(), source=request.source, act=call.act)


async def restore(core: Core, call: Call, request: requests.Restore) -> LoadReport:
    """Store whole records, each behind its own user's wall; an invalid one does not affect the others."""
    scope, report = call.scope, LoadReport()
    walls = await offload(lambda: _placed(request.records, scope, call.door), request.records)
    for wall, part in walls.items():
        outcomes: Sequence[bool | MemoristError]
        try:
            outcomes = await store_each([record for _, record in part], partial(_restore_behind, core, call, wall))
        except MemoristError as error:
            if not report.added:
                raise
            # records behind other walls are stored already: report the error instead of raising
            outcomes = [error] * len(part)
        for (number, _), outcome in zip(part, outcomes, strict=True):
            if isinstance(outcome, MemoristError):
                report.bad.append(BadLine(number, str(outcome)))
            elif outcome:
                report.added += 1
            else:
                report.existing += 1
    return report


def _placed(records: Sequence[Record], scope: Scope, through: Door) -> dict[Wall, list[tuple[int, Record]]]:
    """Return records by the wall that each belongs behind, with their numbers from 1."""
    walls: dict[Wall, list[tuple[int, Record]]] = {}
    for number, record in enumerate(records, start=1):
        placed = replace(record, scope=replace(record.scope, tenant=scope.tenant)).brought(through)
        if scope.user not in (None, placed.scope.user) or not scope.sees(placed.scope):
            raise ScopeError(
                f"a record of {_owner(placed.scope)} cannot be restored into the memory of {_owner(scope)}; "
                "load it into a memory without a user"
            )
        walls.setdefault(placed.scope.wall, []).append((number, placed))
    return walls


async def _restore_behind(core: Core, call: Call, wall: Wall, records: Sequence[Record]) -> list[bool]:
    """Store records, unless their id is there already; return for each whether it was added.

    They are stored as they are, and get the authors of the records that they are derived from, if these are stored or
    come earlier in the list.
    """
    ids = {id for record in records for id in (record.id, *record.origin.derived_from)}
    authors = {each.id: each.origin.authors for each in await core.store.get(wall, list(ids))}
    added, new = list[bool](), list[Record]()

    def check() -> None:
        for record in records:
            added.append(record.id not in authors)
            if record.id not in authors:
                origin = record.origin
                everyone = joined([origin.authors, *(authors.get(id, NOBODY) for id in origin.derived_from)])
                whole = replace(record, origin=replace(origin, authors=everyone))
                whole = cleaned(replace(whole, **check_fields(whole)), core.settings.secrets, warns=False)
                new.append(core.sized(whole, call.door))
                authors[record.id] = new[-1].origin.authors

    await offload(check, records)
    vectors = await core.embed(new, [None] * len(new))
    analyses = await core.analysed(new, core.zone(call))
    writes = [
        await core.put(record, Action.REMEMBERED, vector, analyses, expected=0)
        for record, vector in zip(new, vectors, strict=True)
    ]
    if writes:
        await core.store.write(wall, writes, act=call.act)
        core.note_stored(wall, len(writes))
    return added


def _owner(scope: Scope) -> str:
    labels = [f"{name} {value!r}" for name in ("agent", "session") if (value := getattr(scope, name)) is not None]
    return ", ".join(["no user (shared records)" if scope.user is None else f"user {scope.user!r}", *labels])


class _Batch:
    """The writes of one `remember`; each one sees the earlier ones."""

    def __init__(self, core: Core, scope: Scope, if_exists: IfExists, analyses: Analyses) -> None:
        self.writes: list[Write] = []
        self._analyses = analyses
        self._core = core
        self._scope = scope
        self._if_exists = if_exists
        self._known: dict[str, Record] = {}
        self._gone: set[str] = set()
        self._sources: dict[str, Record] = {}

    async def forget(self, ids: Sequence[str]) -> None:
        """Add the writes that remove these records, if the scope sees them."""
        for each in await self._core.store.get(self._scope.wall, ids) if ids else ():
            if self._scope.sees(each.scope):
                self.writes.append(Remove(each.id, Action.FORGOTTEN, self._core.clock(), None))
                self._gone.add(each.id)

    async def look_up(self, drafts: Sequence[Draft], records: Sequence[Record]) -> None:
        """Read the records with the ids that the drafts name."""
        ids = [draft.supersedes for draft in drafts if draft.supersedes is not None]
        sources = {id for record in records for id in record.origin.derived_from}
        found = await self._core.store.get(self._scope.wall, list(sources)) if sources else []
        self._sources = {each.id: each for each in found if self._scope.sees(each.scope)}
        if self._if_exists != "error":
            ids += [record.id for draft, record in zip(drafts, records, strict=True) if draft.id is not None]
        if ids:
            found = await self._core.store.get(self._scope.wall, ids)
            self._known = {each.id: each for each in found if each.id not in self._gone}

    async def remember(self, draft: Draft, record: Record, vector: Vector | None) -> Record:
        """Add the write that stores `record`, and return the record as it will be stored."""
        old = None if self._if_exists == "error" else await self._taken(record, draft.supersedes)
        if old is None:
            action, record = Action.REMEMBERED, self._derived(record, ())
        else:
            if old.id == record.id and not self._scope.sees(old.scope):
                raise ConflictError(
                    f"the id {shown(record.id)} is taken by another agent or session; choose another id"
                )
            if self._if_exists == "ignore":
                return old
            action, record = Action.REVISED, _in_place_of(old, self._derived(record, old.origin.derived_from))
        if draft.supersedes is not None:
            await self._supersede(draft.supersedes, record)
        sources = frozenset(record.origin.derived_from).intersection(self._sources).difference(self._gone)
        self._add(await self._core.put(record, action, vector, self._analyses, derived_from=sources))
        return record

    def _derived(self, record: Record, known: Sequence[str]) -> Record:
        """Return the record with its sources' authors; only the sources in `known` may be missing."""
        authors = record.origin.authors
        for id in record.origin.derived_from:
            if (source := self._sources.get(id)) is None:
                if id in known:
                    continue
                raise NotFoundError(f"there is no record {shown(id)} in this scope to derive from")
            authors |= source.origin.authors
        return replace(record, origin=replace(record.origin, authors=authors)) if record.origin.derived_from else record

    async def _taken(self, record: Record, supersedes: str | None) -> Record | None:
        """Return the record that has the id or the key; a record about to be superseded frees its key."""
        if record.id in self._known:
            return self._known[record.id]
        if record.key is None:
            return None
        for known in self._known.values():
            if known.current and (known.kind, known.key) == (record.kind, record.key):
                return None if known.id == supersedes else known
        chosen = make_filter(kind=record.kind, key=record.key)
        same = await self._core.store.select(self._scope.reach(), chosen, order="newest", limit=1)
        given_up = self._gone.union(self._known)
        return same[0] if same and same[0].id not in given_up else None

    async def _supersede(self, id: str, by: Record) -> None:
        old = self._known.get(id)
        if old is None or not self._scope.sees(old.scope):
            raise NotFoundError(f"there is no record {shown(id)} in this scope to supersede")
        if old.id == by.id:
            raise InvalidInputError("a record cannot supersede itself; revise it")
        if not old.current:
            raise InvalidInputError(f"the record {shown(id)} is superseded already, by {shown(old.superseded_by)}")
        moment = max(by.at, old.at)
        ended = self._core.changed(old, replace(old, superseded_by=by.id, superseded_at=moment))
        self._add(await self._core.put(ended, Action.SUPERSEDED, None, keep_index=True, source=by.source))

    def _add(self, write: Put) -> None:
        self.writes.append(write)
        self._known[write.record.id] = self._sources[write.record.id] = write.record


def _in_place_of(old: Record, record: Record) -> Record:
    """Return a record as the next version of the one whose place it takes."""
    labels = old.scope
    if old.id == record.id:  # a record keeps its labels
        labels = replace(
            record.scope,
            agent=record.scope.agent or labels.agent,
            session=record.scope.session or labels.session,
        )
    return replace(
        record,
        id=old.id,
        scope=labels,
        created_at=old.created_at,
        version=old.version + 1,
        rating=old.rating if record.rating is None else record.rating,
        origin=replace(record.origin, authors=record.origin.authors | old.origin.authors),
    )
