"""The memory's ready tools in LangChain's form."""

from collections.abc import Collection
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from memorist import agents
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import answer
from memorist.agents import Toolbox, ToolSchema
from memorist.blocking_client import blocking


def memory_tools(memory: AnyMemory, *, only: Collection[str] | None = None) -> list[BaseTool]:
    """Return tools with which a model searches, saves, updates and deletes; see `memorist.agents.memory_tools`.

    A call that fails is answered with what went wrong, as an error that LangChain marks as such.

    Args:
        memory: what the tools read and write; its scope is settled here, never by the model.
        only: the names of the tools wanted.

    Raises:
        InvalidInputError: there is no tool of a name in `only`.
    """
    box = agents.memory_tools(behind(memory, "langgraph"), only=only)
    return [_tool(box, schema) for schema in box.schemas]


def _tool(box: Toolbox, schema: ToolSchema) -> BaseTool:
    async def call(**arguments: Any) -> str:
        done, text = await answer(box, schema.name, arguments)
        if not done:
            raise ToolException(text)
        return text

    return StructuredTool(
        name=schema.name,
        description=schema.description,
        args_schema=dict(schema.parameters),
        func=blocking(call),
        coroutine=call,
        handle_tool_error=True,
    )
