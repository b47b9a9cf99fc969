"""The layer that embeds what was stored without vectors, behind the writes."""

import asyncio
import logging
from typing import TypeVar

from memorist.engine import upkeep
from memorist.engine.core import Layer
from memorist.errors import MemoristError
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.scope import Scope

T = TypeVar("T")
log = logging.getLogger("memorist.sweep")


class FillingEngine(Layer):
    """Begins to embed once records were stored with ``embed="behind"``, and ends that before it closes."""

    _is_open = False
    _filling: asyncio.Task[None] | None = None
    _unfilled = False

    async def open(self, call: Call) -> Scope:
        scope = await self._inner.open(call)
        self._is_open = True
        return scope

    async def close(self) -> None:
        if self._filling is not None and self._filling.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([self._filling])
        self._is_open = False
        await self._inner.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        given = await self._inner.answer(call, request)
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
                log.warning(
                    "some records have no vectors, so recall finds them by words only; run `memorist "
                    "reindex --missing`: %s",
                    error,
                )
