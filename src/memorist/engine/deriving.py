"""Handlers of the requests about derivation: where a record comes from, and what was drawn from it.

Derivation is followed behind one wall, whatever the labels.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memorist.engine.core import Core
from memorist.operations import requests
from memorist.operations.answers import Derived, Provenance, Source
from memorist.operations.calls import Call
from memorist.operations.request import Named
from memorist.records.filters import Filter
from memorist.records.record import Action, Record
from memorist.stores.base import Remove, Write

_MOST_RECORDS = 10_000
"""The most records of a provenance."""


async def why(core: Core, call: Call, request: requests.Why) -> Provenance:
    """Return a record and all that it was derived from, breadth first."""
    trust, seen, wanted, sources = core.trust(call.scope), set[str](), [str(request.id)], list[Source]()
    missing: list[str] = []
    depth = 0
    while wanted and len(seen) < _MOST_RECORDS:
        seen.update(wanted)
        found = await core.store.get(call.scope.wall, wanted)
        if depth == 0 and not (found and call.scope.sees(found[0].scope)):
            return Provenance()
        there = {each.id for each in found}
        missing += [id for id in wanted if id not in there]
        sources += [Source(each, trust(each), depth) for each in found]
        further = (id for each in found for id in each.origin.derived_from if id not in seen)
        wanted, depth = list(dict.fromkeys(further)), depth + 1
    return Provenance(tuple(sources), tuple(missing))


async def derived(core: Core, call: Call, request: requests.Derived) -> Derived:
    """Return the records that were derived from those that pass the filter."""
    return await _drawn_from(core, call, await _named(core, call, request))


async def forgetting(core: Core, call: Call, request: requests.Forget) -> tuple[list[Write], list[str]]:
    """Return the writes that forget the records that pass and all that was derived from these alone, and their ids.

    The store refuses the writes if another record was derived from these records in the meantime.
    """
    named = await _named(core, call, request)
    drawn = await _drawn_from(core, call, named)
    going = list(dict.fromkeys([*named, *(each.id for each in drawn.alone)]))
    gone = set(going)
    writes: list[Write] = [Remove(id, Action.FORGOTTEN, core.clock(), request.source, alone=True) for id in going]
    for old in drawn.partly:
        left = tuple(id for id in old.origin.derived_from if id not in gone)
        lost = old.origin.lost + len(old.origin.derived_from) - len(left)
        marked = core.changed(old, replace(old, origin=replace(old.origin, derived_from=left, lost=lost)))
        writes.append(await core.put(marked, Action.REVISED, None, keep_index=True, source=request.source))
    return writes, going


async def _named(core: Core, call: Call, request: Named[Any]) -> list[str]:
    pages = core.pages(call.scope.reach(), core.filter(request, call))
    return [record.id async for page in pages for record in page]


async def _drawn_from(core: Core, call: Call, named: Iterable[str]) -> Derived:
    reach = call.scope.wall.reach
    gone, found = set(named), dict[str, Record]()
    further = set(gone)
    while further:
        chosen = Filter(derived_from=frozenset(further), superseded=True)
        found |= {each.id: each async for page in core.pages(reach, chosen) for each in page if each.id not in gone}
        further = found.keys() - gone
        gone |= further
    while staying := {id for id in found.keys() & gone if not gone.issuperset(found[id].origin.derived_from)}:
        gone -= staying
    touched = [each for each in found.values() if not gone.isdisjoint(each.origin.derived_from)]
    alone = tuple(each for each in touched if each.id in gone)
    return Derived(alone, tuple(each for each in touched if each.id not in gone))
