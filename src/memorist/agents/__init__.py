"""What memory needs around an agent: safe injection, the caller's identity, tools and their dispatch."""

from memorist.agents.caller import CallerContext, caller, current_caller
from memorist.agents.injection import MemoryBlock, frame, without_recalled
from memorist.agents.sanitizing import sanitize
from memorist.agents.tools import Toolbox, ToolResult, ToolSchema

__all__ = [
    "CallerContext",
    "MemoryBlock",
    "ToolResult",
    "ToolSchema",
    "Toolbox",
    "caller",
    "current_caller",
    "frame",
    "sanitize",
    "without_recalled",
]
