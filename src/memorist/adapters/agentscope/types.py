"""AgentScope's own classes where its version 1 is installed, else classes of the same shape."""

import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

__all__ = ["LongTermMemoryShape", "MemoryShape", "Msg", "StateModule", "ToolResponse", "agentscope_version", "answer"]


def agentscope_version() -> int | None:
    """Return the major version of the AgentScope that is installed, None without one."""
    try:
        return int(version("agentscope").split(".")[0])
    except PackageNotFoundError:
        return None


def _usable() -> bool:
    """Return whether AgentScope 1 is there and can be imported; its own dependencies may have moved on."""
    if agentscope_version() != 1:
        return False
    try:
        import agentscope.memory  # noqa: F401
    except Exception as error:  # the edge to a package that is not ours
        warnings.warn(f"AgentScope is installed but cannot be used, so its classes are not: {error}", stacklevel=2)
        return False
    return True


if TYPE_CHECKING or not _usable():
    from memorist.adapters.agentscope.shapes import LongTermMemoryShape, MemoryShape, Msg, StateModule, ToolResponse
else:
    from agentscope.memory import LongTermMemoryBase as LongTermMemoryShape
    from agentscope.memory import MemoryBase as MemoryShape
    from agentscope.message import Msg
    from agentscope.module import StateModule
    from agentscope.tool import ToolResponse


def answer(text: str, metadata: dict[str, object] | None = None) -> ToolResponse:
    """Return a tool's answer of one text."""
    return ToolResponse(content=[{"type": "text", "text": text}], metadata=metadata)
