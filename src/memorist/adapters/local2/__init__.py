"""LoCAL2's memory: exact topics and similar episodes, as tools and participants on a message bus."""

from memorist.adapters.local2.agents import FeedbackAgent, MemoryAgent, run_local
from memorist.adapters.local2.config import MemoryConfig
from memorist.adapters.local2.participant import (
    RESPONSE_GENERATION,
    TOOL_SCHEMA,
    USER_FEEDBACK,
    Participant,
    tool_request,
    tool_result,
)
from memorist.adapters.local2.service import MemoryService
from memorist.adapters.local2.tools import (
    DUAL_MODE_TOOLS,
    TOOLS,
    MemoryRecallTool,
    MemorySaveTool,
    MemoryTool,
    RecallTopicTool,
    SaveMemoryTool,
    SaveTopicTool,
    SearchMemoryTool,
)

__all__ = [
    "DUAL_MODE_TOOLS",
    "RESPONSE_GENERATION",
    "TOOLS",
    "TOOL_SCHEMA",
    "USER_FEEDBACK",
    "FeedbackAgent",
    "MemoryAgent",
    "MemoryConfig",
    "MemoryRecallTool",
    "MemorySaveTool",
    "MemoryService",
    "MemoryTool",
    "Participant",
    "RecallTopicTool",
    "SaveMemoryTool",
    "SaveTopicTool",
    "SearchMemoryTool",
    "run_local",
    "tool_request",
    "tool_result",
]
