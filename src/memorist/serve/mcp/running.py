"""Running the server: over stdio for one client, over HTTP for many."""

import logging
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from anyio import AsyncFile, wrap_file
from mcp.server.stdio import stdio_server

from memorist.errors import InvalidInputError
from memorist.records.content import whole_json
from memorist.serve.auth import Tokens, is_loopback
from memorist.serve.mcp.access import Access, Gate
from memorist.serve.mcp.app import LOOPBACK_HOSTS, PATH, create_app
from memorist.serve.mcp.server import create_server
from memorist.serve.mcp.toolsets import ToolSet
from memorist.serve.running import Server, bind, bracketed, check_open, url_of

log = logging.getLogger("memorist.serve")

_EVERY_ADDRESS = ("0.0.0.0", "::", "")


async def serve_stdio(access: Access, *, tools: ToolSet = "core") -> None:
    """Serve the client at the other end of the standard streams until it closes them.

    Only the protocol is written to the standard output, even if a library prints.
    """
    server = create_server(access, tools=tools)
    with _ending_at_once():
        try:
            async with stdio_server(stdin=cast(AsyncFile[str], _incoming())) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* (BrokenPipeError, ConnectionResetError):
            log.info("the client hung up")


async def serve_http(
    gate: Gate,
    *,
    tools: ToolSet = "core",
    host: str = "127.0.0.1",
    port: int = 8766,
    hosts: Iterable[str] = (),
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve clients over streamable HTTP until the process receives a signal to stop.

    Args:
        gate: admits requests; `open` applies only on a loopback address.
        tools: which tools are offered; see `create_server`.
        host: the address to listen on.
        port: the port; 0 picks a free one.
        hosts: more names that clients call this server by.
        ready: called with the URL once it listens.

    Raises:
        InvalidInputError: others than this machine would be served and there is no token yet, or it would
            listen on every address and no name was given for it.
        OSError: the address cannot be had.
    """
    near = check_open(host, tokens=bool(await Tokens(gate.memory).list()))
    more = tuple(hosts)
    app = create_app(replace(gate, open=gate.open and near), tools=tools, hosts=[*_names(host, more), *more])
    with bind(host, port) as listening:
        ready(url_of(host, listening) + PATH)
        async with app.router.lifespan_context(app):
            await Server(app).serve(sockets=[listening])


def _names(host: str, more: tuple[str, ...]) -> tuple[str, ...]:
    if is_loopback(host):
        return LOOPBACK_HOSTS
    if host in _EVERY_ADDRESS:
        if not more:
            raise InvalidInputError("name the host by which clients reach this server: --allow-host NAME")
        return LOOPBACK_HOSTS
    return (bracketed(host),)


async def _incoming() -> AsyncIterator[str]:
    """Yield the lines of the standard input as the SDK's parser takes them: it drops one with half of a character."""
    async for line in wrap_file(sys.stdin.buffer):
        yield whole_json(line).decode("utf-8", "replace")


@contextmanager
def _ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process as SIGTERM does, because the thread that waits for the next line cannot be woken.

    Acknowledged writes are on disk, so there is nothing to finish.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
