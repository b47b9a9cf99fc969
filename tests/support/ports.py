"""Ports for servers that must be told one, or that are started again where they were."""

import secrets
import socket
from contextlib import suppress

__all__ = ["free_port"]


def free_port() -> int:
    """Return a port of this machine that nobody listens on.

    It is below those that systems give to connections that go out: one of those could take it before the server has
    it, or while the server is down.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
