"""Limits of requests: the size of a body, the time, and the number at once. Plain ASGI, around the app."""

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.errors import InvalidInputError, StoreBusyError

MIB = 1024 * 1024


class BodyTooLargeError(InvalidInputError):
    """The body has more bytes than the server accepts."""


class OverloadedError(StoreBusyError):
    """The server has too many concurrent requests; the call can be retried."""


class RequestTimeoutError(StoreBusyError):
    """The call took longer than the server allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of requests.

    Args:
        body_bytes: the most bytes of a body.
        load_bytes: the most bytes of a body of `load` and of the files that the console imports, unpacked ones too;
            they are never held in memory whole.
        concurrency: the most requests at once; more are refused and can be retried.
        seconds: the longest time of a request; for a streaming one, the longest wait for a part of its body.
        body_seconds: the longest time for a body to arrive; that of a streaming request has `seconds` for each part.
    """

    body_bytes: int = 10 * MIB
    load_bytes: int = 10 * 1024 * MIB
    concurrency: int = 256
    seconds: float = 60.0
    body_seconds: float = 20.0


@dataclass(slots=True, eq=False)
class Limiter:
    """An app that enforces limits around another.

    Args:
        app: the app to protect.
        limits: the limits.
        streaming: the paths without a limit of the whole time.
        large: those of them that take bodies of `load_bytes`.
        free: the paths that are answered even if the server is busy.
        refuse: converts an error into a status, headers and a body.
    """

    app: ASGIApp
    limits: Limits
    _: KW_ONLY
    streaming: Collection[str]
    large: Collection[str] = ()
    free: Collection[str]
    refuse: Callable[[Exception], tuple[int, dict[str, str], Any]]
    _active: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(send)
        streaming = scope["path"] in self.streaming
        counted = scope["path"] not in self.free
        try:
            if counted and self._active >= self.limits.concurrency:
                raise OverloadedError("the server is at its limit of concurrent requests; try again in a second")
            self._active += counted
            try:
                large = scope["path"] in self.large
                body = _Body(scope, receive, self.limits, streaming=streaming, large=large)
                async with asyncio.timeout(None if streaming else self.limits.seconds):
                    await self.app(scope, body, answer)
            finally:
                self._active -= counted
        except (OverloadedError, BodyTooLargeError) as error:
            await answer.refuse(*self.refuse(error))
        except TimeoutError:
            late = RequestTimeoutError(
                f"the call took longer than {self.limits.seconds:g} seconds; it is not known whether it took "
                "effect, so check before you repeat it"
            )
            await answer.refuse(*self.refuse(late))


class _Body:
    """Receives a body, and stops if it grows too large or stalls."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, *, streaming: bool, large: bool) -> None:
        self._receive = receive
        self._most = limits.load_bytes if large else limits.body_bytes
        self._patience = limits.seconds if streaming else limits.body_seconds
        self._deadline = None if streaming else asyncio.get_running_loop().time() + self._patience
        self._read = 0
        self._ended = False
        lengths = (value for name, value in scope["headers"] if name == b"content-length" and value.isdigit())
        self._is_too_large = any(int(value) > self._most for value in lengths)
        if self._is_too_large and not streaming:
            raise self._too_large()

    async def __call__(self) -> Message:
        if self._ended:  # the app only waits for a disconnect
            return await self._receive()
        if self._is_too_large:  # the app is reading, so it answers, where a browser asks with a page
            raise HTTPException(413, str(self._too_large()))
        deadline = self._deadline or asyncio.get_running_loop().time() + self._patience
        try:
            async with asyncio.timeout_at(deadline):
                message = await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, f"the body did not arrive within {self._patience:g} seconds") from error
        self._read += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        if self._read > self._most:
            raise HTTPException(413, str(self._too_large()))
        return message

    def _too_large(self) -> BodyTooLargeError:
        return BodyTooLargeError(f"the body is larger than the server's limit of {self._most:,} bytes")


class _Answer:
    """Sends an answer, and records whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        await self._send(message)

    async def refuse(self, status: int, headers: dict[str, str], body: Any) -> None:
        """Answer with an error; an answer that has begun can only be aborted."""
        if self._begun:
            raise ConnectionAbortedError("the answer was broken off")
        content = json.dumps(body).encode()
        lines = {**headers, "content-length": str(len(content)), "connection": "close"}
        encoded = [(name.lower().encode(), value.encode()) for name, value in lines.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})
        await self._send({"type": "http.response.body", "body": content})
