"""The engine in this process: handlers over a store and an embedder, and a layer for each thing done around them."""

from typing import Any, TypeVar

from memorist.config import Settings
from memorist.engine.auditing import AuditingEngine
from memorist.engine.base import Engine, WrappedEngine
from memorist.engine.core import Core
from memorist.engine.filling import FillingEngine
from memorist.engine.handling import HandlingEngine
from memorist.engine.languages import AdvisingEngine
from memorist.engine.retrying import RetryingEngine
from memorist.engine.sweeping import SweepingEngine
from memorist.engine.traces import TraceKeepingEngine
from memorist.errors import ClosedError, ScopeError, shown
from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.scope import INBOX_PREFIX, Scope

T = TypeVar("T")


class LocalEngine(WrappedEngine):
    """Answers requests from a store that this process opens, while it is open.

    Args:
        settings: the store, the embedder, and the memory that they may use.
    """

    def __init__(self, settings: Settings) -> None:
        self._core = Core(settings)
        super().__init__(_layers(self._core))
        self._is_open = False

    async def open(self, call: Call) -> Scope:
        """Open the store, and check that its vectors come from this embedder."""
        scope = await self._inner.open(call)
        self._is_open = True
        return scope

    async def close(self) -> None:
        """Close the store and the embedder, once what is embedded behind its writes has its vectors."""
        if self._is_open:
            self._is_open = False
            await self._inner.close()

    async def answer(self, call: Call, request: Request[T]) -> T:
        if not self._is_open:
            raise ClosedError("the memory is not open; open it with `Memory.open(...)` in a `with` or `async with`")
        if call.scope.tenant.startswith(INBOX_PREFIX):
            raise ScopeError(f"the tenant {shown(call.scope.tenant)} is reserved by the store")
        return await self._inner.answer(call.of(request.verb), request)

    async def prepare(self, call: Call, request: Request[Any]) -> None:
        if self._is_open:
            await self._inner.prepare(call, request)


def _layers(core: Core) -> Engine:
    """Return the layers, each around those above it."""
    engine: Engine = HandlingEngine(core)
    if core.settings.keep_traces:
        engine = TraceKeepingEngine(engine, core)
    engine = RetryingEngine(engine, core)
    engine = AdvisingEngine(engine, core)
    engine = AuditingEngine(engine, core)
    engine = FillingEngine(engine, core)
    return SweepingEngine(engine, core)
