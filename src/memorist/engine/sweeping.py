"""The layer that deletes what has expired or is too old, while a store is written."""

import logging
from datetime import datetime, timedelta
from typing import TypeVar

from memorist.engine import upkeep
from memorist.engine.base import Engine
from memorist.engine.core import Core, Layer
from memorist.errors import MemoristError
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.scope import Scope

T = TypeVar("T")
log = logging.getLogger("memorist.sweep")
_SWEEP_EVERY = timedelta(minutes=1)
_ENFORCE_EVERY = timedelta(hours=1)


class SweepingEngine(Layer):
    """Sweeps the store when it is opened and then before a write, at most once a minute."""

    def __init__(self, inner: Engine, core: Core) -> None:
        super().__init__(inner, core)
        self._swept = core.clock()
        self._enforced: datetime | None = None

    async def open(self, call: Call) -> Scope:
        scope = await self._inner.open(call)
        try:
            await self._sweep(self._core.clock(), call)
        except BaseException:
            await self._inner.close()
            raise
        return scope

    async def answer(self, call: Call, request: Request[T]) -> T:
        if request.writes and not isinstance(request, requests.Sweep):
            moment = self._core.clock()
            if moment - self._swept >= _SWEEP_EVERY:
                self._swept = moment
                await self._sweep(moment, call)
        return await self._inner.answer(call, request)

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
            log.warning("the sweep of expired and outdated records failed and will be retried: %s", error)
