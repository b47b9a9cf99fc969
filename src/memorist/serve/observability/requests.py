"""An app that counts, traces and logs every request by its route, never by its content."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorist.serve.auth import Grant
from memorist.serve.observability.metrics import Observer

log = logging.getLogger("memorist.serve.requests")

GRANT = "memorist.grant"
"""The key of the caller's grant in a request's ASGI scope."""
SCOPE = "memorist.scope"
"""The key of the memory's scope in a request's ASGI scope."""
ERROR = "memorist.error"
"""The key of the error's class in a request's ASGI scope."""
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_HUNG_UP = 499
PROBES = frozenset(("/health", "/ready", "/metrics"))


class ObservedRequests:
    """An app that observes another.

    Args:
        app: the app that answers.
        observer: receives the reports.
        route_of: returns the template of the route that answered a scope, or None if there is none.
    """

    def __init__(self, app: ASGIApp, observer: Observer, route_of: Callable[[Mapping[str, Any]], str | None]) -> None:
        self._app = app
        self._metrics = observer.metrics
        self._telemetry = observer.telemetry
        self._names = observer.names
        self._route_of = route_of
        if self._telemetry is not None:
            name, told = "http.server.request.duration", "How long a request takes."
            self._duration = self._telemetry.meter.create_histogram(name, "s", told)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        status, error, start = 0, None, time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.active.inc()
        traced: Any = nullcontext()
        if self._telemetry is not None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            traced = self._telemetry.span(method, {"url.scheme": scope.get("scheme", "http")}, headers=headers)
        with traced as span:
            try:
                await self._app(scope, receive, noting)
            except BaseException as raised:
                error = type(raised).__name__
                raise
            finally:
                seconds = time.perf_counter() - start
                self._metrics.active.dec()
                route = self._route_of(scope) or "unmatched"
                status = status or (_HUNG_UP if error is None else 500)
                error = scope.get(ERROR, error)
                self._metrics.request(method, route, status, seconds)
                if span is not None and self._telemetry is not None:
                    told = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
                    span.update_name(f"{method} {route}")
                    span.set_attributes(told if error is None else told | {"error.type": error})
                    if status >= 500:
                        self._telemetry.failed(span, error or str(status))
                    self._duration.record(seconds, told)
                level = logging.DEBUG if route in PROBES else logging.INFO
                if log.isEnabledFor(level):
                    fields = self._fields(scope, method, route, status, seconds, error)
                    context = None if span is None else span.get_span_context()
                    if context is not None and context.is_valid:  # links the line to its span
                        fields |= {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
                    log.log(level, "request", extra={"fields": fields})

    def _fields(
        self, scope: Scope, method: str, route: str, status: int, seconds: float, error: str | None
    ) -> dict[str, Any]:
        grant: Grant | None = scope.get(GRANT)
        fields = {"method": method, "route": route, "status": status, "milliseconds": round(seconds * 1000, 2)}
        if grant is not None:
            fields["token"] = grant.name
        if error is not None:
            fields["error"] = error
        if self._names:
            named = scope.get(SCOPE)
            fields |= {} if named is None else {"tenant": named.tenant, "user": named.user}
        return fields
