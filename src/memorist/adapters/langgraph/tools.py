"""The memory's ready tools in LangChain's form."""

import json
from collections.abc import Callable, Collection
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from memorist import agents
from memorist.agents import Toolbox, ToolSchema
from memorist.memory import Memory
from memorist.twin import Twin, asynchronous, run

__all__ = ["memory_tools"]


def memory_tools(memory: Memory | Twin, *, only: Collection[str] | None = None) -> list[BaseTool]:
    """Return tools with which a model searches, saves, updates and deletes; see `memorist.agents.memory_tools`.

    A call that fails is answered with what went wrong, as an error that LangChain marks as such.

    Args:
        memory: what the tools read and write; its scope is settled here, never by the model.
        only: the names of the tools wanted.

    Raises:
        InvalidInputError: there is no tool of a name in `only`.
    """
    box = agents.memory_tools(asynchronous(memory), only=only)
    return [_tool(box, schema) for schema in box.schemas]


def _tool(box: Toolbox, schema: ToolSchema) -> BaseTool:
    async def call(**arguments: Any) -> str:
        result = await box.call(schema.name, arguments)
        if not result.success:
            raise ToolException(result.error)
        return result.data if isinstance(result.data, str) else json.dumps(result.data, ensure_ascii=False)

    blocking: Callable[..., str] = lambda **arguments: run(lambda: call(**arguments))  # noqa: E731
    return StructuredTool(
        name=schema.name,
        description=schema.description,
        args_schema=dict(schema.parameters),
        func=blocking,
        coroutine=call,
        handle_tool_error=True,
    )
