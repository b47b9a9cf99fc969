"""Claude's memory tool and the session store of the Claude Agent SDK, on one Memorist memory."""

from typing import TYPE_CHECKING

from memorist.adapters.lazy import lazy_names

if TYPE_CHECKING:
    from memorist.adapters.claude.sessions import MemoristSessionStore
    from memorist.adapters.claude.tool import MemoristAsyncMemoryTool, MemoristMemoryTool

__all__ = ["MemoristAsyncMemoryTool", "MemoristMemoryTool", "MemoristSessionStore"]

_MODULES = {"MemoristAsyncMemoryTool": "tool", "MemoristMemoryTool": "tool", "MemoristSessionStore": "sessions"}
_EXTRAS = {"anthropic": "claude", "claude_agent_sdk": "claude"}
__getattr__ = lazy_names(__name__, _MODULES, extras=_EXTRAS)
