"""The connection to a server: calls, what comes back, and what went wrong, as an error of ours."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from memorist import errors
from memorist.errors import ClosedError, InvalidInputError, MemoristError, StoreUnavailableError, missing_extra
from memorist.remote.values import dumps

if TYPE_CHECKING:
    import httpx

__all__ = ["Connection", "error_of", "result_of"]

ATTEMPTS = 4


class NotSentError(StoreUnavailableError):
    """The server was not reached: nothing was done."""

    @property
    def plain(self) -> StoreUnavailableError:
        return StoreUnavailableError(str(self))


class Connection:
    """A server, as all scopes of one remote memory share it."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInputError(f"a server's URL begins with http:// or https://, not {url!r}")
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._home: asyncio.AbstractEventLoop | None = None
        self._begun: set[asyncio.Future[None]] = set()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    async def open(self) -> dict[str, Any]:
        """Reach the server, and return what the token allows."""
        try:
            import httpx  # noqa: F401  # to be told now, not at the first call
        except ImportError as error:
            raise missing_extra("httpx", "client") from error
        self._home = asyncio.get_running_loop()
        try:
            found = await self.call("GET", "/v1/caller", repeat=True)
            if not isinstance(found, dict) or "right" not in found:
                raise StoreUnavailableError(f"{self.url} answers, but is no Memorist server")
            return found
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let the connections go, once the calls that were begun are done."""
        home, self._home = self._home, None
        client = None if home is None else self._clients.pop(home, None)
        if client is not None and home is asyncio.get_running_loop():
            await asyncio.gather(*self._begun, return_exceptions=True)
            await client.aclose()
        self._clients.clear()

    def _client(self) -> "httpx.AsyncClient":
        """Return this event loop's own client; those of other loops than the first keep no connection."""
        import httpx

        if self._home is None:
            raise ClosedError("the memory is not open; use `async with Memory.connect(...)`, or `await` it")
        loop = asyncio.get_running_loop()
        if (client := self._clients.get(loop)) is None:
            kept = 20 if loop is self._home else 0
            limits = httpx.Limits(max_connections=100, max_keepalive_connections=kept)
            client = self._clients[loop] = httpx.AsyncClient(
                base_url=self.url, headers=self._headers, timeout=self._timeout, limits=limits, trust_env=False
            )
        return client

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        repeat: bool = False,
    ) -> Any:
        """Return what the server answers to one call.

        Args:
            method: of HTTP.
            path: from the server's root.
            params: the query.
            body: the JSON to send; None sends none.
            key: the idempotency key.
            repeat: whether the call may be made again where it is not known if it was done.

        Raises:
            MemoristError: what the server raised.
            StoreUnavailableError: it cannot be reached.
        """
        content = None if body is None else dumps(body)
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
                        raise error.plain from error.__cause__
                except StoreUnavailableError:
                    if last or not repeat:
                        raise
                else:
                    if answer.status_code != 503 or last:
                        return result_of(answer)
                await asyncio.sleep(0.1 * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Make `close` wait for a call, if it is of the same event loop."""
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
    async def sent(self, method: str, path: str, **request: Any) -> AsyncIterator["httpx.Response"]:
        """Send a request and yield the answer, whose body is still to be read."""
        import httpx

        client = self._client()
        try:
            async with client.stream(method, path, **request) as answer:
                yield answer
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NotSentError(f"{self.url} cannot be reached: {error or type(error).__name__}") from error
        except httpx.TransportError as error:
            raise StoreUnavailableError(
                f"the connection to {self.url} failed ({error or type(error).__name__}); "
                "whether the call was done is not known"
            ) from error
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise InvalidInputError(f"this cannot be sent to {self.url}: {error}") from error


def result_of(answer: "httpx.Response") -> Any:
    """Return what an answer holds, or raise the error that it tells of."""
    try:
        found = answer.json()
    except ValueError as error:
        if answer.is_server_error:  # a proxy's own answer
            raise StoreUnavailableError(
                f"{answer.url.host} answers with status {answer.status_code}; whether the call was done is not known"
            ) from error
        raise StoreUnavailableError(f"{answer.url.host} answers, but is no Memorist server") from error
    if answer.is_success:
        return found
    raise error_of(found if isinstance(found, dict) else {})


def error_of(problem: Mapping[str, Any]) -> MemoristError:
    """Return the error that a problem tells of, in its own class."""
    name, detail = problem.get("error"), str(problem.get("detail") or "the server answered with an error")
    if name in errors.__all__ and isinstance(kind := getattr(errors, str(name)), type):
        return cast(MemoristError, kind(detail))
    return MemoristError(detail)
