"""What takes part on a bus, on an open one or by itself over NATS, and the subjects of its messages."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from memorist.adapters.local2.service import MemoryService
from memorist.bus import Bus, NatsBus

RESPONSE_GENERATION = "response.generation"
"""An answer: answer, thinking, tool_calls, query, session_id, query_id."""
USER_FEEDBACK = "user.feedback"
"""A score for an answer: query_id (or the episode's id), score."""
TOOL_SCHEMA = "tool.schema"
"""A tool's schema, published once when the tool starts: tool, schema."""


def tool_request(name: str) -> str:
    """Return the subject of requests to the tool `name`: args."""
    return f"tool.request.{name}"


def tool_result(name: str) -> str:
    """Return the subject of results of the tool `name`: tool, result."""
    return f"tool.result.{name}"


class Participant(ABC):
    """A tool or an agent on a bus.

    ```python
    threading.Thread(target=MemoryRecallTool().run, daemon=True).start()
    ```

    Args:
        service: the memory, which several participants may share. By default each has one of its own; `run` closes it.
    """

    def __init__(self, service: MemoryService | None = None) -> None:
        self._own = service is None
        self.service = MemoryService() if service is None else service
        self._ending = False
        self._wake: Callable[[], object] | None = None

    @abstractmethod
    async def start(self, bus: Bus) -> None:
        """Take part from now on, until the bus closes.

        Raises:
            BusError: the bus is closed.
        """

    def run(self, bus: str = "nats://127.0.0.1:4222") -> None:
        """Connect to a NATS server and take part until `stop` is called. Blocks, in any thread.

        Raises:
            BusError: there is no server at this URL.
            EmbedderError, MissingExtraError: the service's embedder cannot be used; see `MemoryService.check`.
        """
        asyncio.run(self._serve(bus))

    def stop(self) -> None:
        """End a `run` in another thread, after the messages that have arrived."""
        self._ending = True
        if self._wake is not None:
            self._wake()

    async def _serve(self, url: str) -> None:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(ended.set)
        try:
            await asyncio.to_thread(self.service.check)
            async with NatsBus(url, name=f"memorist {type(self).__name__}") as bus:
                await self.start(bus)
                if not self._ending:
                    await ended.wait()
        finally:
            self._wake = None
            if self._own:
                await asyncio.to_thread(self.service.close)
