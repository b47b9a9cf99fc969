"""Handlers of the requests about the whole store: backup, check, reindex; and retention.

The rules of retention of a tenant are a topic of the server's tenant, in the store.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memorist.embedders import BatchedEmbedder
from memorist.engine.core import Core
from memorist.engine.purging import note_backup
from memorist.engine.writing import remember
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.recall import embedded, marks_of, parts_of, terms_of
from memorist.records.filters import make_filter
from memorist.records.record import Action, Draft, Kind, Record
from memorist.records.retention import FOREVER, RetentionReport, Rule, parse_rules
from memorist.records.scope import SERVER_TENANT, Reach, Scope, Wall
from memorist.stores import open_store
from memorist.stores.base import Remove, Staged, Vector
from memorist.system.offload import offload

_BATCH = 256


async def backup(core: Core, call: Call, request: requests.Backup) -> Path:
    """Copy the store to a new file, and open the copy to verify it."""
    call.scope.check_everyone()
    await note_backup(core, call, request.target)
    await core.store.backup(request.target)
    copy = open_store(replace(core.settings, index=None).with_given(url=request.target))
    try:
        await copy.open()
    finally:
        await copy.close()
    return request.target


async def check(core: Core, call: Call, request: requests.Check) -> list[str]:
    """Return the damage found in the store, in sentences."""
    call.scope.check_everyone()
    return await core.store.check()


async def reindex(core: Core, call: Call, request: requests.Reindex) -> int:
    """Embed every record again, in batches; a killed run is resumed. Vectors that would come out the same are kept."""
    call.scope.check_everyone()
    if request.missing:
        return await fill(core, request.progress)
    embedder = core.embedder.newest()
    await embedder.ready()
    fingerprint, done, total, zone = embedder.fingerprint, 0, 0, core.zone(call)
    stored = await core.store.fingerprint()
    while True:
        while rows := await core.store.to_reembed(fingerprint, _BATCH):
            total = total or await core.store.left_to_reembed(fingerprint)
            vectors = await _vectors(core, embedder, stored, rows)
            staged = [
                Staged(record.scope.wall, number, version, np.asarray(vector), terms_of(record), marks_of(record, zone))
                for (number, version, record), vector in zip(rows, vectors, strict=True)
            ]
            await core.store.stage(fingerprint, staged)
            for each in staged:
                core.note_stored(each.wall, 1)
            done += len(rows)
            if request.progress is not None:
                request.progress(done, max(done, total))
        if await core.store.adopt(fingerprint, embedder.dimensions):
            await core.embedder.suits(fingerprint)
            return done
        await asyncio.sleep(0)


async def fill(core: Core, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed what was stored without vectors; after each thousand the indexes are read anew, so not more often."""
    done, total = 0, await core.store.count_unembedded()
    while rows := await core.store.unembedded(4 * _BATCH):
        await core.embedder.ready()
        fingerprint, staged = core.embedder.fingerprint, list[Staged]()
        await core.store.bind(fingerprint, core.embedder.dimensions)
        for start in range(0, len(rows), _BATCH):
            some = rows[start : start + _BATCH]
            vectors = await embedded(core.embedder, [record for _, _, record in some])
            staged += [
                Staged(record.scope.wall, number, version, np.asarray(vector), "")
                for (number, version, record), vector in zip(some, vectors, strict=True)
            ]
            done += len(some)
            if progress is not None:
                progress(done, max(done, total))
        await core.store.fill(fingerprint, staged)
        for each in staged:
            core.note_stored(each.wall, 1)
    return done


async def _vectors(
    core: Core, embedder: BatchedEmbedder, stored: str | None, rows: Sequence[tuple[int, int, Record]]
) -> list[Vector]:
    """Return a vector for each record: the stored one where the embedder with the stored fingerprint gave it the same.

    If a record changes meanwhile, the store ignores what is staged for the version that was read.
    """
    records = [record for _, _, record in rows]
    kept = await offload(
        lambda: [all(embedder.keeps(stored or "", part) for part in parts_of(record)) for record in records], records
    )
    same = defaultdict[Wall, list[int]](list)
    for (number, _, record), keeps in zip(rows, kept, strict=True):
        if keeps:
            same[record.scope.wall].append(number)
    found = dict[tuple[Wall, int], Vector]()
    for wall, numbers in same.items():
        for number, vector in (await core.store.vectors(wall, numbers)).items():
            found[wall, number] = vector
    places = [(record.scope.wall, number) for number, _, record in rows]
    missing = [position for position, place in enumerate(places) if place not in found]
    if missing:
        made = await embedded(embedder, [records[position] for position in missing])
        found |= zip((places[position] for position in missing), made, strict=True)
    return [found[place] for place in places]


_KEY = "retention/"


async def retain(core: Core, call: Call, request: requests.Retain) -> list[Rule]:
    """Store the tenant's rules in place of those before."""
    call.scope.check_everyone()
    content = json.dumps([rule.to_dict() for rule in request.rules])
    draft = Draft(content=content, kind=Kind.TOPIC, key=_KEY + call.scope.tenant)
    await remember(core, call.at(Scope(SERVER_TENANT)), requests.Remember(records=(draft,), if_exists="replace"))
    return list(request.rules)


async def retention(core: Core, call: Call, request: requests.Retention) -> RetentionReport:
    """Return the tenant's rules, or the proposed rules, and how many records are too old by these rules."""
    call.scope.check_everyone()
    rules = request.rules
    if rules is None:
        rules = (await _rules(core, call.scope.tenant)).get(call.scope.tenant, ())
    due: Counter[str] = Counter()
    seen = set[tuple[Wall, str]]()
    async for wall, records in _overdue(core, call.scope.tenant, rules):
        due.update(str(record.kind) for record in records if (wall, record.id) not in seen)
        seen.update((wall, record.id) for record in records)
    return RetentionReport(rules, dict(sorted(due.items())))


async def sweep(core: Core, call: Call, request: requests.Sweep) -> int:
    """Delete the tenant's records that have expired or are too old by its rules."""
    call.scope.check_everyone()
    expired = await core.store.sweep(core.clock(), call.scope.tenant, act=call.act)
    return expired + await enforce(core, call, call.scope.tenant)


async def enforce(core: Core, call: Call, tenant: str | None = None) -> int:
    """Delete what is too old by the rules of a tenant, or (None) of every tenant; return how many records."""
    gone = 0
    for each, rules in (await _rules(core, tenant)).items():
        async for wall, records in _overdue(core, each, rules):
            moment = core.clock()
            over = [Remove(each.id, Action.EXPIRED, moment, version=each.version) for each in records]
            gone += sum(await core.store.write(wall, over, act=call.act))
    return gone


async def _rules(core: Core, tenant: str | None) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of a tenant, or (None) of every tenant, by tenant."""
    named: dict[str, Any] = {"key_prefix": _KEY} if tenant is None else {"key": _KEY + tenant}
    stored = make_filter(kind=Kind.TOPIC, **named)
    found = [each async for page in core.pages(Reach(SERVER_TENANT, (None,)), stored) for each in page]
    return {(each.key or "").removeprefix(_KEY): parse_rules("rules", json.loads(each.content)) for each in found}


async def _overdue(core: Core, tenant: str, rules: Iterable[Rule]) -> AsyncIterator[tuple[Wall, list[Record]]]:
    """Yield the records of a tenant that are too old, wall by wall."""
    now = core.clock()
    kept = [rule.filter(None) for rule in rules if rule.keep == FOREVER]
    for rule in rules:
        if rule.keep == FOREVER:
            continue
        async for page in core.pages(Reach(tenant, None), rule.filter(now)):
            walls: dict[Wall, list[Record]] = {}
            for record in page:
                if not any(filter.matches(record, now) for filter in kept):
                    walls.setdefault(record.scope.wall, []).append(record)
            for wall, records in walls.items():
                yield wall, records
