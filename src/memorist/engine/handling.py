"""The innermost engine of this process: each request goes to its handler, over one store and one embedder."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import tzinfo
from typing import Any, TypeAlias, TypeVar

from memorist.embedders import BundledEmbedder, CallableEmbedder, OnnxEmbedder
from memorist.engine import (
    auditing,
    deriving,
    inbox,
    purging,
    reading,
    redacting,
    relabelling,
    tidying,
    traces,
    upkeep,
    writing,
)
from memorist.engine.base import Engine
from memorist.engine.core import Core
from memorist.errors import EmbedderError, embedder_mismatch, embedder_resized
from memorist.operations import answers as results
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.origins import TrustRules
from memorist.records.scope import Scope
from memorist.records.times import Clock
from memorist.secrets import Policy
from memorist.system.offload import offload

T = TypeVar("T")
log = logging.getLogger("memorist.context")


async def _context(core: Core, call: Call, request: requests.Context) -> results.Context:
    from memorist.context import Reader, compose  # imported here, because a recall does not need it

    reads = reading.Reads(core, call)
    reader = Reader(reads.answer, reads.standing, call.scope.user, core.zone(call))
    told = await compose(reader, request, core.clock, core.trust(call.scope))
    log.debug("a context was made of %d recalls", reads.recalls)
    return told


Handler: TypeAlias = Callable[[Core, Call, Any], Awaitable[Any]]
_HANDLERS: Mapping[type[Request[Any]], Handler] = {
    requests.Remember: writing.remember,
    requests.Revise: writing.revise,
    requests.Rate: writing.rate,
    requests.Forget: inbox.forget_all,
    requests.Relabel: relabelling.relabel,
    requests.Purge: purging.purge,
    requests.Restore: writing.restore,
    requests.Recall: reading.recall,
    requests.Context: _context,
    requests.Recent: reading.recent,
    requests.Lookup: reading.lookup,
    requests.Get: reading.get,
    requests.Find: reading.find,
    requests.Browse: reading.browse,
    requests.Values: reading.values,
    requests.Count: reading.count,
    requests.Changes: reading.changes,
    requests.History: reading.history,
    requests.Vectors: reading.vectors,
    requests.Why: deriving.why,
    requests.Derived: deriving.derived,
    requests.Users: reading.users,
    requests.Traces: traces.traces,
    requests.Inbox: inbox.inbox,
    requests.Approve: inbox.approve,
    requests.Reject: inbox.reject,
    requests.Tidy: tidying.tidy,
    requests.Archive: tidying.archive,
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


class HandlingEngine(Engine):
    """Answers each request by its handler.

    Args:
        core: the store and the embedder; this engine opens and closes them.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

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
            await self._check_embedder()
            if core.settings.audit is not None:
                switched = call.of(f"audit {core.settings.audit}")
                await auditing.log_of(core).switch(core.settings.audit, switched.act)
        except BaseException:
            await core.store.close()
            raise
        return call.scope

    async def _check_embedder(self) -> None:
        """Refuse an embedder that is not that of the stored vectors, unless they are to be replaced.

        One that gets its fingerprint from a service is checked at the first vector, not here.
        """
        core = self._core
        stored = await core.store.fingerprint()
        if stored is not None and isinstance(core.embedder.inner, OnnxEmbedder | BundledEmbedder):
            with suppress(EmbedderError):  # reads its name only; a broken model is reported when it is used
                await core.embedder.suits(stored)
        if core.settings.reindexing:
            return
        if stored is not None and core.embedder.fingerprint not in ("", stored):
            raise embedder_mismatch(stored, core.embedder.fingerprint)
        await self._check_length()

    async def _check_length(self) -> None:
        """Refuse a function whose vectors are not as long as those in the store: its name tells no model."""
        core = self._core
        if isinstance(core.embedder.inner, CallableEmbedder) and (length := await core.store.dimensions()) is not None:
            with suppress(EmbedderError):  # one that fails now is reported when it is used
                await core.embedder.ready()
            if core.embedder.dimensions not in (0, length):
                raise embedder_resized(core.embedder.fingerprint, length, core.embedder.dimensions)

    async def close(self) -> None:
        """Close the store and the embedder."""
        await self._core.recaller.indexes.close()
        await self._core.keep_indexes()
        await self._core.store.close()
        await self._core.embedder.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        handler: Handler = inbox.propose if inbox.waits(request, self._core, call) else _HANDLERS[type(request)]
        given: T = await handler(self._core, call, request)
        return given

    async def prepare(self, call: Call, request: Request[Any]) -> None:
        """Embed the texts of records to be; the embedder keeps the vectors until the request comes."""
        if not isinstance(request, requests.Remember):
            return
        drafts = [draft for draft in request.records if draft.vector is None]
        moment, zone = self.clock(), self._core.zone(call)
        records = await offload(
            lambda: [each.to_record(call.scope, moment, call.door, zone) for each in drafts], drafts
        )
        await self._core.embed_ahead(records)
