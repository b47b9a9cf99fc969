"""The server as an ASGI app: the REST routes, the console, and the limits around both."""

from collections.abc import Iterable, Mapping

from starlette.routing import BaseRoute

from memorist.memory import Memory
from memorist.serve.console import console_routes
from memorist.serve.limits import App, Limits
from memorist.serve.observability import Observer
from memorist.serve.rest.app import create_api, guarded

__all__ = ["Limits", "create_app"]


def create_app(
    memory: Memory,
    *,
    open: bool = False,
    limits: Limits | None = None,
    observer: Observer | None = None,
    more: Iterable[BaseRoute] = (),
    settings: Mapping[str, str] | None = None,
) -> App:
    """Return the server as an ASGI app.

    Args:
        memory: an open one, bound to no tenant and no user; it stays the caller's to close.
        open: let callers on this machine in without a token. Only for a server on a loopback address.
        limits: what a request may cost.
        observer: what is told of its requests; by default one of its own, with the program's OpenTelemetry.
        more: routes to stand beside its own, within the same limits; who they let in is up to them.
        settings: what the console shows an operator of how the server was set up.

    Raises:
        InvalidInputError: the memory is bound.
    """
    observer = observer or Observer()
    app = create_api(memory, open=open, observer=observer, settings=settings)
    app.router.routes.extend([*console_routes(app.state.server), *more])
    return guarded(app, limits or Limits(), observer)
