"""The engine in this process: a store, an embedder and the ranking, each request answered by its handler."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Any, TypeVar

from memorist.config import Settings
from memorist.embedders import BundledEmbedder, CallableEmbedder, OnnxEmbedder
from memorist.engine import auditing, deriving, inbox, purging, reading, redacting, upkeep, writing
from memorist.engine.base import Engine
from memorist.engine.core import Core
from memorist.engine.languages import told_of_languages
from memorist.engine.traces import Tracer, traces
from memorist.errors import (
    ClosedError,
    EmbedderError,
    EmbedderMismatchError,
    MemoristError,
    ScopeError,
    embedder_mismatch,
    embedder_resized,
    shown,
)
from memorist.operations import answers as results
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.origins import TrustRules
from memorist.records.scope import INBOX_PREFIX, Scope
from memorist.records.times import Clock
from memorist.secrets import Policy
from memorist.system.aside import aside

T = TypeVar("T")
log = logging.getLogger("memorist.sweep")
_SWEEP_EVERY = timedelta(minutes=1)
_ENFORCE_EVERY = timedelta(hours=1)
_MOST_READ = 1000
"""So many records are read to see what languages they are in."""


async def _context(core: Core, call: Call, request: requests.Context) -> results.Context:
    from memorist.context import Reader, tell  # imported here, because a recall does not need it

    standing = partial(reading.standing, core, call)
    reader = Reader(partial(_answer, core, call), standing, call.scope.user, core.zone(call))
    return await tell(reader, request, core.clock, core.trust(call.scope))


_HANDLERS: Mapping[type[Request[Any]], Callable[[Core, Call, Any], Awaitable[Any]]] = {
    requests.Remember: writing.remember,
    requests.Revise: writing.revise,
    requests.Rate: writing.rate,
    requests.Forget: inbox.forget_all,
    requests.Purge: purging.purge,
    requests.Restore: writing.restore,
    requests.Recall: reading.recall,
    requests.Context: _context,
    requests.Recent: reading.recent,
    requests.Lookup: reading.lookup,
    requests.Get: reading.get,
    requests.Find: reading.find,
    requests.Browse: reading.browse,
    requests.Count: reading.count,
    requests.Changes: reading.changes,
    requests.History: reading.history,
    requests.Vectors: reading.vectors,
    requests.Why: deriving.why,
    requests.Derived: deriving.derived,
    requests.Users: reading.users,
    requests.Traces: traces,
    requests.Inbox: inbox.inbox,
    requests.Keep: inbox.keep,
    requests.Drop: inbox.drop,
    requests.Backup: upkeep.backup,
    requests.Check: upkeep.check,
    requests.Reindex: upkeep.reindex,
    requests.Audit: auditing.entries,
    requests.Retain: upkeep.retain,
    requests.Retention: upkeep.retention,
    requests.Sweep: upkeep.sweep,
    requests.Secrets: redacting.secrets,
    requests.Checkpoint: auditing.checkpoint,
}


def _answer(core: Core, call: Call, request: Request[Any]) -> Awaitable[Any]:
    if inbox.waits(request, core, call):
        return inbox.propose(core, call, request)
    return _HANDLERS[type(request)](core, call, request)


class LocalEngine(Engine):
    """Answers requests from a store that this process opens.

    Args:
        settings: the store, the embedder, and the memory that they may use.
    """

    def __init__(self, settings: Settings) -> None:
        self._core = Core(settings)
        self._tracer = Tracer(self._core) if settings.keep_traces else None
        self._is_open = False
        self._swept = settings.clock()
        self._enforced: datetime | None = None
        self._told = False
        self._reads = auditing.Reads(self._core)
        self._filling: asyncio.Task[None] | None = None
        self._unfilled = False

    @property
    def clock(self) -> Clock:
        return self._core.clock

    @property
    def trust(self) -> TrustRules:
        return self._core.settings.trust

    @property
    def secrets(self) -> Policy | None:
        return self._core.settings.secrets

    @property
    def zone(self) -> tzinfo:
        return self._core.default_zone

    async def open(self, call: Call) -> Scope:
        """Open the store, and check that its vectors come from this embedder."""
        core = self._core
        try:
            await core.store.open()
            stored = await core.store.fingerprint()
            if stored is not None and isinstance(core.embedder.inner, OnnxEmbedder | BundledEmbedder):
                with suppress(EmbedderError):  # reads its name only; a broken model is reported when it is used
                    await core.embedder.suits(stored)
            # An embedder that gets its fingerprint from a service is checked at the first vector, not here.
            known = ("", stored)
            if stored is not None and core.embedder.fingerprint not in known and not core.settings.reindexing:
                raise embedder_mismatch(stored, core.embedder.fingerprint)
            if not core.settings.reindexing:
                await self._check_length()
            if core.settings.audit is not None:
                switched = call.of(f"audit {core.settings.audit}")
                await auditing.log_of(core).switch(core.settings.audit, switched.act)
            await self._sweep(core.clock(), call)
        except BaseException:
            await core.store.close()
            raise
        self._is_open = True
        return call.scope

    async def _check_length(self) -> None:
        """Refuse a function whose vectors are not as long as those in the store: its name tells no model."""
        core = self._core
        if isinstance(core.embedder.inner, CallableEmbedder) and (length := await core.store.dimensions()) is not None:
            with suppress(EmbedderError):  # one that fails now is reported when it is used
                await core.embedder.ready()
            if core.embedder.dimensions not in (0, length):
                raise embedder_resized(core.embedder.fingerprint, length, core.embedder.dimensions)

    async def close(self) -> None:
        """Close the store and the embedder, once what is embedded behind its writes has its vectors."""
        if self._is_open:
            if self._filling is not None and self._filling.get_loop() is asyncio.get_running_loop():
                await asyncio.wait([self._filling])
            self._is_open = False
            if self._tracer is not None:
                await self._tracer.settled()
            await self._core.recaller.indexes.close()
            await self._core.keep_indexes()
            await self._core.store.close()
            await self._core.embedder.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        if not self._is_open:
            raise ClosedError("the memory is not open; open it with `Memory.open(...)` in a `with` or `async with`")
        if call.scope.tenant.startswith(INBOX_PREFIX):
            raise ScopeError(f"the tenant {shown(call.scope.tenant)} is the store's own")
        call = call.of(request.verb)
        if request.writes and not isinstance(request, requests.Sweep):
            moment = self._core.clock()
            if moment - self._swept >= _SWEEP_EVERY:
                self._swept = moment
                await self._sweep(moment, call)
        answer: Callable[[Call], Awaitable[Any]] = partial(_answer, self._core, request=request)
        if self._tracer is not None:
            if isinstance(request, requests.Recall | requests.Context) and call.door.traced:
                answer = partial(self._tracer.traced, request=request, answer=answer)
            elif isinstance(request, requests.Traces | requests.Secrets):
                await self._tracer.settled()
        try:
            given: T = await answer(call)
        except EmbedderMismatchError:  # another process has reindexed the store since this one opened it
            stored = await self._core.store.fingerprint()
            if stored is None or not await self._core.embedder.suits(stored):
                raise
            given = await answer(call)
        if isinstance(request, requests.Recall) and not self._told:
            self._told = True  # once, what another version's vectors do not know of the caller's records
            core = self._core
            if isinstance(core.embedder.inner, BundledEmbedder):
                with suppress(MemoristError):
                    if told := await told_of_languages(core.store, core.embedder.inner, call.scope.reach(), _MOST_READ):
                        logging.getLogger("memorist.languages").warning("%s", told)
        if not request.writes:
            await self._reads.note(call, request, given)
        if isinstance(request, requests.Remember) and request.embed == "behind":
            self._unfilled = True
            if self._filling is None or self._filling.done():
                self._filling = asyncio.create_task(self._fill())
        return given

    async def _fill(self) -> None:
        """Embed what was stored without vectors. What a kill or a failure leaves, the next such write or reindex does.

        Nobody waits for it, so a failure is logged.
        """
        while self._unfilled and self._is_open:
            self._unfilled = False
            try:
                await upkeep.fill(self._core)
            except MemoristError as error:
                log.warning("some records are found by their words alone until `reindex`: %s", error)

    async def prepare(self, call: Call, request: Request[Any]) -> None:
        """Embed the texts of records to be; the embedder keeps the vectors until the request comes."""
        if isinstance(request, requests.Remember) and self._is_open:
            drafts = [draft for draft in request.records if draft.vector is None]
            moment, zone = self.clock(), self._core.zone(call)
            records = await aside(
                lambda: [each.to_record(call.scope, moment, call.door, zone) for each in drafts], drafts
            )
            await self._core.embed_ahead(records)

    async def _sweep(self, moment: datetime, call: Call) -> None:
        """Delete expired records and, once an hour, those that are too old; a failed sweep is logged and repeated.

        The sweep runs during a caller's write, which must not fail because of the sweep.
        """
        before = self._enforced
        try:
            await self._core.store.sweep(moment, act=call.of("sweep").act)
            if before is None or moment - before >= _ENFORCE_EVERY:
                self._enforced = moment
                await upkeep.enforce(self._core, call.of("retention"))
        except MemoristError as error:
            self._enforced = before
            log.warning("expired and outdated records were not deleted now, but will be: %s", error)
