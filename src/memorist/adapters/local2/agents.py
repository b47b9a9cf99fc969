"""The agents that listen: one stores every answer as an episode, one attaches the scores that users give."""

import asyncio
import logging
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, NamedTuple

from memorist.adapters.local2.layout import exchange, without_quoted
from memorist.adapters.local2.participant import RESPONSE_GENERATION, USER_FEEDBACK, Participant
from memorist.adapters.local2.service import MemoryService
from memorist.adapters.local2.tools import DUAL_MODE_TOOLS, TOOLS
from memorist.bus import Bus, Envelope
from memorist.errors import EmbedderUnavailableError, MemoristError, StoreBusyError, StoreUnavailableError
from memorist.framing.frame import without_recalled

log = logging.getLogger("memorist.local2")

_WAITING_LIMIT = 1000
"""The most scores that wait for their answers, and the most answers that wait to be stored; the oldest is dropped."""
_RETRY_SECONDS = 5.0
"""How long answers wait until they are tried again."""
_PASSING = (EmbedderUnavailableError, StoreBusyError, StoreUnavailableError)
"""The errors after which an answer is tried again."""


class _Listener(Participant):
    """Handles every message of one subject."""

    subject: ClassVar[str]

    async def start(self, bus: Bus) -> None:
        """Listen from now on.

        Raises:
            BusError: the bus is closed.
        """
        await bus.subscribe(self.subject, self.handle)

    @abstractmethod
    async def handle(self, envelope: Envelope) -> None:
        """Handle one message. Raises nothing."""


class _Answer(NamedTuple):
    """An answer as it will be stored."""

    message_id: str
    content: str
    metadata: Mapping[str, Any]


class MemoryAgent(_Listener):
    """Writes one episode for every answer on ``response.generation``: question and answer together.

    Errors, and messages without a question or an answer, are skipped. What an answer quotes of recalled memories
    is left out. A message is stored once, however often it is delivered and by however many agents. Answers that
    arrive while the embedder or the store cannot be reached wait in this process until both can. Other failures are
    logged.

    Args:
        service: where the episodes go; see `Participant`.
        feedback: the agent that may have received a score before its answer was stored.
    """

    subject = RESPONSE_GENERATION

    def __init__(self, service: MemoryService | None = None, feedback: "FeedbackAgent | None" = None) -> None:
        super().__init__(service)
        self.feedback = feedback
        self._waiting: deque[_Answer] = deque()
        self._storing = asyncio.Lock()
        self._retry: asyncio.Task[None] | None = None

    async def handle(self, envelope: Envelope) -> None:
        """Store one answer. Raises nothing."""
        payload = envelope.payload
        query, answer = await asyncio.to_thread(
            lambda: (self._said(payload.get("query")), self._said(payload.get("answer")))
        )
        if not query or not answer or payload.get("error") or envelope.message_type == "error":
            log.debug("%s without a question and an answer is skipped", envelope.message_id)
            return
        metadata = {name: payload.get(name) for name in ("session_id", "query_id")}
        metadata |= {"tool_calls": _count(payload.get("tool_calls")), "timestamp_utc": envelope.timestamp_utc}
        if len(self._waiting) == _WAITING_LIMIT:
            log.error("the answer %s was dropped, because the queue is full", self._waiting.popleft().message_id)
        self._waiting.append(_Answer(envelope.message_id, exchange(query, answer), metadata))
        await self._store_waiting()

    async def _store_waiting(self) -> None:
        """Store the answers that wait, in their order. Raises nothing."""
        async with self._storing:
            while self._waiting:
                answer = self._waiting[0]
                try:
                    await self._store(answer)
                except _PASSING as error:
                    if self._retry is None or self._retry.done():
                        log.warning(
                            "the answer %s could not be stored; it and the queued answers will be retried: %s",
                            answer.message_id,
                            error,
                        )
                        self._retry = asyncio.create_task(self._store_later())
                    return
                except Exception as error:  # the agent goes on; nobody waits for it
                    name = type(error).__name__
                    log.error("the answer %s was not stored: %s: %s", answer.message_id, name, error)
                if self._waiting and self._waiting[0] is answer:  # else it was dropped meanwhile
                    self._waiting.popleft()

    async def _store(self, answer: _Answer) -> None:
        entry_id = await asyncio.to_thread(
            self.service.write_episodic, answer.content, answer.metadata, message_id=answer.message_id
        )
        if self.feedback is not None:
            await self.feedback.remembered(answer.metadata["query_id"], entry_id)

    async def _store_later(self) -> None:
        """Try until nothing waits. This task ends with the event loop; answers that still wait are then lost."""
        try:
            while self._waiting:
                await asyncio.sleep(_RETRY_SECONDS)
                await self._store_waiting()
        finally:
            if self._waiting:
                log.error(
                    "%s answers were not stored, because they were still queued when the agent stopped",
                    len(self._waiting),
                )

    def _said(self, text: Any) -> str:
        """Return a text without recalled memories; "" if nothing else is left."""
        if not isinstance(text, str):
            return ""
        left = without_quoted(without_recalled(text), self._value_of)
        return left if left.strip() else ""

    def _value_of(self, topic: str) -> str | None:
        try:
            return self.service.recall_topic(topic)
        except MemoristError:  # storing the episode reports it
            return None


class FeedbackAgent(_Listener):
    """Attaches every score on ``user.feedback`` to the episode it was given for.

    The payload names the episode by its `query_id` (or its own `id`), and has a `score` from -1 to 1. A score
    that arrives before its answer is stored waits until `remembered` is called.
    """

    subject = USER_FEEDBACK

    def __init__(self, service: MemoryService | None = None) -> None:
        super().__init__(service)
        self._early: dict[Any, Any] = {}
        self._lock = threading.Lock()

    async def handle(self, envelope: Envelope) -> None:
        """Attach one score. Raises nothing."""
        try:
            await asyncio.to_thread(self._attach, envelope.payload.get("id"), envelope.payload)
        except Exception as error:  # the agent goes on; nobody waits for it
            log.error("the feedback %s was not stored: %s: %s", envelope.message_id, type(error).__name__, error)

    async def remembered(self, query_id: Any, entry_id: str) -> None:
        """Attach the score that arrived before this episode was stored, if one did. Raises nothing."""
        try:
            await asyncio.to_thread(self._attach_early, query_id, entry_id)
        except Exception as error:  # as above
            log.error("the feedback on %r was not stored: %s: %s", query_id, type(error).__name__, error)

    def _attach_early(self, query_id: Any, entry_id: str) -> None:
        with self._lock:
            score = self._early.pop(query_id, None) if isinstance(query_id, Hashable) else None
        if score is not None:
            self.service.add_feedback(entry_id, score)

    def _attach(self, entry_id: Any, payload: Any) -> None:
        query_id, score = payload.get("query_id"), payload.get("score")
        with self._lock:  # so that no episode is stored between the search for it and keeping its score
            if entry_id is None and query_id is not None:
                entry_id = self.service.find_episode(query_id)
                if entry_id is None:
                    self._early[query_id] = score
                    if len(self._early) > _WAITING_LIMIT:
                        del self._early[next(iter(self._early))]
        if entry_id is None:
            log.warning("feedback for an answer that is not stored: query_id %r", query_id)
            return
        self.service.add_feedback(entry_id, score)


def _count(calls: Any) -> int:
    if isinstance(calls, list):
        return len(calls)
    return calls if isinstance(calls, int) else 0


async def run_local(service: MemoryService, bus: Bus, *, dual_mode: bool = False) -> list[str]:
    """Start the tools and the agents on a bus, and return their names. They stop when the bus closes.

    Close the bus before the service: closing a bus waits for the messages that have arrived.

    Args:
        service: the service that they share.
        bus: an open bus.
        dual_mode: start the two older tools with two modes instead of the four with one purpose each.

    Raises:
        BusError: the bus is closed.
        EmbedderError, MissingExtraError: the service's embedder cannot be used; see `MemoryService.check`.
    """
    await asyncio.to_thread(service.check)
    feedback = FeedbackAgent(service)
    agents: list[MemoryAgent | FeedbackAgent] = [MemoryAgent(service, feedback), feedback]
    tools = [kind(service) for kind in (DUAL_MODE_TOOLS if dual_mode else TOOLS)]
    for agent in agents:  # before the tools, whose schemas may cause answers
        await agent.start(bus)
    for tool in tools:
        await tool.start(bus)
    return [*(tool.name for tool in tools), *(type(agent).__name__ for agent in agents)]
