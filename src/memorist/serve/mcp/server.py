"""The server: answers the SDK's requests from the memory in the caller's scope."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types import ListToolsResult, PaginatedRequestParams

from memorist import __version__
from memorist.engine.traced import Ended, Telemetry, Watch
from memorist.records.origins import MCP
from memorist.serve.mcp import prompt, resources
from memorist.serve.mcp.access import Access
from memorist.serve.mcp.calls import observed
from memorist.serve.mcp.failures import protocol_error
from memorist.serve.mcp.toolsets import CORE_INSTRUCTIONS, ToolSet, call_tool, list_tools

Context = ServerRequestContext[Any, Any]
AccessOf = Callable[[Context], Access]
_T = TypeVar("_T")
_P = TypeVar("_P")


def create_server(
    access: Access | AccessOf,
    *,
    tools: ToolSet = "core",
    telemetry: Telemetry | None = None,
    ended: Callable[[Ended], None] | None = None,
) -> Server[Any]:
    """Return an MCP server, to be run on a transport of the SDK.

    Args:
        access: the memory and the right; one for all requests, or a function that returns it for each.
        tools: which tools are offered: "core", the five that a model needs, or "all".
        telemetry: gets the spans; by default OpenTelemetry with the program's own providers.
        ended: called after each call of a verb, for metrics.
    """
    telemetry = telemetry or Telemetry()
    watch = Watch(telemetry, ended)

    def find(context: Context) -> Access:
        found = access(context) if callable(access) else access
        return replace(found, memory=found.memory.through(MCP, token=found.token).traced(watch))

    def answering(answer: Callable[[Access, _P], Awaitable[_T]]) -> Callable[[Context, _P], Awaitable[_T]]:
        @wraps(answer)
        async def handle(context: Context, params: _P) -> _T:
            try:
                return await answer(find(context), params)
            except MCPError:
                raise
            except Exception as error:
                raise protocol_error(error) from None

        return handle

    async def listed(access: Access, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list_tools(access, tools))

    core, prompts = tools == "core", dict[str, Any]()
    if not core:
        prompts = {"on_list_prompts": answering(prompt.list_prompts), "on_get_prompt": answering(prompt.get_prompt)}
    server: Server[Any] = Server(
        "memorist",
        title="Memorist",
        version=__version__,
        description="Long-term memory for LLM agents",
        instructions=CORE_INSTRUCTIONS if core else prompt.INSTRUCTIONS,
        on_list_tools=answering(listed),
        on_call_tool=answering(partial(call_tool, tools=tools)),
        on_list_resources=answering(resources.list_resources),
        on_list_resource_templates=answering(resources.list_templates),
        on_read_resource=answering(resources.read_resource),
        on_completion=answering(resources.complete),
        **prompts,
    )
    server.middleware[:] = [observed(telemetry)]
    return server
