"""Access of requests: from the token and the names in a request to a memory in the allowed scope."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from fastapi import Depends, Header, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.origins import REST, Door
from memorist.serve.auth import Grant, Right, Tokens, admitted, bearer
from memorist.serve.observability.requests import GRANT, SCOPE
from memorist.serve.quotas import Quotas
from memorist.serve.reading import USER_HEADER, ZONE_HEADER, header
from memorist.serve.rest.idempotency import Ledger, Outcome, Settle, fingerprint
from memorist.system.offload import offload

T = TypeVar("T")
_KEY_HEADER = "Idempotency-Key"
_LONGEST_KEY = 255
_bearer = HTTPBearer(auto_error=False, description="A token made by `memorist token create`.")


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


def _needing(right: Right) -> Callable[..., Awaitable[Access]]:
    """Return a dependency that admits callers with the right."""

    async def access(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,  # for OpenAPI
        user: Annotated[
            str | None,
            Query(description="Whose records: for a token that is not bound to a user. Without it, the shared ones."),
        ] = None,
        agent: Annotated[str | None, Query(description="The label; narrows reads, and is written.")] = None,
        session: Annotated[str | None, Query(description="The label; narrows reads, and is written.")] = None,
        tenant: Annotated[str | None, Query(description="For an operator's token: which tenant.")] = None,
        zone: Annotated[
            str | None,
            Query(
                description="Whose days are asked for and told, such as Europe/Lisbon; also the zone of a time that "
                "names none. By default the server's."
            ),
        ] = None,
        named_user: Annotated[str | None, Header(alias=USER_HEADER, description="The same as `user`.")] = None,
        named_zone: Annotated[str | None, Header(alias=ZONE_HEADER, description="The same as `zone`.")] = None,
    ) -> Access:
        server, grant = server_of(request), await admit(request)
        grant.check(right)
        query = getattr(request.state, "query", {})  # of a strict route, whose parameters FastAPI does not read
        headers = request.scope["headers"]
        asked = _one("user", query.get("user", user), header(headers, USER_HEADER))
        there = _one("zone", query.get("zone", zone), header(headers, ZONE_HEADER))
        scope = grant.scope(
            tenant=query.get("tenant", tenant),
            user=asked,
            agent=query.get("agent", agent),
            session=query.get("session", session),
        )
        request.scope[SCOPE] = scope
        server = server.entered(REST, grant)
        memory = server.quotas.memory(server.memory, grant, scope).scoped(zone=there)
        return Access(grant, memory, server, None)

    return access


def _one(what: str, asked: str | None, named: str | None) -> str | None:
    """Return the user or the zone that the query and a header name."""
    if asked is not None and named is not None and asked != named:
        raise InvalidInputError(f"the header Memorist-{what.title()} and the parameter `{what}` name different {what}s")
    return asked if named is None else named


def _keyed(grown: Callable[..., Awaitable[Access]]) -> Callable[..., Any]:
    async def access(
        request: Request,
        access: Annotated[Access, Depends(grown)],
        described: Annotated[
            str | None,
            Header(
                alias=_KEY_HEADER,
                description="Any text. The same request sent again is answered from its first outcome, not repeated.",
                json_schema_extra={"minLength": 1, "maxLength": _LONGEST_KEY},
            ),
        ] = None,
    ) -> Access:
        key = header(request.scope["headers"], _KEY_HEADER)
        if key is not None and len(key) > _LONGEST_KEY:
            raise InvalidInputError(f"the header {_KEY_HEADER} has more than {_LONGEST_KEY} characters")
        return replace(access, idempotency_key=key)

    return access


ADMITTED: Mapping[str, Callable[..., Awaitable[Access]]] = {right: _needing(right) for right in Right}
"""What admits callers with each right."""
Prober: TypeAlias = Annotated[Access, Depends(ADMITTED["metrics"])]
Reader: TypeAlias = Annotated[Access, Depends(ADMITTED["read"])]
Writer: TypeAlias = Annotated[Access, Depends(_keyed(ADMITTED["write"]))]
Admin: TypeAlias = Annotated[Access, Depends(ADMITTED["admin"])]
KeyedAdmin: TypeAlias = Annotated[Access, Depends(_keyed(ADMITTED["admin"]))]
