"""Ports for servers that must be told one, or that are started again where they were."""

import os
import secrets
import socket
from contextlib import suppress

__all__ = ["free_port"]


_returned: set[int] = set()


def free_port() -> int:
    """Return a port of this machine that nobody listens on, and that this run of the tests has not returned before.

    It is below those that systems give to connections that go out: one of those could take it before the server has
    it, or while the server is down. Each process of the run has a range of its own, for the same reason.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 12
    while True:
        port = 20_000 + 1000 * worker + secrets.randbelow(1000)
        if port in _returned:
            continue
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _returned.add(port)
            return port
