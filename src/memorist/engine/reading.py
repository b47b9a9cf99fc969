"""Handlers of the requests that read: each returns the answer to one request in a scope."""

from collections.abc import Awaitable, Callable, Mapping, Set
from typing import Any

from memorist.engine.core import Core
from memorist.engine.inbox import waiting
from memorist.operations import cursors, requests
from memorist.operations.answers import ReplacementPage
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.recall.changes import Wanted, changes_behind
from memorist.records.filters import Filter, make_filter
from memorist.records.record import Change, Hit, Page, Record
from memorist.records.scope import Scope
from memorist.records.times import to_micros
from memorist.stores.base import ALL


async def recall(core: Core, call: Call, request: requests.Recall) -> list[Hit]:
    """Return the hits, best first."""
    walls = call.scope.reach(shared=request.shared).walls()
    return await core.recaller.recall(walls, request, core.filter(request, call), call.notes, core.zone(call))


class Reads:
    """What a context reads of its memory, in its call.

    Attributes:
        recalls: how many recalls it took.
    """

    def __init__(self, core: Core, call: Call) -> None:
        self._core = core
        self._call = call
        self.recalls = 0

    async def answer(self, request: Request[Any]) -> Any:
        """Return the answer to a request that reads."""
        if isinstance(request, requests.Recall):
            self.recalls += 1
        return await _CONTEXT_READS[type(request)](self._core, self._call, request)

    async def standing(self, wanted: Set[str], limit: int, *, shared: bool) -> list[Record] | None:
        """Return standing instructions and preferences, first those with most of the wanted terms, then the newest.

        Returns:
            None where a wall is too large to know them.
        """
        core, scope = self._core, self._call.scope
        filter = core.filter(requests.Recall(query="", shared=shared, min_trust="high"), self._call)
        return await core.recaller.standing(scope.reach(shared=shared).walls(), filter, wanted, limit)


async def recent(core: Core, call: Call, request: requests.Recent) -> list[Record]:
    """Return the newest records, newest first."""
    reach = call.scope.reach(shared=request.shared)
    return await core.store.select(reach, core.filter(request, call), order="newest", limit=request.limit)


async def lookup(core: Core, call: Call, request: requests.Lookup) -> Record | None:
    """Return the record with the key: the user's own rather than the tenant's shared one."""
    chosen = make_filter(kind=request.kind, key=request.key)
    for wall in call.scope.reach(shared=request.shared).walls():
        reach = call.scope.reach() if wall == call.scope.wall else Scope(wall.tenant).reach()
        if found := await core.store.select(reach, chosen, order="newest", limit=1):
            return found[0]
    return None


async def get(core: Core, call: Call, request: requests.Get) -> Record | None:
    """Return the record with the id, if the scope sees it."""
    found = await core.store.get(call.scope.wall, [str(request.id)])
    return found[0] if found and call.scope.sees(found[0].scope) else None


async def find(core: Core, call: Call, request: requests.Find) -> list[Record]:
    """Return the records with these ids; with `everyone`, of all users of the tenant."""
    if not request.everyone:
        found = await core.store.get(call.scope.wall, request.ids)
        return [each for each in found if call.scope.sees(each.scope)]
    chosen = make_filter(ids=request.ids, superseded=True, agent=call.scope.agent, session=call.scope.session)
    return [record async for page in core.pages(call.scope.reach(everyone=True), chosen) for record in page]


async def browse(core: Core, call: Call, request: requests.Browse) -> Page:
    """Return one page of records."""
    reach = call.scope.reach(shared=request.shared, everyone=request.everyone)
    after = cursors.decode(request.cursor, request.order)
    chosen, size = core.filter(request, call), request.limit
    found = await core.store.select(reach, chosen, order=request.order, limit=size + 1, after=after)
    return cursors.make_page(found, size, request.order)


async def values(core: Core, call: Call, request: requests.Values) -> list[tuple[Any, ...]]:
    """Return the kind and some fields of the records."""
    reach, chosen = call.scope.reach(shared=request.shared, everyone=request.everyone), core.filter(request, call)
    most = ALL if request.limit is None else min(request.limit, ALL)
    return await core.store.values(reach, chosen, request.fields, order=request.order, limit=most)


async def count(core: Core, call: Call, request: requests.Count) -> int:
    """Return the number of records that pass the filter."""
    reach = call.scope.reach(shared=request.shared, everyone=request.everyone)
    return await core.store.count(reach, core.filter(request, call))


async def history(core: Core, call: Call, request: requests.History) -> list[Change]:
    """Return every change of a record that the scope sees, oldest first."""
    changes = await core.store.history(call.scope.wall, str(request.id))
    versions = [each.record for each in changes if each.record is not None]
    return changes if not versions or call.scope.sees(versions[-1].scope) else []  # its labels may have been others


async def changes(core: Core, call: Call, request: requests.Changes) -> ReplacementPage:
    """Return one page of changes, newest first."""
    before, chosen = cursors.decode(request.cursor, cursors.CHANGES), core.filter(request, call)
    wall = call.scope.wall
    index, scale = await core.recaller.whole(wall)
    if not request.limit or not index.rows:
        return ReplacementPage([])
    wanted = Wanted(
        filter=chosen,
        least=request.min_score,
        limit=request.limit,
        now=to_micros(core.clock()),
        before=None if before is None else (int(before[0]), before[1]),
    )
    found, after = await changes_behind(core.store, wall, index, scale, wanted)
    return ReplacementPage(found, None if after is None else cursors.encode(cursors.CHANGES, *after))


async def vectors(core: Core, call: Call, request: requests.Vectors) -> dict[str, Any]:
    """Return the stored embeddings by id."""
    chosen = Filter(ids=frozenset(request.ids), superseded=True, agent=call.scope.agent, session=call.scope.session)
    numbers = (await core.store.matching(call.scope.wall, chosen)).tolist()
    records = await core.store.fetch(call.scope.wall, numbers)
    found = await core.store.vectors(call.scope.wall, numbers)
    return {records[number].id: vector for number, vector in found.items() if number in records}


async def users(core: Core, call: Call, request: requests.Users) -> dict[str | None, int]:
    """Return the number of records of each user of the tenant."""
    call.scope.check_everyone()
    return await (waiting(core, call) if request.waiting else core.store.users(call.scope.tenant))


_CONTEXT_READS: Mapping[type[Request[Any]], Callable[[Core, Call, Any], Awaitable[Any]]] = {
    requests.Recall: recall,
    requests.Browse: browse,
    requests.Lookup: lookup,
    requests.Get: get,
}
