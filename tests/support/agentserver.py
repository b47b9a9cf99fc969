"""A model for coding agents' own programs: the endpoints of Anthropic, OpenAI and Google that they stream from."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeAlias

Events: TypeAlias = list[dict[str, Any]]


class Call(NamedTuple):
    """A call of a tool that a model makes: its name as the agent offers it, its arguments, and a namespace of Codex."""

    tool: str
    arguments: dict[str, Any]
    namespace: str | None


class AgentServer(ThreadingHTTPServer):
    """Answers every request with `answer`, after the calls of `calls` where their tools are offered.

    Args:
        answer: the text.

    Attributes:
        requests: the bodies of what was asked, in order.
        calls: the next calls: the end of a tool's name, and what makes its arguments from the request's body.
    """

    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[str] = []
        self.calls: list[tuple[str, Callable[[str], dict[str, Any]]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def reply(self, asked: str) -> str | Call:
        """Return the text or the call that answers a request."""
        self.requests.append(asked)
        if self.calls and (offered := re.search(rf'"name": ?"([\w-]*{self.calls[0][0]})"', asked)):
            space = re.search(r'"namespace", ?"name": ?"(\w*memorist)"', asked)
            return Call(offered[1], self.calls.pop(0)[1](asked), space and space[1])
        return self.answer


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
        stream = next((stream for end, stream in _STREAMS.items() if path.endswith(end)), None)
        if stream is None:
            self._reply(404, "application/json", "{}")
            return
        events = stream(self.server.reply(asked))
        heads = [f"event: {each['type']}\n" if "type" in each else "" for each in events]
        text = "".join(f"{head}data: {json.dumps(each)}\n\n" for head, each in zip(heads, events, strict=True))
        self._reply(200, "text/event-stream", text)

    def _reply(self, status: int, form: str, text: str) -> None:
        self.send_response(status)
        self.send_header("content-type", form)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())


def _anthropic(reply: str | Call) -> Events:
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    if isinstance(reply, Call):
        block: dict[str, Any] = {"type": "tool_use", "id": "c", "name": reply.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": reply}
    stop = {"stop_reason": "tool_use" if isinstance(reply, Call) else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(reply: str | Call) -> Events:
    if isinstance(reply, Call):
        item: dict[str, Any] = {
            "type": "function_call", "id": "f", "call_id": "c", "status": "completed", "name": reply.tool,
            "arguments": json.dumps(reply.arguments), "namespace": reply.namespace,
        }  # fmt: skip
        begun = {**item, "arguments": ""}
    else:
        text = {"type": "output_text", "text": reply, "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        begun = {**item, "content": []}
    usage = {
        "input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    response = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "output": [item]}},
    ]


def _completions(reply: str | Call) -> Events:
    if isinstance(reply, Call):
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments)}
        delta: dict[str, Any] = {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}
    else:
        delta = {"content": reply}
    chunk = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    ended = "tool_calls" if isinstance(reply, Call) else "stop"
    return [
        {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}], "usage": usage},
    ]


def _google(reply: str | Call) -> Events:
    call = {"name": reply.tool, "args": reply.arguments} if isinstance(reply, Call) else None
    part = {"text": reply} if call is None else {"functionCall": call}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    content = {"role": "model", "parts": [part]}
    return [{"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}]


_STREAMS: Mapping[str, Callable[[str | Call], Events]] = {
    "/messages": _anthropic,
    "/responses": _responses,
    "/completions": _completions,
    ":streamGenerateContent": _google,
}


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
