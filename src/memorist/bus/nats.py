"""A bus over a NATS server: between processes and machines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memorist.bus.base import Bus, Handler, Subscription, deliver, log
from memorist.bus.envelope import Envelope, check_subject
from memorist.errors import BusError, InvalidInputError, needs

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

_FOREVER = 10**9


class NatsBus(Bus):
    """A bus over NATS. Needs `pip install 'memorist[nats]'`.

    A lost connection is reopened automatically. Messages published meanwhile are sent then; messages that others
    publish meanwhile are lost. A server that cannot be reached at the start raises an error.

    Args:
        url: the server, such as ``nats://localhost:4222`` or ``tls://user:password@host:4222``; several are
            separated by commas.
        name: the connection's name in the server's own tools.
        connect_timeout: seconds to wait for the server, at the start and when a handler subscribes.
        drain_timeout: seconds that `close` waits for running handlers.
        **options: any other option of `nats.connect`, such as `user_credentials` or `tls`.

    Raises:
        InvalidInputError: `url` names no server.
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
        self._servers = _servers(url)
        self._connect_timeout = connect_timeout
        self._options = {"name": name, "max_reconnect_attempts": -1, "drain_timeout": drain_timeout, **options}
        self._client: Client | None = None
        self._refusal = ""

    async def open(self) -> None:
        if self._client is not None and not self._client.is_closed:
            return
        with needs("nats-py", "nats"):
            import nats
            from nats.aio.client import Client
        client = Client()
        try:
            connecting = asyncio.ensure_future(client.connect(self._servers, error_cb=self._report, **self._options))
            try:
                await asyncio.wait_for(asyncio.shield(connecting), self._connect_timeout)
            except BaseException:
                # in Python 3.11, the awaited task may end at the same time, and its result wins over the time-out
                while not connecting.done():
                    connecting.cancel()
                    await asyncio.sleep(0)
                await asyncio.gather(client.close(), return_exceptions=True)
                raise
        except (OSError, TimeoutError, nats.errors.Error, ValueError) as error:
            # It retries until the time-out; the callback has received the reason.
            reason = (self._refusal or "it does not answer") if isinstance(error, TimeoutError) else _said(error)
            raise BusError(f"no NATS server can be reached at {self}: {reason}") from error
        self._client = client

    async def close(self) -> None:
        client = self._client
        if client is None or client.is_closed:
            return
        import nats

        try:
            await client.drain()  # messages that the handlers publish meanwhile are still sent
        except (nats.errors.Error, TimeoutError, OSError):  # a lost connection has nothing to drain
            # `close` raises the error of sending to a lost server, and cancels tasks that wait for the client's
            # reconnecting task.
            await asyncio.gather(client.close(), return_exceptions=True)

    async def publish(self, envelope: Envelope) -> None:
        import nats

        try:
            await self._opened().publish(envelope.subject, envelope.to_json())
        except nats.errors.Error as error:
            raise BusError(f"the message to {envelope.subject} was not sent: {error}") from error

    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        import nats

        client = self._opened()
        subscription = _NatsSubscription(check_subject(subject, wildcards=True), handler)
        try:
            await subscription.start(client, self._connect_timeout)
        except (nats.errors.Error, TimeoutError) as error:
            raise BusError(f"{subject} could not be subscribed to: {_said(error)}") from error
        return subscription

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
        """Return the servers' URLs without users' names and passwords."""
        parts = [urlsplit(_with_scheme(each)) for each in self._servers]
        return ", ".join(f"{each.scheme}://{each.netloc.rpartition('@')[2]}" for each in parts)


class _NatsSubscription:
    def __init__(self, subject: str, handler: Handler) -> None:
        self.subject = subject
        self._handler = handler
        self._inner: NatsSubscription | None = None
        self._worker: asyncio.Task[Any] | None = None
        self._ended = False

    async def start(self, client: Client, timeout: float) -> None:
        self._inner = await client.subscribe(self.subject, cb=self._take)
        # Never cancelled or timed out: the client would stop reading at the server's late answer to it.
        confirmed = asyncio.ensure_future(client.flush(_FOREVER))
        try:
            await asyncio.wait_for(asyncio.shield(confirmed), timeout)  # from here on the server knows the subscription
        except BaseException:
            await self.cancel()  # otherwise it would begin when the server is back
            raise

    async def cancel(self) -> None:
        self._ended = True
        if self._worker is not asyncio.current_task():  # a handler that cancels its own subscription may finish
            await self._unsubscribe()

    async def _take(self, message: Msg) -> None:
        if not self._ended:
            self._worker = asyncio.current_task()
            await deliver(message.subject, message.data, self._handler)
            if self._ended:
                await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        import nats

        assert self._inner is not None
        try:
            await self._inner.unsubscribe()
        except (
            nats.errors.ConnectionClosedError,
            nats.errors.ConnectionDrainingError,
            nats.errors.BadSubscriptionError,
        ):
            pass  # the server has forgotten it already, or is about to
        except nats.errors.Error as error:
            raise BusError(f"{self.subject} could not be unsubscribed from: {error}") from error


def _servers(url: str) -> list[str]:
    servers = [each.strip() for each in url.split(",") if each.strip()]
    try:
        named = bool(servers) and all(urlsplit(_with_scheme(each)).hostname for each in servers)
    except ValueError:  # only a part of an address
        named = False
    if not named:
        raise InvalidInputError("a NATS server must be nats://HOST:PORT, or several separated by commas")
    return servers


def _with_scheme(server: str) -> str:
    return server if "//" in server else f"nats://{server}"


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
