"""The memory's tools in the form of the OpenAI Agents SDK."""

from collections.abc import Callable, Collection
from typing import Any

from agents import FunctionTool

from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import answer, of_user
from memorist.agents import ToolSchema
from memorist.agents import memory_tools as tools_of


def memory_tools(
    memory: AnyMemory, *, only: Collection[str] | None = None, user: Callable[[Any], str | None] | None = None
) -> list[FunctionTool]:
    """Return tools with which a model searches and changes the memory; see `memorist.agents.memory_tools`.

    Args:
        memory: what they read and write; a model cannot name another scope.
        only: the names of the tools wanted; by default all.
        user: returns the user for a run's context, where the memory is everyone's.
    """

    memory = behind(memory, "openai_agents")

    def made(schema: ToolSchema) -> FunctionTool:
        async def call(context: Any, arguments: str) -> str:
            seen = of_user(memory, user, context.context)
            return (await answer(tools_of(seen, only=only), schema.name, arguments))[1]

        return FunctionTool(
            name=schema.name,
            description=schema.description,
            params_json_schema=dict(schema.parameters),
            on_invoke_tool=call,
            strict_json_schema=False,  # arguments may be left out
        )

    return [made(schema) for schema in tools_of(memory, only=only).schemas]
