"""Task memory: what was learned from past tasks."""

from typing import Any

from memorist.adapters.agentscope.base import telling
from memorist.adapters.agentscope.flows import TASK_ACKNOWLEDGEMENT
from memorist.adapters.agentscope.reading import steps_of
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, acknowledged, items_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer


class ReMeTaskLongTermMemory(ReMeLongTermMemoryBase):
    """Keeps experiences with tasks, found by when to use them.

    `record` takes the messages, tool calls and their results included, as the course of one task, and a `score`: how
    well it went (1.0 and above, the default, is a success).
    """

    _kind, _what = "task", "task memory"

    @telling("recording task memory")
    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record experiences with tasks, and what was learned from them, to long-term memory.

        Use this to save knowledge about a task that can help with similar tasks later. It lets you learn from
        experience and get better over time.

        When to record:
        - After you have solved a technical problem or completed a task.
        - When you find a useful technique or approach.
        - After you have implemented a solution in specific steps.
        - When you learn a best practice or an important lesson.

        What to record: be detailed and actionable. Include:
        - The task and its context.
        - What was done, step by step.
        - The techniques and methods that were used.
        - The results, and how effective they were.
        - The lessons learned, and what to watch for.

        Args:
            thinking: Your reasons why this experience is valuable, and what makes it worth remembering.
            content: The insights to remember, a list of strings, each clear and actionable. For example ["Add
                indexes on WHERE clause columns to speed up queries", "Use EXPLAIN ANALYZE to identify missing
                indexes"].
        """
        items = items_of(content)
        trajectory = {
            "messages": acknowledged(thinking, items, TASK_ACKNOWLEDGEMENT),
            "score": kwargs.pop("score", 1.0),
        }
        result = await self._run("summary_task_memory", kwargs, trajectories=[trajectory])
        return answer(f"Successfully recorded {len(items)} task memory/memories.", {"result": result})

    @telling("retrieving task memory")
    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Search long-term memory for experiences with similar tasks, and retrieve what is relevant.

        IMPORTANT: Call this BEFORE you try to solve a problem or answer a technical question, so that you build on
        experience and proven solutions and do not start from nothing.

        Use this when:
        - You are asked to solve a technical problem or implement a solution.
        - You are asked for a recommendation, a best practice or an approach.
        - You are asked "what do you know about ...?" or "have you seen this before?".
        - The task at hand may be like one that you know.
        - You need to recall a specific technique or method.

        Why retrieve first:
        - You learn from past successes and mistakes.
        - Your answer is more accurate, and tried in practice.
        - You do not invent again what is there.
        - Your recommendations are consistent and informed.

        Args:
            keywords: The task or its field. Be specific and use technical terms. For example ["database
                optimization", "slow queries"], ["API design", "rate limiting"] or ["code refactoring", "Python"].
        """
        return answer(await self._search(kwargs, keywords) or "No task experiences found for the given keywords.")

    def _trajectory(self, new: list[Msg], options: dict[str, Any]) -> dict[str, Any]:
        messages = [{"role": role, "content": text} for each in new for role, text in steps_of(each)]
        return {"messages": messages, "score": options.pop("score", 1.0)}
