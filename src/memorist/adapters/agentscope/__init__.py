"""The memory of AgentScope: short-term and long-term, with mem0 and with personal, task and tool memory.

With AgentScope 1.x installed these are subclasses of its own classes, so that its agents take them; without it
they work alone. For AgentScope 2.x there is `MemoryMiddleware`.
"""

from memorist.adapters.agentscope.base import LongTermMemoryBase
from memorist.adapters.agentscope.buffer import InMemoryMemory, MemoryBase
from memorist.adapters.agentscope.durable import DurableMemory
from memorist.adapters.agentscope.mem0 import Mem0LongTermMemory
from memorist.adapters.agentscope.memories import (
    ReMePersonalLongTermMemory,
    ReMeTaskLongTermMemory,
    ReMeToolLongTermMemory,
)
from memorist.adapters.agentscope.middleware import MemoryMiddleware
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase
from memorist.adapters.agentscope.types import Msg, StateModule, ToolResponse

__all__ = [
    "DurableMemory",
    "InMemoryMemory",
    "LongTermMemoryBase",
    "Mem0LongTermMemory",
    "MemoryBase",
    "MemoryMiddleware",
    "Msg",
    "ReMeLongTermMemoryBase",
    "ReMePersonalLongTermMemory",
    "ReMeTaskLongTermMemory",
    "ReMeToolLongTermMemory",
    "StateModule",
    "ToolResponse",
]
