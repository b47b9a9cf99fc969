"""The server: answers the SDK's requests from the memory in the caller's scope."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial, wraps
from typing import Any, TypeVar

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types import CallToolResult, ListToolsResult, PaginatedRequestParams

from memorist import __version__
from memorist.engine.traced import Ended, Telemetry, Watch
from memorist.records.origins import MCP, Author
from memorist.serve.mcp import prompt, resources
from memorist.serve.mcp.access import Access
from memorist.serve.mcp.eliciting import can_ask
from memorist.serve.mcp.failures import protocol_error
from memorist.serve.mcp.tools import TOOLS
from memorist.serve.mcp.toolsets import INSTRUCTIONS, ToolSet, call_tool, list_tools

Context = ServerRequestContext[Any, Any]
AccessOf = Callable[[Context], Access]
_DECIDER = replace(MCP, claims=MCP.claims | Author.USER, proposes=False)
"""The same door for the user, who decides what the agent has asked for."""
_T = TypeVar("_T")
_P = TypeVar("_P")


def create_server(
    access: Access | AccessOf,
    *,
    tools: ToolSet = "core",
    telemetry: Telemetry | None = None,
    ended: Callable[[Ended], None] | None = None,
    elicit: bool = False,
) -> Server[Any]:
    """Return an MCP server, to be run on a transport of the SDK.

    Args:
        access: the memory and the right; one for all requests, or a function that returns it for each.
        tools: which tools are offered: "core", the five that a model needs, "connector", with those by which ChatGPT
            reads, or "all".
        telemetry: gets the spans; by default OpenTelemetry with the program's own providers.
        ended: called after each call of a verb, for metrics.
        elicit: whether a client that can show questions asks the user at once about what would wait in the inbox.
    """
    telemetry = telemetry or Telemetry()
    watch = Watch(telemetry, ended)

    def find(context: Context) -> Access:
        found = access(context) if callable(access) else access
        memory = found.memory.through(MCP, token=found.token).traced(watch)
        if not (elicit and can_ask(context)):
            return replace(found, memory=memory)
        decider = found.memory.through(_DECIDER, token=found.token).traced(watch)
        return replace(found, memory=memory, decider=decider)

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

    prompts = dict[str, Any]()
    if tools == "all":
        prompts = {"on_list_prompts": answering(prompt.list_prompts), "on_get_prompt": answering(prompt.get_prompt)}
    server: Server[Any] = Server(
        "memorist",
        title="Memorist",
        version=__version__,
        description="Long-term memory for LLM agents",
        instructions=INSTRUCTIONS[tools],
        on_list_tools=answering(listed),
        on_call_tool=answering(partial(call_tool, tools=tools)),
        on_list_resources=answering(resources.list_resources),
        on_list_resource_templates=answering(resources.list_templates),
        on_read_resource=answering(resources.read_resource),
        on_completion=answering(resources.complete),
        **prompts,
    )
    server.middleware[:] = [_observed(telemetry)]
    return server


def _observed(telemetry: Telemetry) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return a middleware that replaces the SDK's own, which reports error messages and names that a client made up."""

    async def middleware(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        tool = (ctx.params or {}).get("name")
        known = tool if ctx.method == "tools/call" and tool in TOOLS else None
        told = {"mcp.method.name": ctx.method} | ({} if known is None else {"gen_ai.tool.name": known})
        headers = dict(getattr(ctx.request, "headers", None) or {})
        carried = {name: text for name, text in dict(ctx.meta or {}).items() if isinstance(text, str)}
        name = ctx.method if known is None else f"{ctx.method} {known}"
        with telemetry.span(name, told, headers=headers | carried) as span:
            try:
                result = await call_next(ctx)
            except MCPError as error:
                span.set_attribute("rpc.response.status_code", str(error.error.code))
                raise
            if isinstance(result, CallToolResult) and result.is_error:
                telemetry.failed(span, "tool_error")
            return result

    return middleware
