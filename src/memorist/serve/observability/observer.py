"""What one server is observed with."""

from memorist.engine.traced import Telemetry, Watch
from memorist.errors import MissingExtraError
from memorist.memory import Memory
from memorist.serve.observability.metrics import Metrics

__all__ = ["Observer"]


class Observer:
    """The spans and measures of one server; nothing leaves the process but through exporters that the program set.

    Args:
        telemetry: OpenTelemetry's part; by default that of the program's own providers, where its API is installed.
        names: write tenants' and users' names to the logs too.
    """

    def __init__(self, telemetry: Telemetry | None = None, *, names: bool = False) -> None:
        self.metrics = Metrics()
        self.telemetry = telemetry or _installed()
        self.names = names
        self._watch = Watch(self.telemetry, self.metrics.verb)

    def observed(self, memory: Memory) -> Memory:
        """Return the same memory, its verbs observed."""
        return memory.traced(self._watch)


def _installed() -> Telemetry | None:
    try:
        return Telemetry()
    except MissingExtraError:
        return None
