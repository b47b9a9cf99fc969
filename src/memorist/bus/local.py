"""A bus inside one process: for tests, notebooks and agents that live together."""

import asyncio
import re
from contextlib import suppress

from memorist.bus.base import Bus, Handler, Subscription, deliver
from memorist.bus.envelope import Envelope, check_subject
from memorist.errors import BusError


class LocalBus(Bus):
    """A bus inside one event loop. Messages are converted to JSON and back, so handlers share no objects.

    Args:
        drain_timeout: seconds that `close` waits for running handlers.
    """

    def __init__(self, *, drain_timeout: float = 30.0) -> None:
        self._subscriptions: list[_LocalSubscription] = []
        self._is_open = False
        self._drain_timeout = drain_timeout

    async def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        if not self._is_open:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.idle(), self._drain_timeout)
        self._is_open = False
        for subscription in list(self._subscriptions):
            await subscription.cancel()

    async def publish(self, envelope: Envelope) -> None:
        self._check_open()
        data = envelope.to_json()
        for subscription in self._subscriptions:
            if subscription.pattern.fullmatch(envelope.subject):
                subscription.queue.put_nowait(data)

    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        self._check_open()
        subscription = _LocalSubscription(check_subject(subject, wildcards=True), handler, self._subscriptions)
        self._subscriptions.append(subscription)
        return subscription

    async def idle(self) -> None:
        """Wait until every message has been handled, those that the handlers publish included."""
        while busy := [each for each in self._subscriptions if each.busy]:
            for subscription in busy:
                await subscription.queue.join()

    def _check_open(self) -> None:
        if not self._is_open:
            raise BusError("the bus is not open; use `async with LocalBus() as bus`")


class _LocalSubscription:
    def __init__(self, subject: str, handler: Handler, among: "list[_LocalSubscription]") -> None:
        self.subject = subject
        self.pattern = re.compile(re.escape(subject).replace(r"\*", r"[^.]+").replace(">", ".+"), re.DOTALL)
        """Matches the subjects whose messages it takes."""
        self._handler = handler
        self._among = among
        self._unhandled = 0
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._worker = asyncio.create_task(self._work(), name=f"bus {subject}")

    @property
    def busy(self) -> bool:
        """Return whether a message waits or is being handled."""
        return not self.queue.empty() or self._unhandled > 0

    async def cancel(self) -> None:
        if self in self._among:
            self._among.remove(self)
        while not self.queue.empty():
            self.queue.get_nowait()
            self.queue.task_done()
        if self._worker is asyncio.current_task():  # a handler that cancels its own subscription may finish
            return
        self._worker.cancel()
        with suppress(asyncio.CancelledError):
            await self._worker

    async def _work(self) -> None:
        while self in self._among:
            data = await self.queue.get()
            self._unhandled += 1
            try:
                await deliver(self.subject, data, self._handler)
            finally:
                self._unhandled -= 1
                self.queue.task_done()
