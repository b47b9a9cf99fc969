"""Stores successful tool calls automatically; a failing memory does not fail the turn."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from memorist.adapters.mango.tools import MEMORY_TOOLS, SUMMARY_LENGTH, MemoryTools
from memorist.adapters.mango.types import MemoryEntry, MemoryService, make_entry_id
from memorist.framing.frame import without_recalled

logger = logging.getLogger("memorist.adapters.mango")


class ToolCallRecorder:
    """Stores the tool calls of an agent.

    ```python
    recorder = ToolCallRecorder(memory)
    result = await run_tool(name, arguments)
    await recorder.record(question, name, arguments, result.data, success=result.success)
    ```

    Args:
        memory: where to store them.
        tools: the session's memory tools; ``delete_last_memory_entry`` then deletes calls stored here, too.
    """

    def __init__(self, memory: MemoryService, tools: MemoryTools | None = None) -> None:
        self.memory = memory
        self._tools = tools

    async def record(
        self,
        question: str,
        tool_name: str,
        tool_args: Mapping[str, Any] | None,
        result: Any = "",
        *,
        success: bool = True,
    ) -> str | None:
        """Store a call and return its id; None for a failed call, a memory tool, or a failing memory.

        Args:
            question: what the user asked; recalled blocks in it are left out.
            tool_name: the tool.
            tool_args: its arguments.
            result: what it returned: a text, or a value that is stored as one.
            success: whether the call succeeded.
        """
        if not success or tool_name in MEMORY_TOOLS:
            return None
        try:
            asked, given = without_recalled(question), dict(tool_args or {})
            entry = MemoryEntry(make_entry_id(), asked, tool_name, given, _summary(result), source="llm")
            await self.memory.store(entry)
        except Exception:  # the host's rule: a store that fails, whatever it raises, never fails the turn
            logger.warning("Storing a call of %s failed", tool_name, exc_info=True)
            return None
        if self._tools is not None:
            self._tools.saved(entry.id)
        return entry.id


def _summary(result: Any) -> str:
    if not isinstance(result, str):
        try:
            result = json.dumps(result, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):
            result = str(result)
    return without_recalled(str(result))[:SUMMARY_LENGTH]
