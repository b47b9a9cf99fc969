import asyncio
import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memorist.testing import HashEmbedder

SIZE = 64
BEGIN = """
import json, sys
config = json.loads(sys.argv[1])
seen = []
def show(name, result):
    seen.append([name, result])
def refused(name, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Exception as error:
        kinds = (ValueError, NotImplementedError)
        seen.append([name, [isinstance(error, kinds) or type(error).__name__ == "ValidationError", str(error)]])
    else:
        seen.append([name, "no error"])
"""
END = """
print("SEEN" + json.dumps(seen))
"""


class _Endpoint(BaseHTTPRequestHandler):
    """OpenAI's interface: embeddings by words, and a chat model that says what the test put into `answers`."""

    answers: list[str]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self._vectors(asked) if self.path.endswith("/embeddings") else self._chat()
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _vectors(self, asked: dict[str, Any]) -> dict[str, Any]:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows = asyncio.run(HashEmbedder(SIZE).embed(texts))
        packed = asked.get("encoding_format") == "base64"
        vectors = [base64.b64encode(row.tobytes()).decode() if packed else row.tolist() for row in rows]
        data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        return {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def _chat(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.answers.pop(0)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def answers() -> list[str]:
    """What the chat model says next."""
    return []


@pytest.fixture
def endpoint(answers: list[str]) -> Iterator[str]:
    """The address of a server that speaks OpenAI's interface."""
    handler = type("Endpoint", (_Endpoint,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture
def config(endpoint: str, tmp_path: Path) -> dict[str, Any]:
    """A configuration in mem0's own words."""
    there = {"api_key": "none", "openai_base_url": endpoint}
    return {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(tmp_path / "qdrant"), "embedding_model_dims": SIZE, "on_disk": True},
        },
        "embedder": {"provider": "openai", "config": {**there, "embedding_dims": SIZE}},
        "llm": {"provider": "openai", "config": {**there, "model": "m"}},
        "history_db_path": str(tmp_path / "history.db"),
    }


Run = Callable[[str, str, dict[str, Any]], list[Any]]


@pytest.fixture
def run_script(tmp_path: Path) -> Run:
    """Return a function that runs a script, after the import line given, and returns what it showed."""

    def run(import_line: str, body: str, config: dict[str, Any]) -> list[Any]:
        script = tmp_path / "script.py"
        script.write_text(f"{import_line}\n{BEGIN}\n{body}\n{END}", encoding="utf-8")
        quiet = {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(tmp_path / "mem0"), "OPENAI_API_KEY": "none"}
        done = subprocess.run(
            [sys.executable, script, json.dumps(config)],
            env={**os.environ, **quiet}, capture_output=True, text=True, timeout=300, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        [line] = [line for line in done.stdout.splitlines() if line.startswith("SEEN")]
        shown: list[Any] = json.loads(line.removeprefix("SEEN"))
        return shown

    return run
