"""Tool memory: executions of tools, and guidelines made from them."""

import json
import warnings
from collections.abc import Iterable
from typing import Any

from memorist.adapters.agentscope.base import telling
from memorist.adapters.agentscope.reading import blocks_of, listed, said
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, flow_options
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer


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
