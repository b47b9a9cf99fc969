"""`memorist serve` answers MCP clients too: one process, the same tokens, the same rule for who needs none."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from inside import core_of
from memorist.audit.log import Act
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.serve.mcp import Gate
from memorist.serve.mcp import create_app as create_mcp
from memorist.serve.observability import Observer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recent_memories", "arguments": {}}}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
}


@pytest.fixture
async def http(everyone: Memory) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of both, on one memory, as `memorist serve` puts them together on a loopback address."""
    observer = Observer()
    mcp = create_mcp(Gate(memory=everyone, open=True), tools="all", hosts=None, ended=observer.metrics.verb)
    app = create_app(everyone, open=True, observer=observer, more=mcp.routes)
    async with (
        mcp.router.lifespan_context(mcp),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


async def ask(http: httpx2.AsyncClient, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post("/mcp", content=json.dumps(CALL), headers={**HEADERS, **named})


async def test_the_command_serves_both_under_the_same_token(
    serve: Any, by_http: Any, value: Any, reopen: Any, db: Any
) -> None:
    async with reopen() as memory:
        secret, _ = await Tokens(memory).create("alice", user="alice")
    url = serve("--require-token", "--tools", "all", command=("serve",), says="Serving at ")
    async with by_http(f"{url}/mcp", authorization=f"Bearer {secret}") as client:
        added = await value(client, "add_memory", content="Likes tea")
    async with Memory.connect(url, token=secret) as alice:
        assert [record.id for record in await alice.recent()] == [added["id"]]
    async with httpx2.AsyncClient(timeout=120) as stranger:
        for path in ("/mcp", "/v1/recall"):
            assert (await stranger.post(url + path, json=CALL, headers=HEADERS)).status_code == 401
        assert (await stranger.get(url + "/mcp")).status_code == 405


async def test_what_a_model_reads_is_in_the_audit_log(http: httpx2.AsyncClient, everyone: Memory) -> None:
    log = core_of(everyone).store.audit
    assert log is not None
    await log.switch("reads", Act("audit reads", "python"))
    await everyone.remember("Tea")
    assert (await ask(http)).status_code == 200
    [entry] = (await everyone.admin.audit())[-1:]
    assert (entry.said["door"], entry.said["verb"], entry.said["records"]) == ("mcp", "recent", {"read": {"note": 1}})


async def test_without_a_token_only_this_machine_under_its_own_name_is_let_in(http: httpx2.AsyncClient) -> None:
    assert (await ask(http)).status_code == 200
    assert (await ask(http, host="127.0.0.1:8765", origin="http://127.0.0.1:8765")).status_code == 200
    assert (await ask(http, host="[::1]:8765")).status_code == 200
    for said in (
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:3000"},
        {"origin": "null"},
        {"x_forwarded_for": "203.0.113.9"},
    ):
        assert (await ask(http, **said)).status_code == 401, said


async def test_with_a_token_the_name_of_a_proxy_in_front_is_no_matter(
    http: httpx2.AsyncClient, everyone: Memory
) -> None:
    secret, _ = await Tokens(everyone).create("alice", user="alice")
    answer = await ask(http, host="memory.example.org", x_forwarded_for="203.0.113.9", authorization=f"Bearer {secret}")
    assert answer.status_code == 200 and answer.json()["result"]["structuredContent"] == {"records": []}


async def test_what_mcp_clients_do_is_counted_with_the_rest(http: httpx2.AsyncClient) -> None:
    await ask(http)
    await http.get("/browse")
    counted = (await http.get("/metrics")).text
    assert 'memorist_verb_duration_seconds_count{verb="recent"} 1.0' in counted
    assert 'route="/mcp"' in counted and 'route="/browse"' in counted and "unmatched" not in counted
