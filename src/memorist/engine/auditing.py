"""Handlers of the requests about the audit log, and the layer that notes reads."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from memorist.audit.log import CHECKPOINT, AuditEntry, Counts
from memorist.audit.signing import key_file, signed
from memorist.engine.core import Core, Layer
from memorist.errors import InvalidInputError
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.codec import Plain
from memorist.records.record import Record
from memorist.records.times import iso
from memorist.stores.audit import AuditLog
from memorist.system.hints import fields_of

T = TypeVar("T")
_MODE_KEPT = timedelta(minutes=1)
_UNNOTED = (requests.Audit, requests.Checkpoint, requests.Purge)


def log_of(core: Core) -> AuditLog:
    """Return the store's audit log.

    Raises:
        InvalidInputError: the store has none.
    """
    if core.store.audit is None:
        raise InvalidInputError(f"{core.store} keeps no audit log; SQLite and postgresql://… do")
    return core.store.audit


async def entries(core: Core, call: Call, request: requests.Audit) -> list[AuditEntry]:
    """Return the entries about the scope's user; without a user all entries of the store."""
    wall = None if call.scope.user is None else call.scope.wall
    return await log_of(core).entries(request.after, request.limit, wall)


async def checkpoint(core: Core, call: Call, request: requests.Checkpoint) -> dict[str, Any]:
    """Return the number and the hash of the last entry, signed."""
    call.scope.check_everyone()
    last = await log_of(core).last()
    number, hash = (0, "") if last is None else (last.number, last.hash)
    statement = {"type": CHECKPOINT, "at": iso(core.clock()), "number": number, "hash": hash}
    return signed(statement, key_file(core.settings.signing_key))


class AuditingEngine(Layer):
    """Notes reads in the audit log, where the store's mode says so; the mode is read once a minute."""

    _noted = False
    _asked: datetime | None = None

    async def answer(self, call: Call, request: Request[T]) -> T:
        given = await self._inner.answer(call, request)
        if not request.writes:
            await self._note(call, request, given)
        return given

    async def _note(self, call: Call, request: Request[Any], answer: Any) -> None:
        """Note a read, durably."""
        log, moment = self._core.store.audit, self._core.clock()
        if log is None or isinstance(request, _UNNOTED):
            return
        if self._asked is None or moment - self._asked >= _MODE_KEPT:
            self._noted, self._asked = await log.mode() == "reads", moment
        if self._noted:
            if isinstance(request, requests.Values):
                kinds = [kind for kind, *_ in answer]
            else:
                kinds = [each.kind for each in _records_in(answer)]
            await log.note(call.scope.wall, Counts(("read", str(kind)) for kind in kinds), call.act)


def _records_in(answer: Any) -> Iterator[Record]:
    """Yield the records that an answer shows."""
    if isinstance(answer, Record):
        yield answer
    elif isinstance(answer, list | tuple | Plain):
        inner = answer if not isinstance(answer, Plain) else [getattr(answer, name) for name in fields_of(type(answer))]
        for each in inner:
            yield from _records_in(each)
