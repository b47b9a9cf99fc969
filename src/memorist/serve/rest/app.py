"""The app: routes, errors and limits put together."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from memorist import __version__
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.scope import DEFAULT_TENANT, Scope
from memorist.serve.auth import Tokens
from memorist.serve.console import console_routes
from memorist.serve.limits import App, Limiter, Limits
from memorist.serve.rest import caller, models, reading, records, whole
from memorist.serve.rest.access import Server, server_of
from memorist.serve.rest.idempotency import Ledger
from memorist.serve.rest.problems import MEDIA_TYPE, add_handlers, problem_of
from memorist.serve.rest.routing import RawPaths

__all__ = ["create_api", "create_app"]

_PROBLEM: dict[str, Any] = {"model": models.Problem, "content": {MEDIA_TYPE: {}}}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body is not JSON."},
    401: {"description": "No token, or one that does not hold."},
    403: {"description": "The token does not allow it."},
    404: {"description": "There is no such record."},
    409: {"description": "An id or key is taken."},
    413: {"description": "The body is too large."},
    415: {"description": "The body is not sent as JSON."},
    422: {"description": "An argument is wrong."},
    503: {"description": "Busy; to be tried again."},
}


def create_app(memory: Memory, *, open: bool = False, limits: Limits | None = None) -> App:
    """Return the server as an ASGI app.

    Args:
        memory: an open one, bound to no tenant and no user; it stays the caller's to close.
        open: let callers on this machine in without a token. Only for a server on a loopback address.
        limits: what a request may cost.

    Raises:
        InvalidInputError: the memory is bound.
    """
    return guarded(create_api(memory, open=open), limits or Limits())


def create_api(memory: Memory, *, open: bool = False) -> FastAPI:
    """Return the routes alone, without the limits around them."""
    if memory.scope != Scope(DEFAULT_TENANT):
        raise InvalidInputError("a server needs a memory that is bound to no tenant, user or label")
    app = FastAPI(
        title="Memorist",
        version=__version__,
        summary="Long-term memory for LLM agents",
        description=(
            "Every verb of a memory. A token says whose it is: its tenant always, its user where it is bound to one; "
            "else a request names the user. What goes wrong is told as a problem (RFC 9457)."
        ),
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {**_PROBLEM, **more} for status, more in _PROBLEMS.items()},
    )
    app.state.server = Server(memory, Tokens(memory), Ledger(memory), open)
    add_handlers(app)
    for subject in (records, reading, whole, caller):
        app.include_router(subject.router, prefix="/v1")
    app.get("/health", tags=["server"], response_model=models.Status)(health)
    app.get("/ready", tags=["server"], response_model=models.Status)(ready)
    app.router.routes.extend(console_routes(app.state.server))
    return app


def guarded(app: App, limits: Limits) -> App:
    """Return an app with limits around it."""
    return RawPaths(
        Limiter(app, limits, streaming=whole.STREAMING, free=("/health", "/ready", "/metrics"), refuse=problem_of)
    )


async def health() -> JSONResponse:
    """Tell that the server runs."""
    return JSONResponse({"status": "ok", "version": __version__})


async def ready(request: Request) -> JSONResponse:
    """Tell that the store answers."""
    await server_of(request).tokens.find("")
    return JSONResponse({"status": "ok", "version": __version__})
