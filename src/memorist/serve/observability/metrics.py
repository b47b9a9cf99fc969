"""The observer of a server, and its metrics at `/metrics`, in Prometheus's format."""

from contextlib import suppress

from memorist import __version__
from memorist.engine.traced import SECONDS, Ended, Telemetry, Watch
from memorist.errors import MissingExtraError, needs
from memorist.memory import Memory

with needs("prometheus-client", "rest"):
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one server. Their labels are routes, verbs and classes of errors, never users' data."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        asked, verb = ("method", "route", "status"), ("verb",)
        self.active = Gauge("memorist_http_requests_active", "Requests being answered.", registry=registry)
        self._requests = Counter("memorist_http_requests", "Requests answered.", asked, registry=registry)
        self._latency = Histogram(
            "memorist_http_request_duration_seconds",
            "From a request's head to its answer's end.",
            asked[:2],
            registry=registry,
            buckets=SECONDS,
        )
        self._verbs = Histogram(
            "memorist_verb_duration_seconds", "How long a verb takes.", verb, registry=registry, buckets=SECONDS
        )
        self._errors = Counter("memorist_verb_errors", "Verbs that raised.", ("verb", "error"), registry=registry)
        self._written = Counter("memorist_records_written", "Records stored or changed.", verb, registry=registry)
        Info("memorist", "This server.", registry=registry).info({"version": __version__})
        ProcessCollector(registry=registry)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def verb(self, call: Ended) -> None:
        self._verbs.labels(call.verb).observe(call.seconds)
        if call.written:
            self._written.labels(call.verb).inc(call.written)
        if call.error is not None:
            self._errors.labels(call.verb, call.error).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)


class Observer:
    """The spans and metrics of one server; they leave the process only through exporters that the program has
    configured.

    Args:
        telemetry: OpenTelemetry's tracer and meter; by default the program's own, if its API is installed.
        names: also write tenants' and users' names to the logs.
    """

    def __init__(self, telemetry: Telemetry | None = None, *, names: bool = False) -> None:
        self.metrics = Metrics()
        if telemetry is None:
            with suppress(MissingExtraError):
                telemetry = Telemetry()
        self.telemetry = telemetry
        self.names = names
        self._watch = Watch(self.telemetry, self.metrics.verb)

    def observed(self, memory: Memory) -> Memory:
        """Return the same memory with its verbs observed."""
        return memory.traced(self._watch)
