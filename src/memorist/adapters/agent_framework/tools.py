"""The memory's tools in the form of Agent Framework."""

from collections.abc import Collection
from typing import Any

from agent_framework import FunctionTool

from memorist import agents
from memorist.adapters.calling import answer
from memorist.adapters.turns import behind
from memorist.memory import Memory
from memorist.twin import Twin


def memory_tools(memory: Memory | Twin, *, only: Collection[str] | None = None) -> list[FunctionTool]:
    """Return tools with which a model searches and changes the memory; see `memorist.agents.memory_tools`.

    Args:
        memory: what they read and write; a model cannot name another scope.
        only: the names of the tools wanted; by default all.
    """
    box = agents.memory_tools(behind(memory, "agent_framework"), only=only)

    def made(schema: agents.ToolSchema) -> FunctionTool:
        async def call(**arguments: Any) -> str:
            return (await answer(box, schema.name, arguments))[1]

        return FunctionTool(
            name=schema.name, description=schema.description, func=call, input_model=dict(schema.parameters)
        )

    return [made(schema) for schema in box.schemas]
