"""Secrets that are stored already: where they are, and masking them in records, histories and indexes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace

from memorist.engine.cleaning import forms_in, may_change, with_texts
from memorist.engine.core import Core
from memorist.errors import ConflictError
from memorist.operations import requests
from memorist.operations.answers import Exposed
from memorist.operations.calls import Call
from memorist.records.filters import Filter
from memorist.records.fingerprints import with_changed_texts
from memorist.records.kind import Kind
from memorist.records.record import Action, Record
from memorist.records.scope import INBOX_PREFIX, TRACES_PREFIX, Reach, Wall
from memorist.secrets import masked
from memorist.stores.base import Remove, Write
from memorist.system.offload import offload

_EVERYTHING = Filter(superseded=True, expired=True)
_PLACES = (("", "record"), (TRACES_PREFIX, "trace"), (INBOX_PREFIX, "proposal"))
"""The prefixes of the tenants where a tenant's records are, and what is there."""
_TRIES = 10
"""How often a record is read again that others change at the same moment."""


async def secrets(core: Core, call: Call, request: requests.Secrets) -> list[Exposed]:
    """Return what holds a secret behind the walls of a tenant; mask it where that is asked for."""
    call.scope.check_everyone()
    found = [each async for each in _exposed(core, call.scope.tenant)]
    if request.redact:
        await _redact_all(core, call, [record for record, _ in found if may_change(record)])
    return [exposed for _, exposed in found]


async def _exposed(core: Core, tenant: str) -> AsyncIterator[tuple[Record, Exposed]]:
    for prefix, where in _PLACES:
        async for page in core.pages(Reach(prefix + tenant, None), _EVERYTHING):
            forms = await offload(lambda page=page: [forms_in(record) for record in page], page)  # type: ignore[misc]
            for record, present in zip(page, forms, strict=True):
                if held := present or await _in_history(core, record):
                    place = "state" if record.kind is Kind.STATE else where if present else "history"
                    yield record, Exposed(record.id, record.scope.user, str(record.kind), place, tuple(held))


async def _in_history(core: Core, record: Record) -> list[str]:
    """Return the forms of secrets in the earlier versions of a record."""
    if record.version == 1:
        return []
    history = await core.store.history(record.scope.wall, record.id)
    return list(dict.fromkeys(form for each in history if each.record is not None for form in forms_in(each.record)))


async def _redact_all(core: Core, call: Call, found: Sequence[Record]) -> None:
    """Mask each record that was found, then remove its old bytes.

    The bytes go even if nothing was found or an error comes between: a run that ended early may have masked the
    records and left their bytes, which no other run would find.

    Raises:
        ConflictError: others changed a record again and again; the rest is masked.
    """
    changing = []
    try:
        for record in found:
            if not await _redact(core, call, record):
                changing.append(repr(record.id))
    finally:
        walls = {record.scope.wall for record in found}
        for wall in walls:
            core.recaller.indexes.drop(wall)
        own = (Wall(prefix + call.scope.tenant, None) for prefix, _ in _PLACES)
        await core.store.scrub(*walls.union(own))
    if changing:
        named = ", ".join(changing[:3])
        raise ConflictError(f"everything is masked except {named}, which others kept changing; run the redaction again")


async def _redact(core: Core, call: Call, found: Record) -> bool:
    """Mask a record as it is now, if it is still there; return False if others changed it each time.

    It may have been revised, forgotten or purged since it was found, a trace gone with a record that it quotes.
    """
    wall = found.scope.wall
    for _ in range(_TRIES):
        writes: list[Write] = [Remove(found.id, Action.EXPIRED, core.clock(), version=0)]  # only if it has expired
        if there := await core.store.get(wall, [found.id]):
            writes = await _redacted(core, there[0])
        with suppress(ConflictError):
            await core.store.write(wall, writes, act=call.act)
            return True
    return False


async def _redacted(core: Core, record: Record) -> list[Write]:
    """Return the writes that put a masked record in the place of one, whose history goes with it."""
    gone = Remove(record.id, Action.FORGOTTEN, core.clock(), version=record.version, must=True)
    if record.scope.tenant.startswith(TRACES_PREFIX):
        return [gone]
    versions = [
        each.record for each in await core.store.history(record.scope.wall, record.id) if each.record is not None
    ]
    payload = with_changed_texts(dict(record.payload), versions, masked)
    new = with_texts(replace(record, payload=payload), masked)
    quotes = frozenset[tuple[Wall, str]]()
    if record.scope.tenant.startswith(INBOX_PREFIX):
        told = Wall(record.scope.tenant.removeprefix(INBOX_PREFIX), record.scope.user)
        quotes = frozenset((told, id) for id in record.payload.get("ids", ()))
    [vector] = await core.embed([new], [None])
    return [gone, await core.put(new, Action.REMEMBERED, vector, expected=0, quotes=quotes)]
