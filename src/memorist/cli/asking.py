"""A request to a server of this machine over a plain socket: an HTTP library would take longer to load."""

import json
from collections.abc import Mapping
from typing import Any


def ask(
    url: str, verb: str, scope: Mapping[str, str | None], body: Mapping[str, Any], *, seconds: float
) -> dict[str, Any]:
    """Post a request to a server and return its answer.

    Args:
        url: the server's plain HTTP URL, as it announced it.
        verb: the verb of the request.
        scope: the tenant, the user and the labels.
        body: the other arguments.
        seconds: the timeout of each wait.

    Raises:
        OSError: it does not answer, or is not a Memorist server.
        MemoristError: the error that it answers.
    """
    import socket
    from urllib.parse import quote

    host, _, port = url.removeprefix("http://").rpartition(":")
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in scope.items() if value is not None)
    sent = json.dumps(body).encode()
    head = (
        f"POST /v1/{verb}?{query} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(sent)}\r\nConnection: close\r\n\r\n"
    )
    # bytes, because a host given as a string loads the IDNA codec, which takes 1 ms
    address: Any = (host.strip("[]").encode(), int(port))
    with socket.create_connection(address, timeout=seconds) as connection:
        connection.sendall(head.encode() + sent)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    answered, _, content = received.partition(b"\r\n\r\n")
    status = answered.split()[1:2]
    try:
        found: dict[str, Any] = json.loads(content)
        if status == [b"200"] and isinstance(found, dict):
            return found
        if "error" not in found:
            raise ValueError
    except (ValueError, TypeError):
        raise OSError(f"the server at {url} answered with status {b''.join(status).decode() or 'none'}") from None
    from memorist.errors import error_of

    raise error_of(found)
