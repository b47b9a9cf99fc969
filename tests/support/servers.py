"""A real server on this machine's loopback, for as long as a test needs it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from memorist.serve.running import Server, bind, url_of


@asynccontextmanager
async def running(app: Any, *, host: str = "127.0.0.1", port: int = 0, **options: Any) -> AsyncIterator[str]:
    """Serve an app and yield its URL."""
    with bind(host, port) as listening:
        server = Server(app, **options)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup([listening])  # and not serve(), which looks ten times a second whether to end
        try:
            yield url_of(host, listening)
        finally:
            for connection in list(server.server_state.connections):
                connection.shutdown()  # those that a browser holds ready; the server would give them half a second
            await asyncio.sleep(0)
            await server.shutdown([listening])
