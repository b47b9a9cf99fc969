"""Idempotency keys: a request that is retried because its answer was lost is carried out only once.

A stored key holds no text and no name, only hashes, versions, numbers and receipts, so that nothing of a user is left
after a purge; the answer is rebuilt from the records' history. A key is stored as a topic of the server's tenant, in
the same store as the records, and expires after a day.

`remember` leaves its mark in the records themselves: their ids are made from the key. So there is no moment at
which a crash could leave records without a trace of the request that stored them. For ids of the caller's own, the key
is stored before the records: what was stored under such an id earlier is not this request's.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from memorist.engine.cleaning import cleaned
from memorist.errors import ConflictError
from memorist.memory import Memory
from memorist.operations.requests import Remember
from memorist.records.record import Action, Change, Draft, Kind, Record
from memorist.records.scope import SERVER_TENANT
from memorist.serve.rest.problems import KeyReusedError
from memorist.system.offload import offload

_KEEP = 24 * 3600.0
_RUNNING = timedelta(minutes=2)
"""After this time an unfinished call is considered cut off by a crash, and may be repeated."""
_WORKED_ON = "the same request is still in progress; try again in a second"
_REUSED = "the Idempotency-Key was used with another request; use a new key for each request"
_COMPARED = ("content", "kind", "cue", "key", "metadata", "payload", "happened_at")

Outcome: TypeAlias = dict[str, Any]
Settle: TypeAlias = Callable[[datetime], Awaitable[Outcome | None]]


class Ledger:
    """The outcomes of requests with a key.

    Args:
        memory: any memory of the store that is bound to no tenant or user.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory.scoped(tenant=SERVER_TENANT)

    async def once(
        self,
        key: str,
        memory: Memory,
        request: str,
        work: Callable[[], Awaitable[Outcome]],
        done_since: Settle | None = None,
    ) -> tuple[Outcome, bool]:
        """Do the work, unless it was done before under this key; return what came of it and whether it was new.

        Args:
            key: the caller's.
            memory: whose request it is; two users may have the same key.
            request: the fingerprint of what is asked.
            work: does it and returns the numbers to keep. If it raises, nothing is kept.
            done_since: looks whether it was done since a time, for a call that a crash cut off; None where doing
                it again changes nothing.

        Raises:
            KeyReusedError: the key came before with another request.
            ConflictError: the same request is being worked on.
        """
        name = f"call/{_mark(memory, key)}"
        begun = json.dumps({"request": request})
        entry = await self._memory.lookup(name)
        cut_off = entry
        if entry is not None:
            if (outcome := _outcome(entry, request)) is not None:
                return outcome, False
            if self._memory.clock() - entry.created_at < _RUNNING or not await self._memory.forget(entry.id):
                raise ConflictError(_WORKED_ON)
        try:
            entry = await self._memory.remember(begun, kind=Kind.TOPIC, key=name, expires_at=_KEEP)
        except ConflictError as error:
            raise ConflictError(_WORKED_ON) from error
        try:
            found = None
            if cut_off is not None and done_since is not None:
                found = await done_since(cut_off.created_at)
            outcome = await work() if found is None else found
        except BaseException:
            await self._memory.forget(entry.id)
            raise
        done = json.dumps({"request": request, "outcome": outcome})
        await self._memory.revise(entry.id, content=done, expires_at=_KEEP)
        return outcome, found is None

    async def begun(self, key: str, memory: Memory, request: str) -> Record:
        """Return the entry made when a key came first, for a request that notes no outcome.

        Raises:
            KeyReusedError: the key came before with another request.
        """
        name, begun = f"call/{_mark(memory, key)}", json.dumps({"request": request})
        entry = await self._memory.remember(begun, kind=Kind.TOPIC, key=name, expires_at=_KEEP, if_exists="ignore")
        _outcome(entry, request)
        return entry

    async def forget(self, entry: Record) -> None:
        """Forget a key whose request has failed."""
        await self._memory.forget(entry.id)


def _outcome(entry: Record, request: str) -> Outcome | None:
    """Return what came of a call; None while it is worked on, or where a crash cut it off."""
    plain = json.loads(entry.content)
    if plain["request"] != request:
        raise KeyReusedError(_REUSED)
    found: Outcome | None = plain.get("outcome")
    return found


def fingerprint(*parts: Any) -> str:
    """Return a request's fingerprint: a hash that reveals nothing of it."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


async def original(memory: Memory, id: str, version: int) -> Record:
    """Return a record as it was at a version, for the answer that was lost.

    Raises:
        ConflictError: it has been forgotten since.
    """
    for change in await memory.history(id):
        if change.record is not None and change.record.version == version:
            return change.record
    raise ConflictError("the call took effect, and its record was forgotten afterwards")


async def remember_once(ledger: Ledger, memory: Memory, key: str, request: Remember, asked: str) -> list[Record]:
    """Remember the drafts under ids made from the key, or return what they became when they came before.

    Args:
        ledger: notes the key where the caller names ids.
        memory: whose request it is.
        key: the caller's.
        request: what to remember.
        asked: the fingerprint of the request.

    Raises:
        KeyReusedError: the key came before with other records.
        ConflictError: an id is taken, or what came before has been forgotten since.
    """
    mark, drafts = _mark(memory, key), request.records
    named = [
        replace(draft, id=f"{mark[:24]}{position:08x}") if draft.id is None else draft
        for position, draft in enumerate(drafts)
    ]
    entry = await ledger.begun(key, memory, asked) if any(draft.id is not None for draft in drafts) else None
    since = None if entry is None else entry.created_at
    if (before := await _remembered(memory, named, since)) is not None:
        return before
    try:
        return await memory.ask(replace(request, records=tuple(named)))
    except ConflictError:  # perhaps by the same request, a moment earlier
        if (before := await _remembered(memory, named, since)) is not None:
            return before
        if entry is not None:
            await ledger.forget(entry)
        raise


async def _remembered(memory: Memory, named: Sequence[Draft], since: datetime | None) -> list[Record] | None:
    """Return the records as they were first stored, or None where there are none of this request.

    Where ids are the caller's own, `since` is when the key came first.
    """
    first: list[Record] = []
    for draft in named:
        change = await _begun(memory, draft)
        if change is None or (since is not None and change.at < since):
            if since is not None or not first:
                return None
            raise KeyReusedError(_REUSED)
        if change.record is None:
            raise ConflictError("the record that this Idempotency-Key stored was forgotten afterwards")
        if await _differs(memory, draft, change.record):
            if since is not None:
                return None  # another has taken the id meanwhile: the verb raises
            raise KeyReusedError(_REUSED)
        first.append(change.record)
    return first or None


async def _begun(memory: Memory, draft: Draft) -> Change | None:
    """Return the change that stored the last record with a draft's id, which may have been given before."""
    changes = await memory.history(draft.id or "")
    begun = [change for change in changes if change.action is Action.REMEMBERED] or changes
    return begun[-1] if begun else None


async def _differs(memory: Memory, draft: Draft, record: Record) -> bool:
    wanted = await offload(partial(_stored, draft, memory, record.created_at), draft)
    return any(getattr(record, name) != getattr(wanted, name) for name in _COMPARED)


def _stored(draft: Draft, memory: Memory, created_at: datetime) -> Record:
    """Return a draft as the verb stores it."""
    return cleaned(draft.to_record(memory.scope, created_at, memory.door, memory.zone), memory.secrets, warns=False)


def _mark(memory: Memory, key: str) -> str:
    scope = memory.scope
    return fingerprint(scope.tenant, scope.user, scope.agent, scope.session, key)
