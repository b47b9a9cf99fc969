"""What REST adds to a verb: processor time of the server for ten records, beside the verb and what cannot be left out.

    python bench/speed/rest.py [--requests 300]

`recent` with ten records of 500, in one process and thread. `verb` is the call in Python, `as JSON` the encoding of its
answer by the standard library from plain values, `app` the ASGI app called without a socket, `server` the same over a
connection that is kept open, by the parser that is installed: httptools, or h11, which is Python alone. Processor time
of the event loop's thread, since the wall's depends on what else runs; medians of nine rounds, which alternate.
"""

import asyncio
import json
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Memory

from memorist.serve import running
from memorist.serve.app import create_app

ROUNDS = 9
ASKED = json.dumps({"limit": 10}).encode()
HEADERS = {"Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(ASKED))}


def asking(app: Any) -> Callable[[], Awaitable[None]]:
    """Return a request to the app itself."""
    fields = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/v1/recent",
        "raw_path": b"/v1/recent", "query_string": b"user=alice", "root_path": "", "headers": fields,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "asgi": {"version": "3.0"},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": ASKED, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        assert message.get("status", 200) == 200

    async def ask() -> None:
        await app(dict(scope), receive, send)

    return ask


def ask_over(address: tuple[str, int], times: int) -> None:
    """Send requests one after the other over a connection, and read each answer whole."""
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    request = f"POST /v1/recent?user=alice HTTP/1.1\r\n{head}\r\n".encode() + ASKED
    with socket.create_connection(address) as connection, connection.makefile("rb") as answer:
        for _ in range(times):
            connection.sendall(request)
            length = 0
            while (line := answer.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            assert len(answer.read(length)) == length > 0


async def measure(folder: Path, requests: int) -> list[dict[str, Any]]:
    async with Memory.open(folder / "memorist.db", embedder=common.embedder()) as memory:
        alice = memory.scoped(user="alice")
        await common.fill(alice, common.isotropic(500))
        plain = [record.to_dict() for record in await alice.recent(limit=10)]
        app = create_app(memory, open=True)
        listening = running.bind("127.0.0.1", 0)
        address, server = listening.getsockname(), running.Server(app)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        ask, taken = asking(app), dict[str, list[float]]()
        for _ in range(ROUNDS):
            for name in ("verb", "as JSON", "app", "server"):
                start = time.thread_time()
                if name == "server":
                    await asyncio.to_thread(ask_over, address, requests)
                for _ in range(requests if name != "server" else 0):
                    if name == "verb":
                        await alice.recent(limit=10)
                    elif name == "app":
                        await ask()
                    else:
                        json.dumps({"records": plain}, ensure_ascii=False).encode()
                taken.setdefault(name, []).append((time.thread_time() - start) / requests * 1e3)
        server.should_exit = True
        await serving
    medians = {name: float(np.median(each)) for name, each in taken.items()}
    medians[f"server ({running.AutoHTTPProtocol.__module__.split('.')[-1]})"] = medians.pop("server")
    return [
        {"what": name, "cpu_ms": value, "more than the verb": value - medians["verb"]}
        for name, value in medians.items()
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--requests", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        common.report(asyncio.run(measure(Path(folder), given.requests)), given.out)


if __name__ == "__main__":
    main()
