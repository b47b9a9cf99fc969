"""An engine that wraps another and reports each request as spans and metrics of OpenTelemetry, using only its API.

The program sets up the SDK and its exporters. Without an exporter, nothing is kept and nothing is sent. A report holds
the verb, the duration, the number of records and the class of an error. It holds names and ids, and texts and queries,
only on request, each for itself, and never an error's message.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.engine import conventions
from memorist.engine.base import Engine, WrappedEngine
from memorist.errors import WaitingError, needs
from memorist.operations.calls import Call
from memorist.operations.lines import LoadReport
from memorist.operations.requests import Request
from memorist.records.record import Record
from memorist.records.scope import Scope

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

T = TypeVar("T")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets of a histogram of durations, in seconds."""


@dataclass(slots=True)
class Ended:
    """One call of a verb, once it has ended.

    `seconds` is its duration, `written` the number of records that it stored or changed, `error` the class of its
    error, `changes` whether the verb changes the store.
    """

    verb: str
    seconds: float = 0.0
    written: int = 0
    error: str | None = None
    changes: bool = False
    answer: Any = field(default=None, repr=False)


class Telemetry:
    """OpenTelemetry's tracer and meter for the requests of this package.

    Args:
        tracer_provider: creates the spans; by default the program's own.
        meter_provider: keeps the metrics; by default the program's own.
        names: also report tenant, user, agent and session, and ids of records. Anyone who sees the spans sees them.
        content: also report what is asked, stored and found; by default what the conventions' variable says,
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, and else not.

    Raises:
        MissingExtraError: OpenTelemetry's API is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: "TracerProvider | None" = None,
        meter_provider: "MeterProvider | None" = None,
        names: bool = False,
        content: bool | None = None,
    ) -> None:
        with needs("opentelemetry-api", "otel"):
            from opentelemetry import metrics, trace
        from memorist import __version__

        self.names = names
        self.content = conventions.captures() if content is None else content
        self._api = trace
        self._given = tracer_provider is not None
        self.meter = metrics.get_meter("memorist", __version__, meter_provider)
        self._tracer = trace.get_tracer("memorist", __version__, tracer_provider)
        self._duration = self.meter.create_histogram("memorist.verb.duration", "s", "How long a verb takes.")
        self._written = self.meter.create_counter("memorist.records.written", "{record}", "Records stored or changed.")

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        remote: bool = False,
    ) -> "Iterator[Span]":
        """Open a span; if an error ends it, it reports only the error's class.

        Args:
            name: the name of the span.
            attributes: the attributes of the span.
            headers: the headers of the request, by names in lower case; the span continues their trace.
            remote: whether another process is asked.
        """
        api = self._api
        traced = self._given or not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider)
        if not traced and "traceparent" not in (headers or ()):  # nobody traces, and there is no trace to name
            yield api.INVALID_SPAN
            return
        from opentelemetry.propagate import extract

        quiet = {"record_exception": False, "set_status_on_exception": False}
        parent = None if headers is None else extract(headers)
        asking = api.SpanKind.CLIENT if remote else api.SpanKind.INTERNAL
        kind = asking if headers is None else api.SpanKind.SERVER
        with self._tracer.start_as_current_span(name, parent, kind, attributes, **quiet) as span:  # type: ignore[arg-type]
            try:
                yield span
            except WaitingError:  # what was asked is stored, and the user decides
                raise
            except Exception as error:
                self.failed(span, type(error).__name__)
                raise

    def failed(self, span: "Span", error: str) -> None:
        """Mark a span as failed, with only the class of the error."""
        span.set_attribute("error.type", error)
        span.set_status(self._api.Status(self._api.StatusCode.ERROR))

    def verb(self, request: Request[Any], scope: Scope, remote: bool) -> "AbstractContextManager[Span]":
        """Open the span of a verb, by the conventions' name for what it does."""
        told = conventions.asked(request, scope, names=self.names, content=self.content)
        return self.span(conventions.operation_of(request) or f"memorist {request.verb}", told, remote=remote)

    def ended(self, call: Ended) -> None:
        """Record the metrics of a call."""
        told = {"memorist.verb": call.verb}
        self._duration.record(call.seconds, told if call.error is None else told | {"error.type": call.error})
        if call.written:
            self._written.add(call.written, told)


class Watch:
    """Receives a report of every call of a verb.

    Args:
        telemetry: gets the spans and metrics; None for none.
        ended: called with each call that has ended, whether it succeeded or not.
    """

    def __init__(self, telemetry: Telemetry | None, ended: Callable[[Ended], None] | None = None) -> None:
        self._telemetry = telemetry
        self._ended = ended

    @asynccontextmanager
    async def verb(self, request: Request[Any], call: Call, remote: bool) -> AsyncIterator[Ended]:
        """Watch one call; what answers it sets the number of written records, and the answer."""
        ended, start = Ended(request.verb), time.perf_counter()
        telemetry = self._telemetry
        with nullcontext() if telemetry is None else telemetry.verb(request, call.scope, remote) as span:
            try:
                yield ended
                if telemetry is not None and span is not None and span.is_recording():
                    span.set_attributes(await conventions.answered(request, ended.answer, content=telemetry.content))
                if span is not None and ended.changes:
                    told: dict[str, Any] = {
                        "verb": ended.verb,
                        "door": call.door.name,
                        "records.written": ended.written,
                    }
                    told |= {} if call.token is None else {"token": call.token}
                    span.add_event("memorist.audit", {f"memorist.{name}": value for name, value in told.items()})
            except WaitingError:
                raise
            except BaseException as error:
                ended.error = type(error).__name__
                raise
            finally:
                ended.seconds = time.perf_counter() - start
                self.tell(ended)

    def tell(self, call: Ended) -> None:
        """Report a call that has ended."""
        if self._telemetry is not None:
            self._telemetry.ended(call)
        if self._ended is not None:
            self._ended(call)


class TracedEngine(WrappedEngine):
    """Passes requests to another engine and reports each.

    Args:
        inner: the engine that answers.
        watch: receives the reports; by default OpenTelemetry, with the providers that the program has set.

    Raises:
        MissingExtraError: OpenTelemetry's API is not installed.
    """

    def __init__(self, inner: Engine, watch: Watch | Telemetry | None = None) -> None:
        super().__init__(inner)
        self._watch = watch if isinstance(watch, Watch) else Watch(watch or Telemetry())

    async def answer(self, call: Call, request: Request[T]) -> T:
        async with self._watch.verb(request, call, self._inner.remote) as ended:
            ended.answer = result = await self._inner.answer(call, request)
            ended.written, ended.changes = _written(request, result), request.writes
            return result


def _written(request: Request[Any], result: Any) -> int:
    """Return the number of records that a request stored or changed, from its answer."""
    if isinstance(result, LoadReport):
        return result.added
    if isinstance(result, Record):
        return int(request.writes)
    return len(result) if request.writes and isinstance(result, list) else 0
