"""The REST routes and errors put together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memorist import __version__
from memorist.errors import InvalidInputError, StoreUnavailableError
from memorist.memory import Memory
from memorist.records.origins import REST
from memorist.records.scope import DEFAULT_TENANT, Scope
from memorist.records.zones import name_of
from memorist.serve.auth import Tokens
from memorist.serve.observability import Observer
from memorist.serve.observability.metrics import MEDIA_TYPE as METRICS_TYPE
from memorist.serve.quotas import Quotas
from memorist.serve.rest import models, records, whole
from memorist.serve.rest.access import Access, Server, server_of
from memorist.serve.rest.idempotency import Ledger
from memorist.serve.rest.plain import check_operator
from memorist.serve.rest.problems import HANDLERS, problems
from memorist.serve.rest.routing import DescribedRoute, Routes, answer, describe, operation_of
from memorist.system.docstrings import docstring_of

_server, _outside = Routes("server"), Routes("server", prefix="")
_ROUTES = (records.search, records.routes, whole.routes, _server, _outside)
_READY_WITHIN = 2.0
_INFO = {
    "title": "Memorist",
    "summary": "Long-term memory for LLM agents",
    "description": "Every verb of a memory. A token sets the tenant, and the user if it is bound to one; "
    "otherwise a request names the user. Errors are problem documents (RFC 9457).",
    "version": __version__,
}


class Api(Starlette):
    """The routes, and their OpenAPI description."""

    @cached_property
    def description(self) -> dict[str, Any]:
        return describe(self.routes, dict(_INFO))

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description."""
        return self.description


def create_api(
    memory: Memory,
    *,
    open: bool = False,
    observer: Observer | None = None,
    quotas: Quotas | None = None,
    settings: Mapping[str, str] | None = None,
) -> Api:
    """Return the routes alone, without the limits around them."""
    if memory.scope != Scope(DEFAULT_TENANT):
        raise InvalidInputError("a server needs a memory that is not bound to a tenant, user or label")
    app = Api(exception_handlers=dict(HANDLERS))
    app.router.redirect_slashes = False
    app.state.observer = observer = observer or Observer()
    ledger, quotas = Ledger(memory.through(REST)), quotas or Quotas()
    app.state.server = Server(observer.observed(memory), Tokens(memory), ledger, open, settings or {}, quotas)
    app.router.routes.extend(route for each in _ROUTES for route in each.routes)
    app.router.routes.extend(_PROBES)
    return app


@_server.on("GET", "/caller", "read", answer(models.model_of(models.Caller), problems()))
async def caller(access: Access, request: Request) -> JSONResponse:
    """Return what the token allows, how far each author of a record is trusted here, and the zone of calls."""
    grant, memory = access.grant, access.memory
    found = {"name": grant.name, "tenant": grant.tenant, "user": grant.user, "right": str(grant.right)}
    return JSONResponse({**found, "trust": memory.trust.to_dict(), "zone": name_of(memory.zone)})


async def health(request: Request) -> JSONResponse:
    """Tell that the server runs."""
    return JSONResponse({"status": "ok", "version": __version__})


async def ready(request: Request) -> JSONResponse:
    """Tell that the store answers, within two seconds: a load balancer asks again soon."""
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await server_of(request).tokens.find("")
    except TimeoutError as error:
        raise StoreUnavailableError(f"the store did not answer within {_READY_WITHIN:g} seconds") from error
    return JSONResponse({"status": "ok", "version": __version__})


@_outside.on("GET", "/metrics", "metrics", answer({"type": "string"}, problems(), media="text/plain"))
async def metrics(access: Access, request: Request) -> Response:
    """Return the server's metrics in Prometheus's format: for an operator's token."""
    check_operator(access)
    return Response(request.app.state.observer.metrics.text(), media_type=METRICS_TYPE)


async def _openapi(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


def _probe(endpoint: Callable[[Request], Awaitable[Response]], *errors: dict[str, Any]) -> list[Route]:
    """Return the routes of a probe; some load balancers ask with HEAD."""
    name, answers = endpoint.__name__, answer(models.model_of(models.Status), *errors)
    told = operation_of(name, docstring_of(endpoint), _server.tag, answers)
    return [DescribedRoute(f"/{name}", endpoint, "GET", **told), Route(f"/{name}", endpoint, methods=["HEAD"])]


_PROBES = [*_probe(health), *_probe(ready, problems(503, common=())), Route("/openapi.json", _openapi)]
