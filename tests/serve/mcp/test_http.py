"""`memorist mcp --http` as a server on a free port: tokens, names, clients that come and go."""

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import MCPError

from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.serve.auth import Right, Tokens
from memorist.serve.limits import Limits
from memorist.serve.mcp import Gate, create_app, serve_http
from ports import free_port
from servers import running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Host = Callable[..., Awaitable[str]]
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def post(url: str, content: Any = INITIALIZE, **headers: str) -> httpx2.Response:
    """Send a body as it is, or a value as JSON, and return the answer."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(timeout=120) as http:
        return await http.post(url, content=body, headers={**JSON, **named})


@pytest.fixture
async def host(everyone: Memory) -> AsyncIterator[Host]:
    """Return a function that serves the test's memory from this process, and returns its URL."""
    async with AsyncExitStack() as stack:

        async def start(*, open: bool = True) -> str:
            app = create_app(Gate(memory=everyone, open=open), tools="all")
            await stack.enter_async_context(app.router.lifespan_context(app))
            return await stack.enter_async_context(running(app)) + "/mcp"

        yield start


@pytest.fixture
async def tokens(everyone: Memory) -> dict[str, str]:
    """Return tokens by what they are."""
    made = Tokens(everyone)
    return {
        "alice": (await made.create("alice", user="alice"))[0],
        "bob": (await made.create("bob", user="bob"))[0],
        "reader": (await made.create("reader", user="alice", right="read"))[0],
        "acme": (await made.create("acme", tenant="acme"))[0],
        "operator": (await made.create("operator", tenant=None, right="admin"))[0],
        "expired": (await made.create("expired", expires_at="2020-01-01"))[0],
    }


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_token_says_whose_memory_it_is(
    host: Host, by_http: Any, tokens: dict[str, str], value: Any, mode: str
) -> None:
    url = await host(open=False)
    async with by_http(url, mode=mode, authorization=f"Bearer {tokens['alice']}") as client:
        await value(client, "add_memory", content="Alice likes coffee")
        await value(client, "save_topic", topic="user.drink", value="coffee")
        assert len((await client.list_resources()).resources) == 3
    async with by_http(url, mode=mode, authorization=f"Bearer {tokens['bob']}") as client:
        found = await value(client, "search_memories", query="coffee")
        assert found["hits"] == []
        assert (await value(client, "recall_topic", topic="user.drink"))["value"] is None
        assert len((await client.list_resources()).resources) == 2
    async with by_http(url, mode=mode, authorization=f"Bearer {tokens['alice']}") as client:
        assert len((await value(client, "search_memories", query="coffee"))["hits"]) == 1


async def test_a_token_without_a_user_takes_the_one_that_the_client_is_configured_with(
    host: Host, by_http: Any, tokens: dict[str, str], value: Any, reopen: Any
) -> None:
    url = await host(open=False)
    async with by_http(url, authorization=f"Bearer {tokens['acme']}", memorist_user="dora") as client:
        await value(client, "add_memory", content="x")
    async with by_http(url, authorization=f"Bearer {tokens['acme']}") as client:
        assert (await value(client, "recent_memories"))["records"] == []
    async with by_http(url, authorization=f"Bearer {tokens['operator']}") as client:
        await value(client, "add_memory", content="y")
    async with reopen(tenant="acme") as memory:
        assert await memory.admin.users() == {"dora": 1}
    async with reopen() as memory:
        assert await memory.admin.users() == {None: 1}


async def test_a_reader_changes_nothing(
    host: Host, by_http: Any, tokens: dict[str, str], value: Any, error: Any
) -> None:
    async with by_http(await host(), authorization=f"Bearer {tokens['reader']}") as client:
        assert "add_memory" not in {tool.name for tool in (await client.list_tools()).tools}
        assert "needs the right 'write'; this session has only 'read'" in await error(client, "add_memory", content="x")
        assert (await value(client, "recent_memories"))["records"] == []


async def test_who_brings_no_token_that_holds_is_refused(host: Host, tokens: dict[str, str], reopen: Any) -> None:
    url = await host(open=False)
    async with reopen() as memory:
        await Tokens(memory).revoke("bob")
    for said, text in (
        (None, "a token is needed"),
        ("Bearer mem_nonsense", "not known here, or was revoked"),
        (f"Bearer {tokens['bob']}", "not known here, or was revoked"),
        (f"Bearer {tokens['expired']}", "has expired"),
        ("Basic YWxpY2U6eA==", "the header must be"),
        ("Bearer", "the header must be"),
    ):
        answer = await post(url, **({} if said is None else {"authorization": said}))
        assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer")
        assert text in answer.json()["error"]["message"], said


async def test_a_token_that_is_revoked_is_worthless_at_once(
    host: Host, by_http: Any, tokens: dict[str, str], value: Any, reopen: Any
) -> None:
    url = await host()
    async with by_http(url, authorization=f"Bearer {tokens['alice']}") as client:
        await value(client, "add_memory", content="x")
        async with reopen() as memory:
            await Tokens(memory).revoke("alice")
        with pytest.raises(MCPError, match="was revoked"):
            await value(client, "add_memory", content="y")
    async with reopen(user="alice") as memory:
        assert await memory.count() == 1


async def test_a_header_cannot_turn_a_token_into_another_users(host: Host, tokens: dict[str, str]) -> None:
    answer = await post(await host(), authorization=f"Bearer {tokens['alice']}", memorist_user="bob")
    assert answer.status_code == 403 and "another user" in answer.json()["error"]["message"]


async def test_on_this_machine_no_token_is_needed(serve: Any, by_http: Any, value: Any, reopen: Any) -> None:
    url = serve("--user", "alice")
    async with by_http(url) as client:
        await value(client, "add_memory", content="x")
    assert (await post(url, memorist_user="bob")).status_code == 403
    async with reopen() as memory:
        assert await memory.admin.users() == {"alice": 1}


@pytest.mark.parametrize("header", ["x_forwarded_for", "forwarded", "x_real_ip"])
async def test_what_came_through_a_proxy_needs_a_token(host: Host, header: str) -> None:
    assert (await post(await host(), **{header: "203.0.113.9"})).status_code == 401


async def test_a_web_page_cannot_reach_a_local_server(host: Host) -> None:
    url = await host()
    assert (await post(url, host="evil.example:80")).status_code == 401
    assert (await post(url, origin="https://evil.example")).status_code == 401
    assert (await post(url, origin="http://localhost:3000")).status_code == 401, "another program's page, no token"
    assert (await post(url, origin=url.removesuffix("/mcp"))).status_code == 200
    assert (await post(url, host="localhost")).status_code == 200
    assert (await post(url, content_type="text/plain")).status_code >= 400


async def test_bad_requests_get_the_right_status_and_change_nothing(host: Host, reopen: Any) -> None:
    url = await host()
    assert (await post(url, b"this is no JSON")).status_code == 400
    assert (await post(url, b"[]")).status_code == 400
    assert (await post(url.removesuffix("mcp") + "other")).status_code == 404
    async with httpx2.AsyncClient(timeout=120) as http:
        assert (await http.get(url)).status_code == 405
        assert (await http.delete(url)).status_code == 405
    unknown = await post(url, {"jsonrpc": "2.0", "id": 1, "method": "no/such"}, mcp_protocol_version="2025-06-18")
    assert unknown.json()["error"]["code"] == -32601
    async with reopen() as memory:
        assert await memory.count(everyone=True) == 0


async def test_a_body_that_is_too_large_is_refused_before_it_is_sent(host: Host) -> None:
    at = urlsplit(await host())
    head = f"POST {at.path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Length: 5000000\r\n\r\n"
    async with await anyio.connect_tcp(str(at.hostname), at.port or 0) as connection:
        await connection.send(head.encode())
        assert (await connection.receive(1000)).startswith(b"HTTP/1.1 413")


async def test_many_clients_at_once_lose_nothing_and_see_their_own(
    host: Host, by_http: Any, tokens: dict[str, str], value: Any, reopen: Any
) -> None:
    url = await host()

    async def work(who: str, number: int, mode: str) -> None:
        async with by_http(url, mode=mode, authorization=f"Bearer {tokens[who]}") as client:
            for turn in range(5):
                await value(client, "add_memory", content=f"{who} {number} {turn}")
            found = await value(client, "search_memories", query=f"{who} {number}", limit=50)
            assert all(hit["record"]["content"].startswith(who) for hit in found["hits"])

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(work, ("alice", "bob")[number % 2], number, ("auto", "legacy")[number // 4])
    async with reopen() as memory:
        users = await memory.admin.users()
    assert (users["alice"], users["bob"]) == (20, 20)


async def test_a_client_that_hangs_up_harms_no_other(host: Host, by_http: Any, value: Any) -> None:
    url = await host()
    at = urlsplit(url)
    assert at.hostname is not None and at.port is not None
    head = (
        f"POST {at.path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n\r\n"
    )
    call = {"name": "add_memory", "arguments": {"content": "never waited for"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    for sent in (head.format(len(body)) + body, head.format(len(body) + 100) + body, head.format(10), "POST /mcp"):
        for _ in range(5):
            with socket.create_connection((at.hostname, at.port)) as connection:
                connection.sendall(sent.encode())
    async with by_http(url) as client:
        added = await value(client, "add_memory", content="after them")
        assert (await value(client, "get_memory", id=added["id"])) == added


async def test_clients_go_on_after_the_server_was_started_again(serve: Any, by_http: Any, value: Any) -> None:
    url = serve(port=free_port())
    async with by_http(url, mode="auto") as new, by_http(url, mode="legacy") as old:
        before = await value(new, "add_memory", content="before")
        serve(port=urlsplit(url).port, stop=url)
        for client in (new, old):
            assert await value(client, "get_memory", id=before["id"]) == before
            await value(client, "add_memory", content="after")
        assert len((await value(old, "recent_memories"))["records"]) == 3


async def test_it_does_not_listen_for_others_without_a_token(everyone: Memory) -> None:
    with pytest.raises(InvalidInputError, match="memorist token create"):
        await serve_http(Gate(memory=everyone, open=True), host="0.0.0.0", port=0)
    await Tokens(everyone).create("alice", user="alice")
    with pytest.raises(InvalidInputError, match="--allow-host"):
        await serve_http(Gate(memory=everyone, open=True), host="0.0.0.0", port=0)


async def test_for_others_it_is_never_open_and_answers_to_the_names_it_was_given(
    serve: Any, tokens: dict[str, str]
) -> None:
    port = urlsplit(serve("--host", "0.0.0.0", "--allow-host", "memory.example.org")).port
    url = f"http://127.0.0.1:{port}/mcp"
    assert (await post(url)).status_code == 401
    bearer = f"Bearer {tokens['alice']}"
    assert (await post(url, authorization=bearer, host="memory.example.org")).status_code == 200
    assert (await post(url, authorization=bearer, host="evil.example")).status_code == 421
    page = "https://memory.example.org"
    assert (await post(url, authorization=bearer, host="memory.example.org", origin=page)).status_code == 200


async def test_a_port_that_is_taken_is_said(serve: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(AssertionError, match=r"error: .*in use"):
        serve(port=taken.getsockname()[1])


async def test_a_memory_that_is_bound_cannot_be_served(alice: Memory) -> None:
    with pytest.raises(InvalidInputError, match="not bound to a tenant"):
        create_app(Gate(memory=alice))


@pytest.mark.parametrize(
    ("limits", "status"), [(Limits(concurrency=0), 503), (Limits(body_bytes=10), 413), (Limits(), 200)]
)
async def test_a_request_may_not_cost_more_than_the_server_allows(
    everyone: Memory, limits: Limits, status: int
) -> None:
    app = create_app(Gate(memory=everyone, open=True), limits=limits)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http,
    ):
        answer = await http.post("/mcp", json=INITIALIZE, headers=JSON)
    assert answer.status_code == status
    assert ("result" in answer.json()) is (status == 200)


async def test_a_store_that_fails_is_no_refusal(everyone: Memory) -> None:
    app = create_app(Gate(memory=everyone, open=True))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as http,
    ):
        await everyone.close()
        answer = await http.post("/mcp", json=INITIALIZE, headers={**JSON, "authorization": "Bearer x"})
    assert answer.status_code == 503 and "not open" in answer.json()["error"]["message"]


async def test_a_server_that_is_read_only_is_so_for_every_token(everyone: Memory) -> None:
    secret, _ = await Tokens(everyone).create("writer", user="alice")
    headers = [(b"authorization", f"Bearer {secret}".encode())]
    for right in (Right.READ, Right.WRITE):
        access = await Gate(memory=everyone, right=right).admit(headers, "203.0.113.9")
        assert (access.right, access.memory.scope.user) == (right, "alice")


@pytest.mark.parametrize(
    ("headers", "query", "detail"),
    [
        ([(b"memorist-user", b"Jos\xe9")], "", "the header Memorist-User is not UTF-8"),
        ([(b"memorist-user", b"")], "", "the header Memorist-User must not be blank"),
        ([(b"memorist-user", b"alice"), (b"memorist-user", b"bob")], "", "the header Memorist-User was sent 2 times"),
        ([(b"memorist-user", "ali\u200bce".encode())], "", "user must not hold U+200B"),
        ([], "?user=alice", "this address takes no argument 'user'"),
    ],
)
async def test_what_names_no_user_is_an_error(
    everyone: Memory, headers: list[tuple[bytes, bytes]], query: str, detail: str
) -> None:
    app = create_app(Gate(memory=everyone, open=True))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost") as http,
    ):
        answer = await http.post(f"/mcp{query}", json=INITIALIZE, headers=[*_as_bytes(JSON), *headers])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(detail)


def _as_bytes(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
