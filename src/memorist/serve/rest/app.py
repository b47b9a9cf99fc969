"""The REST routes and errors put together."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

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
from memorist.serve.rest.access import Prober, Reader, Server, server_of
from memorist.serve.rest.idempotency import Ledger
from memorist.serve.rest.plain import check_operator
from memorist.serve.rest.problems import add_handlers, problems
from memorist.serve.rest.routing import router_of
from memorist.system.docstrings import with_docstring

_server = router_of("server")
_ROUTERS = (records.search, records.router, whole.router, _server)
_READY_WITHIN = 2.0
_NOTHING_TOLD: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI's own spans hold paths and queries, ids and users' names with them, and its logs what was sent."""


def create_api(
    memory: Memory,
    *,
    open: bool = False,
    observer: Observer | None = None,
    quotas: Quotas | None = None,
    settings: Mapping[str, str] | None = None,
) -> FastAPI:
    """Return the routes alone, without the limits around them."""
    if memory.scope != Scope(DEFAULT_TENANT):
        raise InvalidInputError("a server needs a memory that is not bound to a tenant, user or label")
    app = FastAPI(
        title="Memorist",
        version=__version__,
        summary="Long-term memory for LLM agents",
        description=(
            "Every verb of a memory. A token sets the tenant, and the user if it is bound to one; "
            "otherwise a request names the user. Errors are problem documents (RFC 9457)."
        ),
        docs_url=None,  # its page would load scripts from elsewhere; the console has one of its own
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NOTHING_TOLD,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.observer = observer = observer or Observer()
    ledger, quotas = Ledger(memory.through(REST)), quotas or Quotas()
    app.state.server = Server(observer.observed(memory), Tokens(memory), ledger, open, settings or {}, quotas)
    add_handlers(app)
    for router in _ROUTERS:  # not included, which would make each route anew for every app
        app.router.routes.extend(router.routes)
    app.get("/health", tags=["server"], response_model=models.Status)(health)
    app.get("/ready", tags=["server"], response_model=models.Status, responses=problems(503, common=()))(ready)
    for path, probe in (("/health", health), ("/ready", ready)):  # as some load balancers ask
        app.head(path, include_in_schema=False)(probe)
    metrics_answer: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    app.get("/metrics", tags=["server"], response_class=Response, responses={200: metrics_answer, **problems()})(
        metrics
    )
    return app


@_server.get("/caller", response_model=models.Caller, responses=problems())
async def caller(access: Reader) -> JSONResponse:
    """Return what the token allows, how far each author of a record is trusted here, and the zone of calls."""
    grant, memory = access.grant, access.memory
    found = {"name": grant.name, "tenant": grant.tenant, "user": grant.user, "right": str(grant.right)}
    return JSONResponse({**found, "trust": memory.trust.to_dict(), "zone": name_of(memory.zone)})


@with_docstring
async def health() -> JSONResponse:
    """Tell that the server runs."""
    return JSONResponse({"status": "ok", "version": __version__})


@with_docstring
async def ready(request: Request) -> JSONResponse:
    """Tell that the store answers, within two seconds: a load balancer asks again soon."""
    try:
        async with asyncio.timeout(_READY_WITHIN):
            await server_of(request).tokens.find("")
    except TimeoutError as error:
        raise StoreUnavailableError(f"the store did not answer within {_READY_WITHIN:g} seconds") from error
    return JSONResponse({"status": "ok", "version": __version__})


@with_docstring
async def metrics(access: Prober, request: Request) -> Response:
    """Return the server's metrics in Prometheus's format: for an operator's token."""
    check_operator(access)
    return Response(request.app.state.observer.metrics.text(), media_type=METRICS_TYPE)
