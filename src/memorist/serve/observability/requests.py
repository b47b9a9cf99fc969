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
        request = _Request(scope)
        self._metrics.active.inc()
        with self._span(scope, request) as span:
            try:
                await self._app(scope, receive, request.noting(send))
            except BaseException as raised:
                request.error = type(raised).__name__
                raise
            finally:
                self._metrics.active.dec()
                request.end(self._route_of(scope))
                self._report(request, span)

    def _span(self, scope: Scope, request: "_Request") -> Any:
        if self._telemetry is None:
            return nullcontext()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return self._telemetry.span(request.method, {"url.scheme": scope.get("scheme", "http")}, headers=headers)

    def _report(self, request: "_Request", span: Any) -> None:
        """Count, trace and log a request that has ended."""
        self._metrics.request(request.method, request.route, request.status, request.seconds)
        if span is not None and self._telemetry is not None:
            told = request.attributes
            span.update_name(f"{request.method} {request.route}")
            span.set_attributes(told if request.error is None else told | {"error.type": request.error})
            if request.status >= 500:
                self._telemetry.failed(span, request.error or str(request.status))
            self._duration.record(request.seconds, told)
        level = logging.DEBUG if request.route in PROBES else logging.INFO
        if log.isEnabledFor(level):
            log.log(level, "request", extra={"fields": self._fields(request) | _link(span)})

    def _fields(self, request: "_Request") -> dict[str, Any]:
        grant: Grant | None = request.scope.get(GRANT)
        fields = {
            "method": request.method,
            "route": request.route,
            "status": request.status,
            "milliseconds": round(request.seconds * 1000, 2),
        }
        if grant is not None:
            fields["token"] = grant.name
        if request.error is not None:
            fields["error"] = request.error
        named = request.scope.get(SCOPE)
        if self._names and named is not None:
            fields |= {"tenant": named.tenant, "user": named.user}
        return fields


class _Request:
    """One request: what is known of it while it is answered, and once it has ended."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self.route = "unmatched"
        self.status = 0
        self.seconds = 0.0
        self.error: str | None = None
        self._begun = time.perf_counter()

    def noting(self, send: Send) -> Send:
        """Return a function that sends as `send` does, and notes the status of the answer."""

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
            await send(message)

        return noted

    def end(self, route: str | None) -> None:
        """Note the end; without an answer, the client hung up or an error ended it."""
        self.seconds = time.perf_counter() - self._begun
        self.route = route or self.route
        self.status = self.status or (_HUNG_UP if self.error is None else 500)
        self.error = self.scope.get(ERROR, self.error)

    @property
    def attributes(self) -> dict[str, Any]:
        """What a span and a measure tell of it."""
        return {
            "http.request.method": self.method,
            "http.route": self.route,
            "http.response.status_code": self.status,
        }


def _link(span: Any) -> dict[str, str]:
    """Return what links a line of the log to a span."""
    context = None if span is None else span.get_span_context()
    if context is None or not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
