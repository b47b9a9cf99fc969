"""The server over streamable HTTP, as an ASGI app."""

from collections.abc import Callable, Iterable
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.engine.traced import Ended
from memorist.errors import InvalidInputError, MemoristError, ScopeError
from memorist.records.content import whole_json
from memorist.records.scope import DEFAULT_TENANT
from memorist.records.scope import Scope as MemoryScope
from memorist.serve.auth import UnauthorizedError
from memorist.serve.error_texts import told
from memorist.serve.limits import BodyTooLargeError, Limiter, Limits, RequestTimeoutError
from memorist.serve.mcp.access import Access, Gate
from memorist.serve.mcp.server import Context, create_server
from memorist.serve.mcp.toolsets import ToolSet
from memorist.serve.reading import read_query

LIMITS = Limits(body_bytes=4 * 1024 * 1024)
PATH = "/mcp"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_ACCESS = "memorist.access"
_STATUS: dict[type[MemoristError], int] = {
    UnauthorizedError: 401,
    ScopeError: 403,
    BodyTooLargeError: 413,
    InvalidInputError: 400,
    RequestTimeoutError: 504,
    MemoristError: 503,
}


def create_app(
    gate: Gate,
    *,
    tools: ToolSet = "core",
    hosts: Iterable[str] | None = LOOPBACK_HOSTS,
    limits: Limits = LIMITS,
    ended: Callable[[Ended], None] | None = None,
    elicit: bool = False,
) -> Starlette:
    """Return the server as an ASGI app. No state is held between requests, so any process can answer each.

    Args:
        gate: admits requests.
        tools: which tools are offered; see `create_server`.
        hosts: the names that a request may call this server by, on any port where they name none; another
            name, or a page of another origin, is refused: it is how a web page would reach a local server.
            None is any name: who comes without a token must use this machine's own all the same.
        limits: the limits of a request.
        ended: called after each call of a verb, for metrics.
        elicit: as for `create_server`.

    Raises:
        InvalidInputError: the gate's memory is bound, or there is no host.
    """
    if gate.memory.scope != MemoryScope(DEFAULT_TENANT):
        raise InvalidInputError("a server needs a memory that is not bound to a tenant, user or label")
    manager = StreamableHTTPSessionManager(
        create_server(_access_of, tools=tools, ended=ended, elicit=elicit),
        stateless=True,
        json_response=True,
        security_settings=_security(hosts),
        max_request_body_size=limits.body_bytes,
    )
    door = _door(StreamableHTTPASGIApp(manager), gate)
    guarded = Limiter(door, limits, streaming=(), free=(), refuse=_refusal)
    # The server sends no notifications and keeps no session, so there is nothing to GET or DELETE.
    route = Route(PATH, endpoint=guarded, methods=["POST"])
    return Starlette(routes=[route], lifespan=lambda app: manager.run())


def _door(app: ASGIApp, gate: Gate) -> ASGIApp:
    """Return an app that admits callers and identifies them."""

    async def admitted(scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        try:
            scope[_ACCESS] = await gate.admit(scope["headers"], client[0] if client else None)
            read_query(scope["query_string"], ())
        except MemoristError as error:
            status, headers, body = _refusal(error)
            if status == 401 and gate.discovery is not None:
                headers["www-authenticate"] += f', resource_metadata="{gate.discovery}"'
            await JSONResponse(body, status, headers)(scope, receive, send)
            return
        try:
            body = whole_json(await Request(scope, receive).body())
        except ClientDisconnect:
            return
        await app(scope, _received(body, receive), send)

    return admitted


def _received(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that has been read, and then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


def _access_of(context: Context) -> Access:
    if context.request is None:
        raise ScopeError("the request does not identify its sender")
    access: Access = context.request.scope[_ACCESS]
    return access


def _security(hosts: Iterable[str] | None) -> TransportSecuritySettings:
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    named = [host for host in hosts if host.strip()]
    if not named:
        raise InvalidInputError("name at least one host that clients call the server by")
    ported = list[str]()
    for host in named:  # as the SDK matches it: as it is, and with any port if it names none
        ends_in_port = host.rpartition(":")[2].isdigit() and not host.endswith("]")
        ported += [host] if ends_in_port else [host, f"{host}:*"]
    origins = [f"{scheme}://{form}" for scheme in ("http", "https") for form in ported]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=ported, allowed_origins=origins
    )


def _refusal(error: Exception) -> tuple[int, dict[str, str], Any]:
    """Return the status and headers for an error, and the error in the form that MCP clients show."""
    status = next(status for each, status in _STATUS.items() if isinstance(error, each))
    code = INTERNAL_ERROR if status >= 500 else INVALID_REQUEST
    headers = {"content-type": "application/json"}
    if status == 401:
        headers["www-authenticate"] = 'Bearer error="invalid_token"'
    return status, headers, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": told(error)}}
