"""The server as an ASGI app: the REST routes, the console, and the limits around both."""

from collections.abc import Iterable, Mapping
from typing import Any

from memorist.errors import needs
from memorist.memory import Memory

with needs("starlette", "rest"):
    from starlette.routing import BaseRoute, Route
    from starlette.types import ASGIApp

from memorist.serve.console import LARGE, STREAMING, add_console
from memorist.serve.limits import Limiter, Limits
from memorist.serve.observability import ObservedRequests, Observer
from memorist.serve.observability.requests import PROBES
from memorist.serve.quotas import Quotas
from memorist.serve.rest import whole
from memorist.serve.rest.app import create_api
from memorist.serve.rest.problems import problem_of
from memorist.serve.rest.routing import by_raw_paths

__all__ = ["Limits", "create_app"]


def create_app(
    memory: Memory,
    *,
    open: bool = False,
    limits: Limits | None = None,
    observer: Observer | None = None,
    quotas: Quotas | None = None,
    more: Iterable[BaseRoute] = (),
    settings: Mapping[str, str] | None = None,
    console: bool = True,
) -> ASGIApp:
    """Return the server as an ASGI app.

    Args:
        memory: an open memory, bound to no tenant and no user; the caller closes it.
        open: admit callers on this machine without a token. Only for a server on a loopback address.
        limits: the limits of a request.
        observer: receives reports of its requests; by default a new one, with the program's OpenTelemetry.
        quotas: what each token may send; by default only what was set for the token itself.
        more: additional routes within the same limits; they check access themselves.
        settings: the settings that the console shows to an operator.
        console: whether to serve the console too, whose sessions are this process's own.

    Raises:
        InvalidInputError: the memory is bound.
    """
    observer, limits = observer or Observer(), limits or Limits()
    app = create_api(memory, open=open, observer=observer, quotas=quotas, settings=settings)
    if console:
        add_console(app, limits)
    app.router.routes.extend(more)
    streaming, large = (*whole.STREAMING, *STREAMING), (*whole.LARGE, *LARGE)
    limited = Limiter(app, limits, streaming=streaming, large=large, free=PROBES, refuse=problem_of)
    paths: dict[Any, str] = {each.endpoint: each.path for each in app.routes if isinstance(each, Route)}

    def route_of(scope: Mapping[str, Any]) -> str | None:
        """Return the template of the route that answered."""
        return paths.get(scope.get("endpoint"))

    return by_raw_paths(ObservedRequests(limited, observer, route_of))
