"""Memorist for MCP clients: tools, resources and a prompt over one open `Memory`, by stdio and by HTTP."""

from memorist.errors import missing_extra

try:
    from memorist.serve.mcp.access import Access, Gate
    from memorist.serve.mcp.app import create_app
    from memorist.serve.mcp.running import serve_http, serve_stdio
    from memorist.serve.mcp.server import create_server
except ImportError as error:  # none, or one of the 1.x, which has other names
    if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "uvicorn"):
        raise
    raise missing_extra("mcp 2 or newer", "mcp") from error

__all__ = ["Access", "Gate", "create_app", "create_server", "serve_http", "serve_stdio"]
