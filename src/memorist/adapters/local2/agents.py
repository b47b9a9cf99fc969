"""The agents that listen: one remembers every answer that was given, one what people thought of it."""

import asyncio
import logging
import threading
from collections.abc import Hashable
from typing import Any

from memorist.adapters.local2.layout import exchange
from memorist.adapters.local2.service import MemoryService
from memorist.adapters.local2.subjects import RESPONSE_GENERATION, USER_FEEDBACK
from memorist.bus import Bus, Envelope
from memorist.framing import without_recalled

__all__ = ["FeedbackAgent", "MemoryAgent"]

log = logging.getLogger("memorist.local2")

_MOST_EARLY = 1000
"""So many scores are held back until their answers are remembered; the oldest goes."""


class MemoryAgent:
    """Writes one episode for every answer on ``response.generation``: question and answer together.

    An error, or a message without a question or an answer, is passed over. What goes wrong is logged.

    Args:
        service: where the episodes go.
        feedback: the agent that may have heard of an answer before it was remembered.
    """

    def __init__(self, service: MemoryService, feedback: "FeedbackAgent | None" = None) -> None:
        self.service = service
        self.feedback = feedback

    async def start(self, bus: Bus) -> None:
        """Listen from now on.

        Raises:
            BusError: the bus is closed.
        """
        await bus.subscribe(RESPONSE_GENERATION, self.handle)

    async def handle(self, envelope: Envelope) -> None:
        """Remember one answer. Raises nothing."""
        payload = envelope.payload
        query, answer = _said(payload.get("query")), _said(payload.get("answer"))
        if not query or not answer or payload.get("error") or envelope.message_type == "error":
            log.debug("%s without a question and an answer is passed over", envelope.message_id)
            return
        metadata = {
            "session_id": payload.get("session_id"),
            "query_id": payload.get("query_id"),
            "tool_calls": _count(payload.get("tool_calls")),
            "timestamp_utc": envelope.timestamp_utc,
        }
        try:
            entry_id = await asyncio.to_thread(self.service.write_episodic, exchange(query, answer), metadata)
        except Exception as error:  # the agent lives on; nobody waits for it
            log.error("the answer %s was not remembered: %s: %s", envelope.message_id, type(error).__name__, error)
            return
        if self.feedback is not None:
            await self.feedback.remembered(metadata["query_id"], entry_id)


class FeedbackAgent:
    """Attaches every score on ``user.feedback`` to the episode it was given for.

    The payload names the episode by its `query_id` (or its own `id`), and has a `score` from -1 to 1. A score
    may overtake its answer, which takes a while to remember: it is held back until `remembered` is called.
    """

    def __init__(self, service: MemoryService) -> None:
        self.service = service
        self._early: dict[Any, Any] = {}
        self._lock = threading.Lock()

    async def start(self, bus: Bus) -> None:
        """Listen from now on.

        Raises:
            BusError: the bus is closed.
        """
        await bus.subscribe(USER_FEEDBACK, self.handle)

    async def handle(self, envelope: Envelope) -> None:
        """Attach one score. Raises nothing."""
        try:
            await asyncio.to_thread(self._attach, envelope.payload.get("id"), envelope.payload)
        except Exception as error:  # the agent lives on; nobody waits for it
            log.error("the feedback %s was not kept: %s: %s", envelope.message_id, type(error).__name__, error)

    async def remembered(self, query_id: Any, entry_id: str) -> None:
        """Attach the score that came for an answer before its episode was there, if one did. Raises nothing."""
        try:
            await asyncio.to_thread(self._attach_early, query_id, entry_id)
        except Exception as error:  # as above
            log.error("the feedback on %r was not kept: %s: %s", query_id, type(error).__name__, error)

    def _attach_early(self, query_id: Any, entry_id: str) -> None:
        with self._lock:
            score = self._early.pop(query_id, None) if isinstance(query_id, Hashable) else None
        if score is not None:
            self.service.add_feedback(entry_id, score)

    def _attach(self, entry_id: Any, payload: Any) -> None:
        query_id, score = payload.get("query_id"), payload.get("score")
        with self._lock:  # so that no episode is remembered between the search for it and the holding back
            if entry_id is None and query_id is not None:
                entry_id = self.service.find_episode(query_id)
                if entry_id is None:
                    self._early[query_id] = score
                    if len(self._early) > _MOST_EARLY:
                        del self._early[next(iter(self._early))]
        if entry_id is None:
            log.warning("feedback for an answer that is not remembered: query_id %r", query_id)
            return
        self.service.add_feedback(entry_id, score)


def _said(text: Any) -> str:
    """Return a text without what a recall put into it; "" where nothing is left."""
    left = without_recalled(text) if isinstance(text, str) else ""
    return left if left.strip() else ""


def _count(calls: Any) -> int:
    if isinstance(calls, list):
        return len(calls)
    return calls if isinstance(calls, int) else 0
