"""Mango's agent memory: successful tool calls, texts, and verified training examples.

`ChromaAgentMemory` stores them in Chroma, like Mango's own; `AgentMemory` does in any Memorist store.
"""

from memorist.adapters.mango.agent_memory import AgentMemory
from memorist.adapters.mango.chroma import ChromaAgentMemory
from memorist.adapters.mango.prompts import memory_sections, prompt_sections
from memorist.adapters.mango.recording import ToolCallRecorder
from memorist.adapters.mango.tools import MEMORY_TOOLS, MemoryTools
from memorist.adapters.mango.training import TrainingReport, export_lines, train_lines
from memorist.adapters.mango.types import MemoryEntry, MemoryService, TextMemoryEntry, TrainingEntry, make_entry_id
from memorist.agents.tools import ToolResult

__all__ = [
    "MEMORY_TOOLS",
    "AgentMemory",
    "ChromaAgentMemory",
    "MemoryEntry",
    "MemoryService",
    "MemoryTools",
    "TextMemoryEntry",
    "ToolCallRecorder",
    "ToolResult",
    "TrainingEntry",
    "TrainingReport",
    "export_lines",
    "make_entry_id",
    "memory_sections",
    "prompt_sections",
    "train_lines",
]
