"""An engine that makes a new database at its first request, so that a command that fails before leaves no file."""

import asyncio
from typing import TypeVar

from memorist.engine.base import WrappedEngine
from memorist.operations.calls import Call
from memorist.operations.requests import Remember, Request
from memorist.records.scope import Scope

T = TypeVar("T")


class EngineWhenAsked(WrappedEngine):
    """Opens another engine when it is asked for the first time.

    Args:
        inner: the engine that answers.
    """

    _opening: asyncio.Task[Scope] | None = None

    async def open(self, call: Call) -> Scope:
        """Return the scope; the inner engine is opened later."""
        return call.scope

    async def answer(self, call: Call, request: Request[T]) -> T:
        """Return the inner engine's answer; it is opened once the records to be are found right."""
        if self._opening is None and isinstance(request, Remember):
            for draft in request.records:
                draft.to_record(call.scope, self.clock(), call.door, call.zone or self.zone)
        if self._opening is None:
            self._opening = asyncio.create_task(self._inner.open(call))
        await self._opening
        return await self._inner.answer(call, request)
