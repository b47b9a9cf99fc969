"""OpenAI-compatible endpoints, through the real client and a real HTTP server."""

import asyncio
import hashlib
import json
import sys
import threading
from base64 import b64encode
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from memorist.embedders import Role, open_embedder
from memorist.errors import EmbedderError, EmbedderUnavailableError, MissingExtraError

pytest.importorskip("openai")

from memorist.embedders.openai import OpenAIEmbedder


def vector(text: Any, size: Any = 4) -> Any:
    return [byte + 1.0 for byte in hashlib.sha256(text.encode()).digest()[:size]]


def answer(texts: Sequence[str], size: Any = 4) -> Any:
    data = [{"object": "embedding", "index": n, "embedding": vector(text, size)} for n, text in enumerate(texts)]
    return {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


class Endpoint(ThreadingHTTPServer):
    """An embeddings endpoint; `replies` are used up first: (status, body) or an event awaited before a good one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Any] = []
        self.replies: list[Any] = []
        self.rewrite: Any = None
        self.size = 4

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up waiting is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> Any:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append({**body, "path": self.path, "key": self.headers["Authorization"]})
        reply = self.server.replies.pop(0) if self.server.replies else None
        if isinstance(reply, tuple):
            return self.send(*reply)
        if isinstance(reply, threading.Event):
            reply.wait(60)
        made = answer(body["input"], body.get("dimensions", self.server.size))
        self.send(200, self.server.rewrite(made) if self.server.rewrite else made)

    def send(self, status: Any, body: Any) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Any:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def embed(endpoint: Any, texts: Sequence[str], role: Role = Role.DOCUMENT, model: Any = "m", **options: Any) -> Any:
    async def scenario() -> Any:
        embedder = OpenAIEmbedder(model, base_url=endpoint.url, **{"max_retries": 0, "timeout": 60.0} | options)
        try:
            return await embedder.embed(texts, role)
        finally:
            await embedder.close()

    return asyncio.run(scenario())


def test_texts_become_unit_rows_in_their_own_order(endpoint: Any) -> None:
    rows = embed(endpoint, ["a", "b", "", "c"])
    expected = np.array([vector("a"), vector("b"), [0] * 4, vector("c")])
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(rows, expected / np.where(lengths == 0, 1, lengths), atol=1e-6)
    assert [request["input"] for request in endpoint.requests] == [["dimensions"], ["a", "b", "c"]]
    assert {request["path"] for request in endpoint.requests} == {"/v1/embeddings"}


def test_an_answer_out_of_order_is_put_in_order(endpoint: Any) -> None:
    endpoint.rewrite = lambda made: made | {"data": made["data"][::-1]}
    rows = embed(endpoint, ["a", "b", "c"])
    assert np.allclose(rows[0], np.array(vector("a")) / np.linalg.norm(vector("a")), atol=1e-6)


def test_many_texts_go_in_batches(endpoint: Any) -> None:
    rows = embed(endpoint, [str(n) for n in range(10)], batch_size=4, dimensions=4)
    assert rows.shape == (10, 4)
    assert sorted(len(request["input"]) for request in endpoint.requests) == [2, 4, 4]
    assert np.array_equal(rows, embed(endpoint, [str(n) for n in range(10)]))


def test_the_dimensions_asked_for_are_sent_and_checked(endpoint: Any) -> None:
    assert embed(endpoint, ["a"], dimensions=3).shape == (1, 3)
    assert endpoint.requests[0]["dimensions"] == 3
    endpoint.rewrite = lambda made: answer(["a"], 5)
    with pytest.raises(EmbedderError, match="5 dimensions, expected 3"):
        embed(endpoint, ["a"], dimensions=3)


def test_a_model_with_prefixes_gets_them_once(endpoint: Any) -> None:
    embed(endpoint, ["tea", "search_query: milk"], Role.QUERY, model="nomic-embed-text", dimensions=4)
    assert endpoint.requests[0]["input"] == ["search_query: tea", "search_query: milk"]


def test_a_long_text_is_cut(endpoint: Any) -> None:
    embed(endpoint, ["x" * 50], dimensions=4, max_characters=20)
    assert endpoint.requests[0]["input"] == ["x" * 20]


def test_another_host_never_gets_the_key_in_the_environment(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    embed(endpoint, ["a"])
    embed(endpoint, ["a"], api_key="sk-given")
    keys = [request["key"] for request in endpoint.requests]
    assert keys == ["Bearer none"] * 2 + ["Bearer sk-given"] * 2


def test_busy_and_failing_servers_are_tried_again(endpoint: Any) -> None:
    endpoint.replies = [(429, {"error": {"message": "slow down"}}), (500, b"oops")]
    assert embed(endpoint, ["a"], max_retries=2, dimensions=4).shape == (1, 4)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("reply", "error", "complaint"),
    [
        ((429, {"error": {"message": "slow down"}}), EmbedderUnavailableError, "HTTP 429: .*slow down"),
        ((500, b"oops"), EmbedderUnavailableError, "HTTP 500"),
        ((503, {"error": "loading"}), EmbedderUnavailableError, "HTTP 503"),
        ((401, {"error": {"message": "no"}}), EmbedderError, "rejected the API key .*401.*check api_key"),
        ((404, {"error": {"message": "model m not found"}}), EmbedderError, "check the model's name and the base URL"),
        ((400, {"error": {"message": "input too long"}}), EmbedderError, "HTTP 400: .*input too long"),
        ((200, b"<html>hello</html>"), EmbedderError, "unreadable response|without embeddings"),
        ((200, b""), EmbedderError, "unreadable response|without embeddings"),
        ((200, {"hello": "world"}), EmbedderError, "unreadable response|without embeddings"),
        ((200, []), EmbedderError, "unreadable response|without embeddings"),
        ((200, {"data": ["x", "y"]}), EmbedderError, "cannot be read|which embedding belongs"),
        ((200, answer(["a"])), EmbedderError, "returned 1 embeddings for 2 texts"),
        ((200, answer(["a", "b", "c"])), EmbedderError, "returned 3 embeddings for 2 texts"),
        ((200, answer(["a", "b"], 5)), EmbedderError, "5 dimensions, expected 4"),
        ((200, {"data": [{"index": 0, "embedding": [1] * 4}] * 2}), EmbedderError, "which embedding belongs"),
        ((200, {"data": [{"index": [0], "embedding": [1] * 4}] * 2}), EmbedderError, "which embedding belongs"),
        ((200, {"data": [{"index": n, "embedding": None} for n in (0, 1)]}), EmbedderError, "an array of shape"),
        ((200, {"data": [{"index": n, "embedding": [0] * 4} for n in (0, 1)]}), EmbedderError, "all-zero"),
    ],
)
def test_each_failure_has_an_error_of_its_own(endpoint: Any, reply: Any, error: Any, complaint: Any) -> None:
    endpoint.replies = [reply]
    with pytest.raises(EmbedderError, match=complaint) as caught:
        embed(endpoint, ["a", "b"], dimensions=4)
    assert type(caught.value) is error
    assert "'m' at http://127.0.0.1" in str(caught.value)


def test_an_answer_that_does_not_come_in_time_is_unavailable(endpoint: Any) -> None:
    endpoint.replies = [held := threading.Event()]
    with pytest.raises(EmbedderUnavailableError, match=r"did not answer within 0\.3 s"):
        embed(endpoint, ["a", "b"], dimensions=4, timeout=0.3)
    held.set()


def test_a_server_that_is_not_there_is_unavailable_and_may_come_back(endpoint: Any) -> None:
    async def scenario() -> None:
        embedder = OpenAIEmbedder("m", base_url="http://127.0.0.1:9/v1", max_retries=0)
        with pytest.raises(EmbedderUnavailableError, match="cannot be reached"):
            await embedder.ready()
        await embedder.close()

    asyncio.run(scenario())
    endpoint.replies = [(503, b"loading")]

    async def comes_back() -> None:
        embedder = OpenAIEmbedder("m", base_url=endpoint.url, max_retries=0)
        with pytest.raises(EmbedderUnavailableError):
            await embedder.ready()
        await embedder.ready()
        assert embedder.dimensions == 4
        await embedder.close()

    asyncio.run(comes_back())


def test_neither_error_nor_log_repeats_a_password(endpoint: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    url = endpoint.url.replace("http://", "http://user:hunter2@")
    endpoint.replies = [(400, {"error": {"message": "no"}})]

    async def scenario() -> None:
        embedder = OpenAIEmbedder("m", base_url=url, api_key="sk-secret", max_retries=0)
        try:
            await embedder.embed(["a"])
        finally:
            await embedder.close()

    with pytest.raises(EmbedderError) as caught:
        asyncio.run(scenario())
    secrets = ("hunter2", "sk-secret", b64encode(b"user:hunter2").decode())
    assert not any(secret in text for secret in secrets for text in (str(caught.value), caplog.text))
    assert endpoint.requests[0]["key"] == f"Basic {secrets[2]}"


def test_no_key_for_openai_itself_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        asyncio.run(open_embedder("openai:text-embedding-3-small").ready())


def test_without_the_library_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openai\]'"):
        asyncio.run(open_embedder("openai:text-embedding-3-small", api_key="k").ready())


def test_the_fingerprint_tells_models_sizes_and_revisions_apart_but_not_hosts(endpoint: Any) -> None:
    async def fingerprint(model: Any = "m", **options: Any) -> Any:
        embedder = OpenAIEmbedder(model, base_url=options.pop("base_url", endpoint.url), **options)
        await embedder.ready()
        await embedder.close()
        return embedder.fingerprint

    async def scenario() -> None:
        plain = await fingerprint()
        assert plain == await fingerprint(base_url=endpoint.url.replace("127.0.0.1", "localhost"))
        assert str(endpoint.server_port) not in plain
        others = [
            await fingerprint("n"),
            await fingerprint(dimensions=3),
            await fingerprint(revision="2"),
            await fingerprint("nomic-embed-text"),
        ]
        assert len({plain, *others}) == 5

    asyncio.run(scenario())
