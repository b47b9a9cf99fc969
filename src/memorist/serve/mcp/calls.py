"""A span for each request of an MCP client, with its method and tool, and without its content or answer."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from mcp import MCPError
from mcp_types import CallToolResult

from memorist.engine.traced import Telemetry
from memorist.serve.mcp.tools import TOOLS


def observed(telemetry: Telemetry) -> Callable[..., Coroutine[Any, Any, Any]]:
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
