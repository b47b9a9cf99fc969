"""Running a server on a socket, from binding it to a clean shutdown."""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memorist.errors import InvalidInputError, needs
from memorist.serve.auth import is_loopback

with needs("uvicorn", "rest"):
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

_GRACE = 10
_PAUSE, _PAUSES = 0.01, 50
"""Seconds, and how often, that the end of a server waits for the first request of a connection."""
_HEAD_SECONDS = 10.0
"""Seconds that a connection may stay open without a complete request head."""
_STALLED_SECONDS = 60.0
"""Seconds that a connection may stay open while the client reads nothing of an answer."""
_HEAD_BYTES = 64 * 1024
"""The most bytes of a request's head, as h11 has by itself, or of what follows the last part of its body."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a host's address.

    Raises:
        OSError: the address is not this machine's, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio checks it: otherwise it leaves Nagle's algorithm on, and every
    # answer would wait 40 ms for the acknowledgement of its first half.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Windows would let another program take the port over; elsewhere a port is free at once after its server's end.
        listening.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        if error.errno != errno.EADDRINUSE:
            raise
        told = f"port {port} of {host} is in use; choose another with --port, or --port 0 for a free one"
        raise OSError(error.errno, told) from error
    except BaseException:
        listening.close()
        raise
    return listening


def url_of(host: str, listening: socket.socket) -> str:
    """Return the URL of a server on a host."""
    return f"http://{bracketed(host)}:{listening.getsockname()[1]}"


def bracketed(host: str) -> str:
    """Return a host as written in a URL: an IPv6 address in brackets."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def check_open(host: str, *, tokens: bool) -> bool:
    """Return whether a server on this host may admit callers without a token.

    Raises:
        InvalidInputError: it requires a token, and none exists.
    """
    if is_loopback(host):
        return True
    if not tokens:
        raise InvalidInputError(
            f"{host} can be reached from other machines, but no token exists "
            "yet; create one with: memorist token create NAME"
        )
    return False


class _Punctual(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # one class or another, as is installed
    """A connection that is closed if a request's head or the client's reading of the answer takes too long."""

    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _held = 0
    """The bytes received since a head was complete or a part of a body came; httptools itself has no limit."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        self._held += len(data)
        super().data_received(data)
        if self._held > _HEAD_BYTES and hasattr(self, "on_header"):
            self.send_400_response("The head of the request is too large.")
        if self._is_answering:
            self._stop()
        else:
            self._wait()

    def on_headers_complete(self) -> None:
        self._held = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._held = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._resume()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = asyncio.get_running_loop().call_later(_STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._resume()
        super().resume_writing()

    def _resume(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_HEAD_SECONDS, self._end)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if not self._is_answering:
            self.transport.close()


class Server(uvicorn.Server):
    """A server that stops on a signal without ending the process, so that the caller can clean up.

    `serve` with the sockets that it listens on runs until the process receives a signal to stop, or `should_exit` is
    set, and then finishes pending requests.

    Args:
        app: the app to serve.
        proxies: the addresses of proxies that are trusted for the client's address and for TLS.
        answering: called once it answers.
    """

    def __init__(self, app: Any, *, proxies: Sequence[str] = (), answering: Callable[[], None] = lambda: None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Punctual,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._answering = answering

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._answering()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, answer the first request of those just accepted, and end."""
        for server in self.servers:
            server.close()
        for _ in range(_PAUSES):
            await asyncio.sleep(_PAUSE)
            if all(getattr(each, "cycle", None) is not None for each in self.server_state.connections):
                break
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on Ctrl-C or SIGTERM without raising the signal again, so that the memory can be closed afterwards."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
