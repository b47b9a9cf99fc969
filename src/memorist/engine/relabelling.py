"""The handler of `relabel`: records get another label, or the one back that they had before."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from memorist.engine.core import Core
from memorist.engine.writing import ATTEMPTS, written
from memorist.errors import ScopeError
from memorist.operations import requests
from memorist.operations.arguments import UNSET, Unset
from memorist.operations.calls import Call
from memorist.records.filters import Filter
from memorist.records.record import Action, Record
from memorist.records.scope import Wall
from memorist.stores.base import Write

Label: TypeAlias = str | None
_AT_ONCE = 200


async def relabel(core: Core, call: Call, request: requests.Relabel) -> int:
    """Change the label of the records that pass, some at a time, and of what waits in the inbox to become such."""
    if call.scope.agent is not None or call.scope.session is not None:
        raise ScopeError("this memory has a label, and sees no record of another; relabel with memory.unlabelled()")
    passing = core.filter(request, call)
    changed = await _relabelled(core, call, request, call.scope.wall, passing)
    if request.agent is not None and not request.ids:
        await _relabelled(core, call, request, call.scope.wall.inbox, Filter(agent=request.agent))
    return changed


async def _relabelled(core: Core, call: Call, request: requests.Relabel, wall: Wall, passing: Filter) -> int:
    there = call.at(replace(call.scope, tenant=wall.tenant))
    done = 0
    async for page in core.pages(wall.reach, passing):
        for start in range(0, len(page), _AT_ONCE):
            most = _AT_ONCE if request.limit is None else min(_AT_ONCE, request.limit - done)
            if most <= 0:
                return done
            ids = [each.id for each in page[start : start + _AT_ONCE]]
            done += await written(core, there, partial(_changes, core, there, request, ids, most), 20 * ATTEMPTS)
    return done


async def _changes(
    core: Core, call: Call, request: requests.Relabel, ids: Sequence[str], most: int
) -> tuple[list[Write], int]:
    """Return the writes that give some records their labels, as the records are now, and how many these are."""
    writes: list[Write] = []
    for old in await core.store.get(call.scope.wall, ids):
        label = await _earlier(core, old) if request.undo else request.to
        if isinstance(label, Unset) or label == old.scope.agent or request.agent not in (None, old.scope.agent):
            continue
        new = core.changed(old, replace(old, scope=replace(old.scope, agent=label)))
        put = await core.put(new, Action.REVISED, None, keep_index=True, source=request.source, relabels=True)
        writes.append(put)
        if len(writes) == most:
            break
    return writes, len(writes)


async def _earlier(core: Core, record: Record) -> Label | Unset:
    """Return the label that a record had before its last change of label; UNSET if it never had another."""
    if record.version == 1:
        return UNSET
    versions = [each.record for each in await core.store.history(record.scope.wall, record.id) if each.record]
    labels = [each.scope.agent for each in reversed(versions)]
    return next((each for each in labels if each != record.scope.agent), UNSET)
