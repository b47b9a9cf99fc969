"""Task memory: what was learned from how tasks went."""

from typing import Any

from memorist.adapters.agentscope.flows import TASK_ACKNOWLEDGEMENT
from memorist.adapters.agentscope.reading import steps_of
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, acknowledged, items_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer

__all__ = ["ReMeTaskLongTermMemory"]

_TOP_K = 3


class ReMeTaskLongTermMemory(ReMeLongTermMemoryBase):
    """Experiences from how tasks went, found by when to use them."""

    async def record_to_memory(
        self, thinking: str, content: list[str], score: float = 1.0, **kwargs: Any
    ) -> ToolResponse:
        """Record what was learned from a task to long-term memory, so that similar tasks go better.

        Use this after solving a problem or completing a task, when a technique or an approach turned out to be
        useful, or when a lesson was learned.

        Args:
            thinking: Why this experience is valuable and worth remembering.
            content: The insights, each clear and actionable. For example ["Add indexes on WHERE clause columns
                to speed up queries", "Use EXPLAIN ANALYZE to identify missing indexes"].
            score: How well the approach worked: 1.0 for a success, 0.0 for a failure.
        """
        self._require_started()
        try:
            items = items_of(content)
            trajectory = {"messages": acknowledged(thinking, items, TASK_ACKNOWLEDGEMENT), "score": score}
            result = await self._run("summary_task_memory", kwargs, trajectories=[trajectory])
            return answer(f"Successfully recorded {len(items)} task memory/memories.", {"result": result})
        except Exception as error:  # the edge to the agent, which is told in words
            return answer(f"Error recording task memory: {error}")

    async def retrieve_from_memory(
        self, keywords: list[str], limit: int | None = None, top_k: int | None = None, **kwargs: Any
    ) -> ToolResponse:
        """Search long-term memory for experiences with similar tasks.

        IMPORTANT: call this BEFORE you try to solve a problem or answer a technical question, to build on what
        has worked before and to avoid what has not.

        Args:
            keywords: What the task is about, in specific, technical terms. For example ["database
                optimization", "slow queries"] or ["API design", "rate limiting"].
            limit: The most experiences to return for each keyword; 3 if left out.
            top_k: The same under another name.
        """
        self._require_started()
        try:
            found = await self._search("retrieve_task_memory", kwargs, keywords, _most(top_k, limit))
            return answer("\n\n".join(found) or "No task experiences found for the given keywords.")
        except Exception as error:  # the edge to the agent
            return answer(f"Error retrieving task memory: {error}")

    async def record(self, msgs: list[Msg | None], score: float = 1.0, **kwargs: Any) -> None:
        """Record what these messages teach, as the course of one task; those recorded before are left out.

        Args:
            msgs: the messages, calls of tools and their results included; None among them is passed over. A
                failure of the engine is a warning.
            score: how well it went: 1.0 and above is a success.
            **kwargs: further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        new = self._to_record(msgs)
        messages = [{"role": role, "content": text} for each in new for role, text in steps_of(each)]
        await self._learn("summary_task_memory", kwargs, {"messages": messages, "score": score}, new, "task memory")

    async def retrieve(
        self, msg: Msg | list[Msg] | None, limit: int | None = None, top_k: int | None = None, **kwargs: Any
    ) -> str:
        """Return the experiences that matter to this message.

        Args:
            msg: the message; of several, the last. None finds nothing. A failure of the engine is a warning.
            limit: the most experiences; 3 if left out.
            top_k: the same under another name.
            **kwargs: further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        return await self._answer("retrieve_task_memory", kwargs, msg, _most(top_k, limit), "task memory")


def _most(top_k: int | None, limit: int | None) -> int:
    return top_k if top_k is not None else limit if limit is not None else _TOP_K
