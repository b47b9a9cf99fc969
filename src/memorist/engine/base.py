"""The protocol of an engine."""

from abc import ABC, abstractmethod
from datetime import tzinfo
from typing import Any, TypeVar

from memorist.operations.calls import Call
from memorist.operations.requests import Request
from memorist.records.origins import TrustRules
from memorist.records.scope import Scope
from memorist.records.times import Clock, now
from memorist.records.zones import machine_zone
from memorist.secrets import Policy

T = TypeVar("T")


class Engine(ABC):
    """Answers the requests of calls, each in the caller's scope. Every `Memory` of one `open` shares one engine.

    Every method may be called from any thread and any event loop.
    """

    remote: bool = False
    """Whether another process answers."""

    @property
    def clock(self) -> Clock:
        """Returns the present, in UTC: `Settings.clock`; at a server, this machine's time."""
        return now

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted: `Settings.trust`; at a server, the server's rules."""
        return TrustRules()

    @property
    def secrets(self) -> Policy | None:
        """What is done with secrets, if the settings say: `Settings.secrets`; None at a server, which knows itself."""
        return None

    @property
    def zone(self) -> tzinfo:
        """The zone of calls that name none: `Settings.zone`, or this machine's; at a server, the server's."""
        return machine_zone()

    @abstractmethod
    async def open(self, call: Call) -> Scope:
        """Connect, and return the caller's scope, which a server may have narrowed."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything. Idempotent."""

    @abstractmethod
    async def answer(self, call: Call, request: Request[T]) -> T:
        """Return the answer to `request` for `call`. A request that raises has changed nothing.

        A purge, a sweep and a reindex take several steps; some may be done when they raise.

        Raises:
            ClosedError: the engine is not open.
            MemoristError: as the verb in `Memory` says.
        """

    async def prepare(self, call: Call, request: Request[Any]) -> None:
        """Do work for the answer to `request` in advance, if the work changes nothing; does nothing by default."""


class WrappedEngine(Engine):
    """Wraps another engine; a subclass overrides `answer`.

    Args:
        inner: the engine that answers.
    """

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self.remote = inner.remote

    @property
    def clock(self) -> Clock:
        return self._inner.clock

    @property
    def trust(self) -> TrustRules:
        return self._inner.trust

    @property
    def secrets(self) -> Policy | None:
        return self._inner.secrets

    @property
    def zone(self) -> tzinfo:
        return self._inner.zone

    async def open(self, call: Call) -> Scope:
        return await self._inner.open(call)

    async def close(self) -> None:
        await self._inner.close()

    async def prepare(self, call: Call, request: Request[Any]) -> None:
        await self._inner.prepare(call, request)
