"""The four tools with which an agent uses its memory."""

from typing import Any

from memorist.adapters.mango.layered import LayeredMemory
from memorist.adapters.mango.types import MemoryEntry, MemoryService, make_entry_id
from memorist.agents.tools import Toolbox, ToolResult

MEMORY_TOOLS = (
    "search_saved_correct_tool_uses",
    "save_question_tool_args",
    "save_text_memory",
    "delete_last_memory_entry",
)
SUMMARY_LENGTH = 300
"""The most characters of a result that are stored with a call."""
_MOST_FOUND = 5
_THRESHOLD = 0.6


class MemoryTools(Toolbox):
    """The tools on one memory, for one session of an agent.

    ```python
    tools = MemoryTools(memory)
    schemas = [each.openai for each in tools.schemas]
    result = await tools.call("save_text_memory", {"content": "Revenue is in cents"})
    ```
    """

    def __init__(self, memory: MemoryService) -> None:
        super().__init__([getattr(self, name) for name in MEMORY_TOOLS])
        self.memory = memory
        self._saved: list[str] = []

    def saved(self, entry_id: str) -> None:
        """Note that a tool call was stored in this session, so that it can be deleted."""
        if entry_id in self._saved:
            self._saved.remove(entry_id)
        self._saved.append(entry_id)

    async def search_saved_correct_tool_uses(self, question: str) -> dict[str, Any]:
        """Search the tool calls that answered similar questions before.

        Args:
            question: the question to answer now.
        """
        found = await self.memory.retrieve(question, top_k=_MOST_FOUND, similarity_threshold=_THRESHOLD)
        names = ("question", "tool_name", "tool_args", "result_summary")
        results = [
            {name: getattr(each, name) for name in names} | {"similarity": round(each.similarity, 2)} for each in found
        ]
        return {"results": results, "count": len(results)}

    async def save_question_tool_args(
        self, question: str, tool_name: str, tool_args: dict[str, Any], result_summary: str = ""
    ) -> dict[str, str]:
        """Save a tool call that answered a question correctly.

        Args:
            question: the question that was answered.
            tool_name: the tool that was called.
            tool_args: the exact arguments that worked.
            result_summary: what the tool returned, in short.
        """
        entry = MemoryEntry(
            make_entry_id(), question, tool_name, tool_args, result_summary[:SUMMARY_LENGTH], source="llm"
        )
        await self.memory.store(entry)
        self.saved(entry.id)
        return {"saved_id": entry.id}

    async def save_text_memory(self, content: str) -> dict[str, str]:
        """Save a text worth remembering: a definition, a rule, how the data is meant.

        Args:
            content: the text, in words that can be understood alone.
        """
        # other memories have no such parameter
        origin: dict[str, Any] = {"source": "llm"} if isinstance(self.memory, LayeredMemory) else {}
        return {"saved_id": await self.memory.save_text(content, **origin)}

    async def delete_last_memory_entry(self) -> ToolResult:
        """Delete the tool call that was saved last in this session, because it was wrong."""
        if not self._saved:
            return ToolResult(success=False, error="No memory entry to delete from this session.")
        await self.memory.delete(self._saved[-1])
        return ToolResult(success=True, data={"deleted_id": self._saved.pop()})
