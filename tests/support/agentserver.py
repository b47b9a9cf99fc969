"""A model for coding agents' own programs: the endpoints of Anthropic and OpenAI that they stream from."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Events: TypeAlias = list[dict[str, Any]]


class AgentServer(ThreadingHTTPServer):
    """Answers every request with `answer`, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AgentServer

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._reply(404, "application/json", "{}")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        path = self.path.partition("?")[0]
        streams = {"/v1/messages": _anthropic, "/v1/responses": _openai}
        if path not in streams:
            self._reply(404, "application/json", "{}")
            return
        self.server.requests.append(asked)
        events = streams[path](self.server.answer)
        text = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        self._reply(200, "text/event-stream", text)

    def _reply(self, status: int, form: str, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", form)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())


def _anthropic(answer: str) -> Events:
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": answer}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def _openai(answer: str) -> Events:
    text = {"type": "output_text", "text": answer, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    usage = {
        "input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    response = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "output": [item]}},
    ]


@contextmanager
def agent_server(answer: str) -> Iterator[AgentServer]:
    """Run a server, and yield it."""
    server = AgentServer(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
