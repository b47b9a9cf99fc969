"""The observer of one server."""

from contextlib import suppress

from memorist.engine.traced import Telemetry, Watch
from memorist.errors import MissingExtraError
from memorist.memory import Memory
from memorist.serve.observability.metrics import Metrics


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
