"""Purging a user: everything in the store, the caches and the index, the search for what is left, and the receipt."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from memorist.audit.log import AuditEntry
from memorist.audit.signing import key_file, signed
from memorist.engine.core import Core
from memorist.engine.writing import forget
from memorist.operations import requests
from memorist.operations.answers import DRY_RUN, RECEIPT, Receipt, subject_hash
from memorist.operations.calls import Call
from memorist.records.filters import Filter, make_filter
from memorist.records.record import Action, Draft, Kind
from memorist.records.scope import SERVER_TENANT, Reach, Scope, Wall
from memorist.records.times import iso, parse_expiry
from memorist.stores.sqlite.searching import held_by

_SERVER = Scope(SERVER_TENANT)
_RECORDS = 100
"""The records, newest first, whose texts are searched for after a purge."""
_PIECE = 40
_SHORTEST = 5
"""Bytes of a text that is searched for; a shorter text occurs by chance in gigabytes of vectors."""
_BACKUPS = "backup/"
_EVERYTHING = Filter(superseded=True, expired=True)
_PROPOSALS = make_filter(payload={"verb": {"$exists": True}}, superseded=True, expired=True)
_KEPT = 400 * 86_400.0
"""Seconds for which a backup is remembered."""


async def purge(core: Core, call: Call, request: requests.Purge) -> Receipt:
    """Delete everything behind a wall, and the user's tokens; search for what is left, and return the receipt.

    The receipt of a dry run says what would be deleted, and where it would be searched for.
    """
    wall, file, dry_run = request.wall_of(call.scope).wall, key_file(core.settings.signing_key), request.dry_run
    if not dry_run:
        signed({}, file)  # raises before anything is deleted if the receipt cannot be signed
    texts = await _texts_of(core, wall)
    tokens = await _count_tokens(core, call, wall)
    # any trace may quote shared records
    quoting = Reach(wall.traces.tenant, None if wall.user is None else (wall.user,))
    traces = await core.store.count(quoting, _EVERYTHING)
    proposals = await core.store.count(wall.inbox.reach, _PROPOSALS)
    kinds = await (_counted(core, wall) if dry_run else _deleted(core, call, wall))
    found = await core.store.search(wall, texts)
    backups = [copy async for copy in _backups(core, wall, texts)]
    last = await _last_entry(core)
    salt = secrets.token_hex(16)
    statement = {
        "type": DRY_RUN if dry_run else RECEIPT,
        "at": iso(core.clock()),
        "door": call.door.name,
        "token": call.token,
        "tenant": wall.tenant,
        "subject": None if wall.user is None else {"salt": salt, "hash": subject_hash(salt, wall.user)},
        "records": dict(sorted(kinds.items())),
        "tokens": tokens,
        "traces": traces,
        "proposals": proposals,
        "texts": len(texts),
        "searched": [{"where": place.where} if dry_run else place._asdict() for place in found.places],
        "copies": [*backups, *found.copies],
        "audit": None if last is None else {"number": last.number, "hash": last.hash},
    }
    unsigned = {"signature": None, "unsigned": "it is a dry run, and nothing was deleted"}
    return Receipt(statement | unsigned if dry_run else signed(statement, file))


async def _count_tokens(core: Core, call: Call, wall: Wall) -> int:
    if wall.user is None:
        return 0
    return await core.store.count(_SERVER.reach(), core.filter(_tokens(wall), call.at(_SERVER)))


async def _last_entry(core: Core) -> AuditEntry | None:
    """Return the last entry of the audit log, where one is kept."""
    log = core.store.audit
    if log is None or await log.mode() == "off":
        return None
    return await log.last()


def _tokens(wall: Wall) -> requests.Forget:
    return requests.Forget(kind=Kind.TOPIC, where={"tenant": wall.tenant, "user": wall.user})


async def _counted(core: Core, wall: Wall) -> Counter[str]:
    """Return how many records of each kind are behind a wall."""
    reach, found = wall.reach, Counter[str]()
    for kind in Kind:
        found[str(kind)] = await core.store.count(reach, replace(_EVERYTHING, kinds=frozenset([kind])))
    return +found


async def _deleted(core: Core, call: Call, wall: Wall) -> Counter[str]:
    """Delete everything behind a wall, and return how many records of each kind are gone."""
    if wall.user is not None:  # tokens first, because their bytes hold the user's name and must be erased by the purge
        await forget(core, call.at(_SERVER), _tokens(wall))
    traces = {wall.traces, wall.inbox}
    if wall.user is None:  # any user's traces may quote shared records
        pages = core.pages(Reach(wall.traces.tenant, None), _EVERYTHING)
        traces |= {trace.scope.wall async for page in pages for trace in page}
    kinds = await core.store.purge(wall, *traces, act=call.act)
    core.recaller.indexes.drop(wall)
    return kinds


async def _texts_of(core: Core, wall: Wall) -> list[str]:
    """Return texts that belong to a user: the name, ids, keys, and pieces of contents of the newest records."""
    records = [
        record
        for reach in (wall.reach, wall.inbox.reach)
        for record in await core.store.select(reach, _EVERYTHING, order="newest", limit=_RECORDS)
    ]
    held = ((record.id, record.key or "", record.content.strip()[:_PIECE]) for record in records)
    texts = [wall.user or "", *(text for some in held for text in some)]
    return list(dict.fromkeys(text for text in texts if len(text.encode()) >= _SHORTEST))


async def note_backup(core: Core, call: Call, target: Path) -> None:
    """Remember where a backup is made, before it is: a later receipt names it."""
    now = core.clock()
    draft = Draft(
        content=json.dumps({"path": str(target), "at": iso(now)}),
        kind=Kind.TOPIC,
        key=f"{_BACKUPS}{secrets.token_hex(8)}",
        expires_at=parse_expiry(_KEPT, now),
    )
    [record] = core.stamp([draft], call.at(_SERVER))
    await core.store.write(_SERVER.wall, [await core.put(record, Action.REMEMBERED, None)], act=call.act)


async def _backups(core: Core, wall: Wall, texts: list[str]) -> AsyncIterator[str]:
    """Yield each backup that was made with this store, and what it still holds of a wall."""
    noted = make_filter(kind=Kind.TOPIC, key_prefix=_BACKUPS)
    for record in await core.store.select(_SERVER.reach(), noted, order="oldest", limit=10_000):
        made = json.loads(record.content)
        path = Path(made["path"])
        held = "it no longer exists; whoever moved or downloaded it still has its content"
        if path.exists():
            held = await asyncio.to_thread(held_by, path, wall, texts, encrypted=core.settings.key_from is not None)
        yield f"backup of {made['at'][:16]} at {path}: {held}"
