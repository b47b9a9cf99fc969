"""Personal, task and tool memory: what users say, what was learned from tasks, how tools are used."""

import json
import warnings
from collections.abc import Iterable
from typing import Any

from memorist.adapters.agentscope.base import telling
from memorist.adapters.agentscope.flows import PERSONAL_ACKNOWLEDGEMENT, TASK_ACKNOWLEDGEMENT
from memorist.adapters.agentscope.reading import blocks_of, listed, said, steps_of
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, acknowledged, flow_options, items_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer


class ReMePersonalLongTermMemory(ReMeLongTermMemoryBase):
    """Keeps what users say about themselves, as facts. A newer fact replaces one that it contradicts.

    `retrieve` returns a line for each.
    """

    _kind, _what = "personal", "memory"

    @telling("recording memory")
    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record important information about the user to long-term memory, for later conversations.

        Use this to save personal information, preferences, habits and facts about the user that you may need
        later. It lets you give answers that are personal and fit the situation.

        When to record:
        - The user tells you a preference, such as "I prefer homestays when I travel".
        - The user mentions a habit or a routine, such as "I start work at 9 AM".
        - The user says what they like or dislike, such as "I enjoy green tea".
        - The user tells you a fact about themselves, such as "I work as a software engineer".

        What to record: be specific and structured. Say who, when, where, what, why and how where it matters.

        Args:
            thinking: Your reasons why this is worth recording, and how it may be useful later.
            content: The facts to remember, a list of strings, each a clear statement that stands alone. For
                example ["User prefers homestays in Hangzhou", "User likes visiting West Lake in the morning"].
        """
        messages = acknowledged(thinking, items_of(content), PERSONAL_ACKNOWLEDGEMENT)
        result = await self._run("summary_personal_memory", kwargs, trajectories=[{"messages": messages}])
        kept = (result.get("metadata") or {}).get("memory_list") or []
        done = f"Successfully recorded {len(kept)} memory/memories to personal memory."
        return answer(done if kept else "Memory recording completed.", {"result": result})

    @telling("retrieving memory")
    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Search long-term memory for information about the user, and retrieve what is relevant.

        Call this BEFORE you answer questions about the user's preferences, their past or personal details, so
        that your answer rests on what was recorded and not on a guess.

        Use this when:
        - The user asks "what do I like?", "what are my preferences?" or "what do you know about me?".
        - The user asks about what they did, their habits or preferences they have told you.
        - The user refers to something they told you in an earlier conversation.
        - You need to fit an answer to the user's history.

        Args:
            keywords: What to search for in memory. Be specific, and give several keywords for better results. For
                example ["travel preferences", "Hangzhou"], ["work habits", "morning routine"] or ["food
                preferences", "tea"].
        """
        return answer(await self._search(kwargs, keywords) or "No memories found for the given keywords.")

    def _trajectory(self, new: list[Msg], options: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [{"role": each.role, "content": text} for each in new if (text := said(each))]}


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
        messages = acknowledged(thinking, items, TASK_ACKNOWLEDGEMENT)
        trajectory = {"messages": messages, "score": kwargs.pop("score", 1.0)}
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


class ReMeToolLongTermMemory(ReMeLongTermMemoryBase):
    """Keeps tool calls with their results, and for each tool a guideline with exact statistics.

    `record` takes messages whose texts are JSON as `record_to_memory` takes it; a text that is not JSON causes a
    warning.
    `retrieve` takes a message of the tools' exact names, with commas between.
    """

    _what = "tool memory"

    @telling("recording tool memory")
    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record executions of tools to long-term memory, to learn how the tools are used well.

        Use this after you have used a tool, to keep the details of the execution, its result and its cost. Over
        time, guidelines and best practices for each tool come of it.

        When to record:
        - After a tool was executed successfully.
        - After a tool failed, to learn what does not work.
        - When you find a combination of parameters that works well.
        - When a way of using a tool is worth noting.

        What to record: each execution with all of its details.

        Args:
            thinking: Your reasons why this execution is worth recording: what worked well, what could be better,
                what was learned.
            content: JSON strings, one for each execution, all with these fields: create_time (the time as
                "YYYY-MM-DD HH:MM:SS"), tool_name (the executed tool's name), input (its parameters, an object),
                output (what it returned, a string), token_cost (an integer), success (true or false) and
                time_cost (seconds). For example '{"create_time": "2024-01-01 10:00:00", "tool_name": "search",
                "input": {"query": "Python"}, "output": "Found 10 results", "token_cost": 100, "success": true,
                "time_cost": 1.2}'.
        """
        calls = _calls(listed(content))
        if not calls or not (kept := await self._keep(calls, kwargs)):
            return answer("No valid tool call results to record.")
        results = f"result{'s' if kept > 1 else ''}"
        return answer(f"Successfully recorded {kept} tool execution {results} and generated usage guidelines.")

    @telling("retrieving tool memory")
    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Retrieve guidelines and best practices for the use of tools, made from their past executions.

        Call this BEFORE you use a tool, above all if you are not sure how to use it, or want to follow what has
        proved itself.

        Use this when:
        - You are about to use a tool, and want to know the best practices.
        - You are not sure about a tool's parameters or how it is used.
        - You want to learn from executions that succeeded or failed.
        - The user asks "how should I use this tool?" or "what's the best way to ...?".
        - You need to know a tool's performance or its limits.

        Why retrieve first:
        - You use the experience that was gathered with the tool.
        - You avoid common mistakes and pitfalls.
        - You choose the best combination of parameters.
        - You know what the tool costs and how well it performs.
        - You follow best practices.

        Args:
            keywords: The tools, by their exact names. For example ["search"], ["database_query", "cache_get"] or
                ["api_call"].
        """
        names = ",".join(listed(keywords))
        return answer(await self._found(names, kwargs) or f"No tool guidelines found for: {names}")

    async def _learned(self, new: list[Msg], options: dict[str, Any]) -> bool:
        calls = _calls(text for each in new if said(each) for text in _texts(each))
        if calls:
            await self._keep(calls, options)
        return True

    async def _found(self, query: str, options: dict[str, Any]) -> str:
        result = await self._run("retrieve_tool_memory", flow_options(options), tool_names=query)
        return str(result.get("answer") or "")

    async def _keep(self, calls: list[dict[str, Any]], options: dict[str, Any]) -> int:
        """Record calls, write the guidelines of their tools, and return how many calls were fit to record."""
        result = await self._run("add_tool_call_result", options, tool_call_results=calls)
        names = list(dict.fromkeys(name for each in calls if isinstance(name := each.get("tool_name"), str) and name))
        if names:
            await self._run("summary_tool_memory", options, tool_names=names)
        metadata = result.get("metadata") if isinstance(result, dict) else None
        return int((metadata or {}).get("recorded", len(calls)))  # another runner may leave this number out


def _calls(items: Iterable[str]) -> list[dict[str, Any]]:
    """Return the items that are JSON objects; warn about the others."""
    calls = []
    for item in items:
        try:
            call = json.loads(item)
            if not isinstance(call, dict):
                raise ValueError(f"it is not an object but {type(call).__name__}")
            calls.append(call)
        except (ValueError, TypeError, RecursionError) as error:
            warnings.warn(f"Failed to parse tool call result JSON: {item}. Error: {error}", stacklevel=3)
    return calls


def _texts(message: Msg) -> list[str]:
    return [str(block.get("text") or "") for block in blocks_of(message) if block.get("type") == "text"]
