"""Access of requests: from the token and the names in a request to a memory in the allowed scope."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from starlette.requests import Request

from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.origins import REST, Door
from memorist.serve.auth import Grant, Right, Tokens, admitted, bearer
from memorist.serve.observability.requests import GRANT, SCOPE
from memorist.serve.quotas import Quotas
from memorist.serve.reading import KEY_HEADER, USER_HEADER, ZONE_HEADER, header
from memorist.serve.rest.idempotency import Ledger, Outcome, Settle, fingerprint
from memorist.system.offload import offload

T = TypeVar("T")
LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Server:
    """The state shared by all requests.

    `open` is whether callers on this machine need no token; `settings` are those that the console shows to operators.
    """

    memory: Memory
    tokens: Tokens
    ledger: Ledger
    open: bool
    settings: Mapping[str, str]
    quotas: Quotas

    def entered(self, door: Door, grant: Grant) -> "Server":
        """Return the same state for a caller who came in by a door."""
        return replace(self, memory=self.memory.through(door, token=grant.token))


@dataclass(frozen=True, slots=True)
class Access:
    """The access of one request: its grant, and the memory in the scope that it names."""

    grant: Grant
    memory: Memory
    server: Server
    idempotency_key: str | None

    async def ask(self, request: requests.Request[T]) -> T:
        """Return what the memory answers; all users' records are for administrators alone."""
        if getattr(request, "everyone", False):
            self.grant.check(Right.ADMIN)
        return await self.memory.ask(request)

    async def once(
        self, asked: tuple[Any, ...], work: Callable[[], Awaitable[Outcome]], done_since: Settle | None = None
    ) -> tuple[Outcome, bool]:
        """Do the work, or return its earlier outcome if it was done under the request's idempotency key.

        Args:
            asked: what is asked, as plain JSON values.
            work: does it, and returns the numbers to keep.
            done_since: returns the outcome of a call since a time, for one that a crash cut off.

        Returns:
            The numbers, and whether the work was done now.
        """
        if self.idempotency_key is None:
            return await work(), True
        return await self.server.ledger.once(
            self.idempotency_key, self.memory, await offload(lambda: fingerprint(*asked), asked), work, done_since
        )


def server_of(request: Request) -> Server:
    """Return the shared state of the app."""
    return cast(Server, request.app.state.server)


async def admit(request: Request) -> Grant:
    """Return the caller's grant, and cache it with the request.

    Raises:
        UnauthorizedError: it brought no token, or one that is unknown or expired.
    """
    if (granted := request.scope.get(GRANT)) is not None:
        return cast(Grant, granted)
    secret = bearer(header(request.scope["headers"], "Authorization"))
    return await authorized(request, server_of(request), secret)


async def authorized(request: Request, server: Server, secret: str | None) -> Grant:
    """Return the caller's grant.

    Raises:
        UnauthorizedError: it brought no token, or one that is unknown or expired.
    """
    client = None if request.client is None else request.client.host
    grant = await admitted(server.tokens, secret, open=server.open, client=client, headers=request.headers)
    request.scope[GRANT] = grant
    return grant


async def entered(request: Request, right: Right, *, keyed: bool) -> Access:
    """Return the access of a request whose query was read, with its idempotency key where it may have one.

    Raises:
        ScopeError: the caller lacks the right, or names what its token is not for.
        InvalidInputError: a parameter or a header is wrong.
    """
    server, grant = server_of(request), await admit(request)
    grant.check(right)
    query, headers = request.state.query, request.scope["headers"]
    asked = _one("user", query.get("user"), header(headers, USER_HEADER))
    there = _one("zone", query.get("zone"), header(headers, ZONE_HEADER))
    names = {name: query.get(name) for name in ("tenant", "agent", "session")}
    request.scope[SCOPE] = scope = grant.scope(user=asked, **names)
    server = server.entered(REST, grant)
    memory = server.quotas.memory(server.memory, grant, scope).scoped(zone=there)
    key = header(headers, KEY_HEADER) if keyed else None
    if key is not None and len(key) > LONGEST_KEY:
        raise InvalidInputError(f"the header {KEY_HEADER} has more than {LONGEST_KEY} characters")
    return Access(grant, memory, server, key)


def _one(what: str, asked: str | None, named: str | None) -> str | None:
    """Return the user or the zone that the query and a header name."""
    if asked is not None and named is not None and asked != named:
        raise InvalidInputError(f"the header Memorist-{what.title()} and the parameter `{what}` name different {what}s")
    return asked if named is None else named
