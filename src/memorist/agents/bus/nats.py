"""A bus over a NATS server: between processes and machines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memorist.agents.bus.base import Bus, Handler, Subscription, deliver, log
from memorist.agents.bus.envelope import Envelope, check_subject
from memorist.errors import BusError, missing_extra

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

__all__ = ["NatsBus"]


class NatsBus(Bus):
    """A bus over NATS. Needs `pip install 'memorist[nats]'`.

    A connection that is lost is made again by itself, and what is published meanwhile is sent then; what
    others publish meanwhile is gone. A server that cannot be reached at the start is an error.

    Args:
        url: the server, such as ``nats://localhost:4222`` or ``tls://user:password@host:4222``; several
            with commas between.
        name: what the server's own tools call this connection.
        connect_timeout: seconds to wait for the server at the start.
        drain_timeout: seconds that `close` waits for handlers that are still at work.
        **options: any other option of `nats.connect`, such as `user_credentials` or `tls`.
    """

    def __init__(
        self,
        url: str = "nats://127.0.0.1:4222",
        *,
        name: str = "memorist",
        connect_timeout: float = 5.0,
        drain_timeout: float = 30.0,
        **options: Any,
    ) -> None:
        self._servers = [each.strip() for each in url.split(",") if each.strip()]
        self._connect_timeout = connect_timeout
        self._options = {"name": name, "max_reconnect_attempts": -1, "drain_timeout": drain_timeout, **options}
        self._client: Client | None = None
        self._refusal = ""

    async def open(self) -> None:
        try:
            import nats
        except ImportError as error:
            raise missing_extra("nats-py", "nats") from error
        connecting = nats.connect(servers=self._servers, error_cb=self._report, **self._options)
        try:
            self._client = await asyncio.wait_for(connecting, self._connect_timeout)
        except (OSError, TimeoutError, nats.errors.Error, ValueError) as error:
            # It tries again until the time is up; why it failed was reported to the callback.
            reason = (self._refusal or "it does not answer") if isinstance(error, TimeoutError) else _said(error)
            raise BusError(f"no NATS server can be reached at {self}: {reason}") from error

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is None or client.is_closed:
            return
        import nats

        try:
            await client.drain()
        except (nats.errors.Error, TimeoutError):  # a lost connection has nothing to drain
            await client.close()

    async def publish(self, envelope: Envelope) -> None:
        import nats

        try:
            await self._opened().publish(envelope.subject, envelope.to_json())
        except nats.errors.Error as error:
            raise BusError(f"the message to {envelope.subject} was not sent: {error}") from error

    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        import nats

        async def take(message: Msg) -> None:
            await deliver(message.subject, message.data, handler)

        client = self._opened()
        try:
            subscription = await client.subscribe(check_subject(subject, wildcards=True), cb=take)
            await client.flush()  # from here on the server knows of it
        except (nats.errors.Error, TimeoutError) as error:
            raise BusError(f"{subject} could not be subscribed to: {error}") from error
        return _NatsSubscription(subscription)

    def _opened(self) -> Client:
        if self._client is None or self._client.is_closed:
            raise BusError("the bus is not open; use `async with NatsBus(...) as bus`")
        return self._client

    async def _report(self, error: Exception) -> None:
        if self._client is None:
            self._refusal = _said(error)
        else:
            log.warning("NATS: %s", _said(error))

    def __str__(self) -> str:
        """Name the servers, without users' names and passwords, which nobody may repeat."""
        parts = [urlsplit(each if "//" in each else f"nats://{each}") for each in self._servers]
        return ", ".join(f"{each.scheme}://{each.netloc.rpartition('@')[2]}" for each in parts)


class _NatsSubscription:
    def __init__(self, subscription: NatsSubscription) -> None:
        self._subscription = subscription

    @property
    def subject(self) -> str:
        return str(self._subscription.subject)

    async def cancel(self) -> None:
        import nats

        try:
            await self._subscription.unsubscribe()
        except (nats.errors.ConnectionClosedError, nats.errors.BadSubscriptionError):
            pass  # the server has forgotten it already
        except nats.errors.Error as error:
            raise BusError(f"{self.subject} could not be unsubscribed from: {error}") from error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
