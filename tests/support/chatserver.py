"""A chat endpoint on the loopback interface that answers as it is told."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Reply: TypeAlias = Any
"""A text or JSON values: the model's answer. (status, body, headers): an HTTP answer. An event: what is waited
for before the connection is closed. A function: from the request's body to one of these."""

GONE = threading.Event()
"""Waited for by no one: the connection is closed at once."""
GONE.set()


class ChatServer(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint; `replies` are used up one by one, then `always` answers."""

    daemon_threads = True
    request_queue_size = 50

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.replies: list[Reply] = []
        self.always: Reply = '{"facts": []}'
        self.finish_reason = "stop"
        self.busy = 0
        self.busiest = 0
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up waiting is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def asked(self, number: int = -1) -> Any:
        """Return the data that a request put to the model."""
        return json.loads(self.requests[number]["messages"][-1]["content"])


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.requests.append({**body, "path": self.path, "key": self.headers["Authorization"]})
            reply = server.replies.pop(0) if server.replies else server.always
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        try:
            made = reply(body) if callable(reply) else reply
            if isinstance(made, threading.Event):
                made.wait(60)
        finally:
            with server.lock:
                server.busy -= 1
        self._answer(made)  # after which its client may ask again at once

    def _answer(self, reply: Reply) -> None:
        if isinstance(reply, tuple):
            return self._send(*reply)
        if isinstance(reply, threading.Event):
            return
        text = reply if isinstance(reply, str) or reply is None else json.dumps(reply, ensure_ascii=False)
        self._send(200, completion(text, self.server.finish_reason))

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


def completion(text: str | None, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


SLOW_DOWN = (429, {"error": {"message": "slow down"}}, {"retry-after-ms": "1"})


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
