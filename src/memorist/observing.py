"""A memory that tells what its verbs do: spans and measures of OpenTelemetry, through its API alone.

Where they go is up to the program, which sets up the SDK and its exporters; without one, nothing is kept and nothing
is sent. What is told is which verb, how long, how many records and the class of an error: never a text, a query, an id
or what an error says, and the names of a scope only where that is asked for.
"""

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memorist.errors import missing_extra
from memorist.memory import Memory
from memorist.scope import Scope

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["Call", "Telemetry", "Watch", "observed"]

VERBS = tuple(
    name
    for name, each in inspect.getmembers(Memory, inspect.iscoroutinefunction)
    if not name.startswith("_") and name != "close"
)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Where the buckets of a histogram of durations end."""


@dataclass(slots=True)
class Call:
    """One call of a verb, once it has ended.

    `seconds` is how long it took, `written` how many records it stored or changed, `error` the class of what it raised.
    """

    verb: str
    seconds: float = 0.0
    written: int = 0
    error: str | None = None


def observed(memory: Memory, watch: "Watch | Telemetry | None" = None) -> Memory:
    """Return the same memory, with a span and a measure for each call of a verb, through the views too.

    Args:
        memory: an open one, or one to be opened; what `scoped` makes of it is observed too.
        watch: what is told; by default OpenTelemetry, with the providers that the program has set.

    Raises:
        MissingExtraError: OpenTelemetry's API is not installed.
    """
    if watch is None or isinstance(watch, Telemetry):
        watch = Watch(watch or Telemetry())
    return _Observed(memory, watch)


class Telemetry:
    """OpenTelemetry's tracer and meter for what is done here.

    Args:
        tracer_provider: makes the spans; by default the program's own.
        meter_provider: keeps the measures; by default the program's own.
        names: tell tenant, user, agent and session too. Who sees the spans sees whose memory it is then.

    Raises:
        MissingExtraError: its API is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: "TracerProvider | None" = None,
        meter_provider: "MeterProvider | None" = None,
        names: bool = False,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise missing_extra("opentelemetry-api", "otel") from error
        from memorist import __version__

        self.names = names
        self.meter = metrics.get_meter("memorist", __version__, meter_provider)
        self._tracer = trace.get_tracer("memorist", __version__, tracer_provider)
        self._duration = self.meter.create_histogram("memorist.verb.duration", "s", "How long a verb takes.")
        self._written = self.meter.create_counter("memorist.records.written", "{record}", "Records stored or changed.")

    @contextmanager
    def span(
        self, name: str, attributes: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> "Iterator[Span]":
        """Open a span; where an error ends it, it tells the class alone.

        Args:
            name: of the span.
            attributes: of the span.
            headers: of the request that it answers, by names in small letters: its trace goes on here.
        """
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        quiet = {"record_exception": False, "set_status_on_exception": False}
        parent = None if headers is None else extract(headers)
        kind = SpanKind.INTERNAL if headers is None else SpanKind.SERVER
        with self._tracer.start_as_current_span(name, parent, kind, attributes, **quiet) as span:  # type: ignore[arg-type]
            try:
                yield span
            except Exception as error:
                self.failed(span, type(error).__name__)
                raise

    def failed(self, span: "Span", error: str) -> None:
        """Tell that what a span is about went wrong: the class alone."""
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))

    def verb(self, name: str, scope: Scope) -> "AbstractContextManager[Span]":
        """Open the span of a verb."""
        told = {"memorist.verb": name}
        if self.names:
            given = {label: getattr(scope, label) for label in ("tenant", "user", "agent", "session")}
            told |= {f"memorist.{label}": value for label, value in given.items() if value is not None}
        return self.span(f"memorist {name}", told)

    def ended(self, call: Call) -> None:
        """Keep the measures of a call."""
        told = {"memorist.verb": call.verb}
        self._duration.record(call.seconds, told if call.error is None else told | {"error.type": call.error})
        if call.written:
            self._written.add(call.written, told)


class Watch:
    """Is told of every call of a verb.

    Args:
        telemetry: gets its span and measures; None for none.
        ended: called with each call that has ended, well or not.
    """

    def __init__(self, telemetry: Telemetry | None, ended: Callable[[Call], None] | None = None) -> None:
        self._telemetry = telemetry
        self._ended = ended

    @contextmanager
    def verb(self, name: str, scope: Scope) -> Iterator[Call]:
        """Watch one call; it notes itself what it has written."""
        call, start = Call(name), time.perf_counter()
        with nullcontext() if self._telemetry is None else self._telemetry.verb(name, scope):
            try:
                yield call
            except GeneratorExit:  # whoever reads an export may stop
                raise
            except BaseException as error:
                call.error = type(error).__name__
                raise
            finally:
                call.seconds = time.perf_counter() - start
                self.tell(call)

    def tell(self, call: Call) -> None:
        """Tell of a call that has ended."""
        if self._telemetry is not None:
            self._telemetry.ended(call)
        if self._ended is not None:
            self._ended(call)


class _Observed(Memory):
    """A memory in front of another, which does the work."""

    def __init__(self, inner: Memory, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._scope = inner.scope
        self._engine = getattr(inner, "_engine", None)  # type: ignore[assignment]  # a remote one has none
        self._views = {}

    async def __aenter__(self) -> "_Observed":
        await self._inner.__aenter__()
        self._scope = self._inner.scope  # a remote one learns it from its token
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)

    async def close(self) -> None:
        """Close what is behind."""
        await self._inner.close()

    def scoped(self, **names: Any) -> Memory:
        """Return the same memory seen from a narrower scope; see `Memory.scoped`."""
        return _Observed(self._inner.scoped(**names), self._watch)

    def unlabelled(self) -> Memory:
        """Return the same memory without the labels `agent` and `session`; the walls stay."""
        return _Observed(self._inner.unlabelled(), self._watch)

    async def export(self, *, everyone: bool = False) -> AsyncIterator[str]:
        """Yield every record of the scope as lines; see `Memory.export`. A measure, but no span, which others' work
        between two lines would get into."""
        with Watch(None, self._watch.tell).verb("export", self._scope):
            async for line in self._inner.export(everyone=everyone):
                yield line


def _watched(verb: str) -> Any:
    @wraps(getattr(Memory, verb))
    async def call(self: _Observed, *args: Any, **options: Any) -> Any:
        with self._watch.verb(verb, self._scope) as call:
            result = await getattr(self._inner, verb)(*args, **options)
            call.written = _written(verb, result)
            return result

    return call


for _verb in VERBS:
    setattr(_Observed, _verb, _watched(_verb))


def _written(verb: str, result: Any) -> int:
    """Return how many records a verb stored or changed, from what it returned."""
    if verb == "remember":
        return len(result) if isinstance(result, list) else 1
    if verb in ("revise", "rate"):
        return 1
    return int(result.added) if verb == "load" else 0
