"""What memory needs around an agent: what to tell before a turn, what to keep after one, tools, framing."""

from memorist.agents.caller import CallerContext, caller, current_caller
from memorist.agents.core_tools import memory_tools
from memorist.agents.messages import read_messages
from memorist.agents.tools import Toolbox, ToolResult, ToolSchema
from memorist.agents.turns import after_turn, before_turn
from memorist.framing.frame import frame, neutralise, without_recalled
from memorist.records.content import text_of

__all__ = [
    "CallerContext",
    "ToolResult",
    "ToolSchema",
    "Toolbox",
    "after_turn",
    "before_turn",
    "caller",
    "current_caller",
    "frame",
    "memory_tools",
    "neutralise",
    "read_messages",
    "text_of",
    "without_recalled",
]
