"""The connection to a server: calls, their arguments and answers, and the errors that the answers carry."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlencode, urlsplit
from weakref import WeakKeyDictionary

from memorist.errors import (
    ClosedError,
    InvalidInputError,
    MemoristError,
    NotFoundError,
    StoreUnavailableError,
    error_of,
    needs,
    shown,
)
from memorist.operations.calls import Call
from memorist.records.content import is_whole
from memorist.records.zones import name_of
from memorist.system.offload import offload

if TYPE_CHECKING:
    import httpcore  # httpx's own transport; it takes half the time of httpx for a call

ATTEMPTS = 4
_KEPT_SECONDS = 4.0
"""Seconds that an idle connection is kept: uvicorn closes one after five."""


class NotSentError(StoreUnavailableError):
    """The server was not reached, so nothing was done."""


class Connection:
    """A server, shared by all scopes of one remote memory."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        self.url, self._origin, host = _parse(url)
        self._headers = [("Host", host), ("Accept", "*/*"), ("User-Agent", "memorist")]
        if token is not None:
            if not isinstance(token, str) or not re.fullmatch("[!-~]+", token):
                raise InvalidInputError("a token must be a string of printable ASCII characters without spaces")
            self._headers.append(("Authorization", f"Bearer {token}"))
        self._timeouts = dict.fromkeys(("connect", "read", "write", "pool"), timeout)
        self._home: asyncio.AbstractEventLoop | None = None
        self._begun: set[asyncio.Future[None]] = set()
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, httpcore.AsyncConnectionPool] = WeakKeyDictionary()

    async def open(self) -> dict[str, Any]:
        """Connect to the server, and return what the token allows."""
        with needs("httpcore", "client"):
            import httpcore  # noqa: F401  # to be told now, not at the first call
        self._home = asyncio.get_running_loop()
        try:
            found = await self.call("GET", "/v1/caller", repeat=True)
            if "right" not in found:
                raise StoreUnavailableError(f"{self.url} answers, but is not a Memorist server")
            return found
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections, once pending calls are done."""
        home, self._home = self._home, None
        pool = None if home is None else self._pools.pop(home, None)
        if pool is not None and home is asyncio.get_running_loop():
            await asyncio.gather(*self._begun, return_exceptions=True)
            await pool.aclose()
        self._pools.clear()

    def _pool(self) -> "httpcore.AsyncConnectionPool":
        """Return this event loop's own connections; only the first loop keeps connections between calls."""
        import httpcore

        if self._home is None:
            raise ClosedError("the memory is not open; open it with `Memory.connect(...)` in a `with` or `async with`")
        loop = asyncio.get_running_loop()
        if (pool := self._pools.get(loop)) is None:
            context = None
            if self._origin[0] == "https":  # it trusts the authorities of this machine, or of ``SSL_CERT_FILE``, too
                context = httpcore.default_ssl_context()
                context.load_default_certs()
            pool = self._pools[loop] = httpcore.AsyncConnectionPool(
                ssl_context=context,
                max_connections=100,
                max_keepalive_connections=20 if loop is self._home else 0,
                keepalive_expiry=_KEPT_SECONDS,
            )
        return pool

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        repeat: bool = False,
    ) -> dict[str, Any]:
        """Return the server's answer to one call.

        Args:
            method: the HTTP method.
            path: from the server's root.
            params: the query.
            body: the JSON to send; None sends none.
            key: the idempotency key.
            repeat: whether the call may be retried if its outcome is unknown.

        Raises:
            MemoristError: the error that the server raised.
            StoreUnavailableError: it cannot be reached.
        """
        content = None if body is None else await offload(lambda: dumps(body), body)
        headers = {} if key is None else {"Idempotency-Key": key}
        if content is not None:
            headers["Content-Type"] = "application/json"
        with self._counted():
            for attempt in range(ATTEMPTS):
                last = attempt == ATTEMPTS - 1
                try:
                    async with self.sent(method, path, params=params, content=content, headers=headers) as answer:
                        await answer.aread()
                except NotSentError as error:
                    if last:
                        raise StoreUnavailableError(str(error)) from error.__cause__
                except StoreUnavailableError:
                    if last or not repeat:
                        raise
                else:
                    if answer.status != 503 or last or not (repeat or _is_undone(answer)):
                        return await offload(partial(result_of, answer), answer.content)
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Make `close` wait for a call on the same event loop."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        if loop is self._home:
            self._begun.add(done)
        try:
            yield
        finally:
            self._begun.discard(done)
            done.set_result(None)

    @asynccontextmanager
    async def sent(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator["httpcore.Response"]:
        """Send a request and yield the answer, whose body is still to be read."""
        import httpcore

        pool = self._pool()
        scheme, host, port, root = self._origin
        try:
            target = f"{root}{path}{query_of(params or {})}"
            url = httpcore.URL(scheme=scheme, host=host, port=port, target=target)
            async with pool.stream(
                method,
                url,
                headers=[*self._headers, *(headers or {}).items()],
                content=b"" if content is None and method != "GET" else content,
                extensions={"timeout": self._timeouts},
            ) as answer:
                yield answer
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout) as error:
            raise NotSentError(f"{self.url} cannot be reached: {error or type(error).__name__}") from error
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise StoreUnavailableError(
                f"the connection to {self.url} failed ({error or type(error).__name__}); "
                "it is not known whether the call took effect, so check before you repeat it"
            ) from error
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"this cannot be sent to {self.url}: {error}") from error


def _parse(url: str) -> tuple[str, tuple[str, str, int | None, str], str]:
    """Return a server's URL, its parts (scheme, host, port, path), and the value of the header Host."""
    try:
        at = urlsplit(url.rstrip("/"))
        host = (at.hostname or "").encode("idna").decode()
        if at.scheme not in ("http", "https") or not host or at.username is not None or at.query or at.fragment:
            raise ValueError("only a scheme, a host, a port and a path are allowed")
        named = f"[{host}]" if ":" in host else host
        named = named if at.port is None else f"{named}:{at.port}"
        return at.geturl(), (at.scheme, host, at.port, quote(at.path, safe="/%")), named
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            "a server's URL must begin with http:// or https:// and name a host, such as "
            f"http://127.0.0.1:8377, not {url!r}"
        ) from error


def _is_undone(answer: "httpcore.Response") -> bool:
    """Return whether an answer 503 guarantees that nothing was done; a server without its store cannot know."""
    try:
        result_of(answer)
    except StoreUnavailableError:
        return False
    except MemoristError:
        pass
    return True


class _Result(dict[str, Any]):
    """The JSON object of an answer; an object that lacks a field does not come from a Memorist server."""

    def __missing__(self, name: str) -> NoReturn:
        raise _not_a_server(200)


def result_of(answer: "httpcore.Response") -> dict[str, Any]:
    """Return the JSON object of an answer, or raise the error that it reports."""
    try:
        found = json.loads(answer.content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _not_a_server(answer.status)
    if 200 <= answer.status < 300 and answer.status != 202:
        return _Result(found)
    raise error_of(found)


def _not_a_server(status: int) -> StoreUnavailableError:
    """Return the error for a proxy's own answer."""
    return StoreUnavailableError(
        f"the server that answered with status {status} is not a Memorist server; it is not known whether "
        "the call took effect, so check before you repeat it"
    )


# --- arguments as HTTP carries them -----------------------------------------------------------------------


def params_of(call: Call) -> dict[str, str]:
    """Return a call's scope and zone as query parameters."""
    scope, zone = call.scope, None if call.zone is None else name_of(call.zone)
    if call.zone is not None and zone is None:
        raise InvalidInputError(f"a server takes time zones by name, such as Europe/Lisbon, not {shown(call.zone)}")
    names = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "session": scope.session, "zone": zone}
    return {name: value for name, value in names.items() if value is not None}


def query_of(params: Mapping[str, Any]) -> str:
    """Return the query string of a URL, with its question mark."""
    texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
    return f"?{urlencode(texts)}" if texts else ""


def part_of(id: str) -> str:
    """Return an id as one segment of a path, whatever characters it holds.

    Raises:
        NotFoundError: it is empty, which no record's is.
    """
    if not id:
        raise NotFoundError("there is no record '' in this scope")
    return quote(id, safe="").replace(".", "%2E")


def dumps(body: Any) -> bytes:
    """Return a body as JSON.

    Raises:
        InvalidInputError: something in it is not JSON.
    """

    def other(value: Any) -> Any:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{type(value).__name__} is not JSON")

    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False, default=other)
        return (text if is_whole(text) else json.dumps(body, allow_nan=False, default=other)).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error
