"""What is wrong with a request is told in one sentence, with the right status; nothing is changed."""

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import pytest

from memorist.memory import Memory
from memorist.operations.requests import Request
from memorist.serve import running as server
from memorist.serve.app import create_app
from memorist.serve.rest import whole
from servers import running

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("POST", "/v1/recall", b"{", 400, "the body is not JSON: "),
        ("POST", "/v1/recall", b'{"query": NaN}', 400, "the body is not JSON: NaN is not a JSON number"),
        ("POST", "/v1/recall", b'{"query": "\xff"}', 400, "the body is not JSON: not UTF-8"),
        ("POST", "/v1/recall", b"[" * 100_000, 400, "the body is not JSON: "),
        ("POST", "/v1/recall", b'{"limit": ' + b"9" * 5000 + b"}", 400, "the body is not JSON: "),
        ("POST", "/v1/recall", b"[]", 422, "the body must be a JSON object"),
        ("POST", "/v1/recall", b"", 422, "the body is missing"),
        ("POST", "/v1/recall", b"{}", 422, "recall needs query"),
        ("POST", "/v1/recall", b'{"query": 3}', 422, "query must be a string, not int"),
        ("POST", "/v1/recall", b'{"query": "x", "\\ud800": 1}', 422, "recall takes no argument"),
        ("POST", "/v1/recall", b'{"query": "x", "limit": "5"}', 422, "limit must be a whole number, not '5'"),
        ("POST", "/v1/recall", b'{"query": "x", "limit": 10001}', 422, "limit is 10,000 at most"),
        (
            "POST",
            "/v1/recall",
            b'{"query": "x", "user": "bob"}',
            422,
            "recall takes no argument 'user'; the scope is set once: memory.scoped(user=…), or ?user=…",
        ),
        ("POST", "/v1/recall", b'{"query": "x", "k": 3}', 422, "recall takes no argument 'k'; did you mean 'limit'?"),
        ("POST", "/v1/recall", b'{"query": "x", "kind": "secret"}', 422, "unknown kind"),
        ("POST", "/v1/recall", b'{"query": "x", "where": {"a": {"$near": 1}}}', 422, "unknown operator '$near'"),
        ("POST", "/v1/recall", b'{"query": "x", "since": "May 2023"}', 422, "since: 'May 2023' is not a point in time"),
        ("POST", "/v1/recall", b'{"query": "x", "vector": [1.0]}', 422, ""),
        ("POST", "/v1/browse", b'{"cursor": "nonsense"}', 422, "the cursor is not the `next` of a page"),
        ("POST", "/v1/forget", b"{}", 422, "name ids or a filter"),
        ("POST", "/v1/records", b'{"records": [{"content": "x", "user": "bob"}]}', 422, "a record takes no argument"),
        ("POST", "/v1/records", b'{"records": [{"content": "x", "rating": 2}]}', 422, "rating must be "),
        ("PATCH", "/v1/records/none", b'{"content": "x"}', 404, "there is no record 'none'"),
        ("PATCH", "/v1/records/none", b"{}", 422, "name a field to revise"),
        ("GET", "/v1/records/%FF", b"", 422, "the id in the path is not UTF-8"),
        ("GET", "/v1/nothing", b"", 404, "there is no such route"),
        ("GET", "/v1/records/../../etc/passwd", b"", 404, "there is no"),
        ("GET", "/v1/records/%2e%2e%2f%2e%2e%2fetc%2fpasswd", b"", 404, "there is no record '../../etc/passwd'"),
        ("GET", "/etc/passwd", b"", 404, "there is no such route"),
        ("DELETE", "/v1/recall", b"", 405, "this route does not take DELETE"),
        ("GET", "/v1/records?limit=x", b"", 422, "limit must be a whole number, not 'x'"),
        ("GET", "/v1/records?limit=5.0", b"", 422, "limit must be a whole number, not 5.0"),
        ("GET", "/v1/records?limit=%D9%A5", b"", 422, "limit must be a whole number"),
        ("GET", "/v1/records?limit=" + "9" * 5000, b"", 422, "limit must be a whole number, not '999"),
        ("GET", "/v1/records?limit=10001", b"", 422, "limit is 10,000 at most"),
        ("GET", "/v1/records?order=up", b"", 422, "unknown order 'up'; available: newest, oldest, key"),
        ("GET", "/v1/records?kind=nots", b"", 422, "unknown kind 'nots'"),
        ("GET", "/v1/records?kind=note&kind=nots", b"", 422, "unknown kind 'nots'"),
        ("GET", "/v1/records?shared=1", b"", 422, "shared must be true or false, not '1'"),
        ("GET", "/v1/records?shared=True", b"", 422, "shared must be true or false, not 'True'"),
        ("GET", "/v1/records?since=10/11/2012", b"", 422, "since: '10/11/2012' is ambiguous"),
        ("GET", "/v1/export?everyone=yes", b"", 422, "everyone must be true or false, not 'yes'"),
        ("GET", "/v1/lookup", b"", 422, "lookup needs key"),
        ("GET", "/v1/lookup?key=a&kind=nots", b"", 422, "unknown kind 'nots'"),
        ("GET", "/v1/caller?usr=alice", b"", 422, "this address takes no argument 'usr'"),
        ("POST", "/v1/purge?shared=1", b"", 422, "shared must be true or false, not '1'"),
        ("GET", "/v1/records?user=", b"", 422, "user must not be blank"),
        ("GET", "/v1/records?user=%e9x", b"", 422, "the query is not UTF-8"),
        ("GET", "/v1/records?user=ali%E2%80%8Bce", b"", 422, "user must not hold U+200B"),
        ("GET", "/v1/records?user=a&user=b", b"", 422, "the parameter 'user' was sent twice"),
        ("POST", "/v1/purge?user_id=alice", b"", 422, "this address takes no argument 'user_id'; did you mean 'user'?"),
        ("POST", "/v1/records?user_id=alice", b'{"records": []}', 422, "this address takes no argument 'user_id'"),
        ("GET", "/v1/export?usr=alice", b"", 422, "this address takes no argument 'usr'"),
        ("GET", "/v1/records?" + "user=a&" * 300, b"", 422, "the query has more than 200 parameters"),
    ],
)
async def test_a_bad_request_is_told_what_is_wrong(
    http: Any, everyone: Memory, method: str, path: str, body: bytes, status: int, detail: str
) -> None:
    await everyone.remember("Something")
    answer = await http.request(method, path, content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and problem["detail"].startswith(detail)
    assert "\n" not in problem["detail"]


async def test_nothing_is_changed_by_a_bad_request(http: Any, everyone: Memory) -> None:
    record = await everyone.remember("Stays", id="r")
    for answer in (
        await http.patch("/v1/records/r", json={"content": " "}),
        await http.patch("/v1/records/r", json={"rating": 1}),
        await http.put("/v1/records/r/rating", json={"rating": 7}),
        await http.post("/v1/forget", json={"ids": {"r": 1}}),
        await http.post("/v1/records", json={"records": [{"content": "x"}, {"content": "y", "id": "r"}]}),
    ):
        assert answer.status_code in (409, 422)
    assert await everyone.history("r") and await everyone.get("r") == record
    assert await everyone.count() == 1


@pytest.mark.parametrize(
    ("values", "detail"),
    [
        ([b"Jos\xe9"], "the header Memorist-User is not UTF-8"),
        ([b" "], "the header Memorist-User must not be blank"),
        ([b"alice", b"bob"], "the header Memorist-User was sent 2 times"),
        (["ali\u200bce".encode()], "user must not hold U+200B"),
    ],
)
async def test_a_header_that_names_no_user_is_an_error(http: Any, values: list[bytes], detail: str) -> None:
    answer = await http.post("/v1/count", json={}, headers=[(b"Memorist-User", value) for value in values])
    assert answer.status_code == 422 and answer.json()["detail"].startswith(detail)


async def test_a_header_is_read_as_utf_8(http: Any, everyone: Memory) -> None:
    await everyone.scoped(user="José").remember("Likes tea")
    answer = await http.post("/v1/count", json={}, headers=[(b"Memorist-User", "José".encode())])
    assert answer.json() == {"count": 1}


async def test_who_brings_no_token_is_told_so_before_the_body_is_read(client: Any) -> None:
    http = await client(open=False)

    async def never() -> Any:
        raise AssertionError("the body was read")
        yield b""

    for content in (b"{", never()):
        answer = await http.post("/v1/recall", content=content, headers=JSON)
        assert (answer.status_code, answer.json()["error"]) == (401, "ScopeError")


async def test_a_body_that_does_not_arrive_is_given_up(client: Any) -> None:
    http = await client(body_seconds=0.05)

    async def slow() -> Any:
        yield b"{"
        await asyncio.Event().wait()

    answer = await http.post("/v1/recall", content=slow(), headers=JSON)
    assert (answer.status_code, answer.json()["error"]) == (408, "StoreBusyError")


async def test_a_connection_without_a_request_is_closed(everyone: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_HEAD_SECONDS", 1000.0)
    async with running(create_app(everyone, open=True)) as url:
        port = int(url.rpartition(":")[2])
        head = b"GET /health HTTP/1.1\r\nHost: x\r\n"
        answered = await asyncio.open_connection("127.0.0.1", port)
        answered[1].write(head + b"\r\n")
        assert b"200 OK" in await answered[0].readuntil(b"\r\n\r\n")
        monkeypatch.setattr(server, "_HEAD_SECONDS", 0.01)
        for begun in (b"GET /he", b"", head):
            reader, writer = answered if begun == b"GET /he" else await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            with suppress(ConnectionError):  # it may be closed before it takes what was begun
                assert b"200 OK" not in await asyncio.wait_for(reader.read(), 60)
            writer.close()


async def test_a_client_that_takes_no_answer_is_dropped(everyone: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_STALLED_SECONDS", 0.01)
    ended = asyncio.Event()

    async def endless(*given: Any, **options: Any) -> Any:
        try:
            while True:
                yield "x" * 10_000
                await asyncio.sleep(0)
        finally:
            ended.set()

    monkeypatch.setattr(whole, "export_text", endless)
    async with running(create_app(everyone, open=True)) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET /v1/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asyncio.wait_for(ended.wait(), 60)
        writer.close()


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /v1/count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: ",
    ],
    ids=["path", "header", "trailer"],
)
async def test_a_request_whose_head_does_not_end_is_refused(
    everyone: Memory, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_HEAD_SECONDS", 1000.0)
    async with running(create_app(everyone)) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(begun)
        with pytest.raises(ConnectionError):
            for _ in range(300):
                writer.write(b"x" * 100_000)
                await writer.drain()
        writer.close()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_an_open_server_lets_in_no_page_of_another_site(client: Any, site: str) -> None:
    http = await client(open=True)
    assert (await http.get("/v1/records", headers={"Sec-Fetch-Site": site})).status_code == 401
    for own in ("same-origin", "none"):
        assert (await http.get("/v1/records", headers={"Sec-Fetch-Site": own})).status_code == 200


async def test_other_media_types_are_refused(http: Any, everyone: Memory) -> None:
    """A page of another site can send a form without asking, but not JSON."""
    for media in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await http.post("/v1/records", content=b'{"records": []}', headers={"Content-Type": media})
        assert (answer.status_code, answer.json()["error"]) == (415, "FormatError")


async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(client: Any, everyone: Memory) -> None:
    http = await client(body_bytes=1000)
    body = b'{"records": [{"content": "' + b"x" * 1000 + b'"}]}'

    async def unannounced() -> Any:
        yield body

    for content in (body, unannounced()):
        answer = await http.post("/v1/records", content=content, headers=JSON)
        assert (answer.status_code, answer.json()["error"]) == (413, "InvalidInputError")
        assert "1,000 bytes" in answer.json()["detail"]
    assert await everyone.count() == 0


@pytest.mark.parametrize(
    ("path", "media", "status"),
    [
        ("/v1/retention", "application/json", 413),
        ("/purge", "application/x-www-form-urlencoded", 413),
        ("/import", "application/x-www-form-urlencoded", 422),
    ],
)
async def test_only_what_is_read_as_it_arrives_may_be_larger(client: Any, path: str, media: str, status: int) -> None:
    http, read = await client(body_bytes=1000), 0

    async def parts() -> Any:
        nonlocal read
        for _ in range(100):
            read += 100
            yield b"x" * 100

    answer = await http.post(path, content=parts(), headers={"Content-Type": media})
    assert answer.status_code == status and read <= 1100


async def test_a_form_that_breaks_off_is_no_failure_of_the_server(everyone: Memory) -> None:
    received = iter(({"type": "http.request", "body": b"content=T", "more_body": True}, {"type": "http.disconnect"}))
    answers: list[Any] = []

    async def receive() -> Any:
        return next(received)

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {"type": "http", "method": "POST", "path": "/remember", "query_string": b"", "client": ("127.0.0.1", 1)}
    await create_app(everyone, open=True)({**scope, "headers": [(b"host", b"localhost")]}, receive, send)
    assert answers[0]["status"] == 422 and b"before the form was complete" in answers[1]["body"]


async def test_more_requests_than_the_server_takes_are_sent_away(
    client: Any, everyone: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = await client(concurrency=1)
    begun, go_on = asyncio.Event(), asyncio.Event()
    ask = Memory.ask

    async def slow(self: Memory, request: Request[Any]) -> Any:
        begun.set()
        await go_on.wait()
        return await ask(self, request)

    monkeypatch.setattr(Memory, "ask", slow)
    first = asyncio.create_task(http.post("/v1/count", json={}))
    await begun.wait()
    second = await http.post("/v1/count", json={})
    assert (second.status_code, second.headers["retry-after"]) == (503, "1")
    assert (await http.get("/health")).status_code == 200
    go_on.set()
    assert (await first).status_code == 200
    assert (await http.post("/v1/count", json={})).status_code == 200


async def test_a_request_that_takes_too_long_is_ended(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(self: Memory, request: Request[Any]) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Memory, "ask", never)
    answer = await (await client(seconds=0.01)).post("/v1/count", json={})
    assert answer.status_code == 504


async def test_an_unforeseen_error_does_not_tell_what_is_stored(
    http: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(self: Memory, request: Request[Any]) -> None:
        raise RuntimeError("a memory's own text")

    monkeypatch.setattr(Memory, "ask", broken)
    answer = await http.post("/v1/count", json={})
    assert (answer.status_code, answer.json()["detail"]) == (500, "the server failed; see its log")


async def test_a_load_that_breaks_off_keeps_whole_records_alone(http: Any, everyone: Memory, alice: Memory) -> None:
    await alice.remember(["One", "Two"])
    lines = "\n".join([line async for line in alice.export()]).encode()
    await alice.purge()

    async def broken() -> Any:
        yield lines[: len(lines) - 10]

    answer = await http.post("/v1/load", content=broken(), params={"user": "alice"})
    assert answer.json()["added"] == 1 and len(answer.json()["bad"]) == 1
    assert (await http.post("/v1/load", content=lines, params={"user": "alice"})).json()["added"] == 1


@pytest.mark.parametrize(
    "large",
    [{"content": "x" * 1_200_001}, {"cue": "x" * 1_200_001}, {"metadata": {"a": "x" * 1_200_001}},
     {"content": "x" * 600_000, "payload": {"a": "x" * 600_000}}],
)  # fmt: skip
async def test_a_record_larger_than_a_model_can_read_is_refused_whole(
    http: httpx.AsyncClient, large: dict[str, Any]
) -> None:
    [record] = (await http.post("/v1/records", json={"records": [{"content": "tea"}]})).json()["records"]
    draft = {"content": "tea", **large}
    for answer in (
        await http.post("/v1/records", json={"records": [{"content": "fits"}, draft]}),
        await http.patch(f"/v1/records/{record['id']}", json=large),
    ):
        assert answer.status_code == 422 and "the limit is 1,200,000" in answer.json()["detail"]
        assert "MEMORIST_LARGEST_RECORD" in answer.json()["detail"]
    loaded = await http.post("/v1/load", content=await _exported({**draft, "id": "large"}))
    assert loaded.json()["added"] == 0 and "the limit is 1,200,000" in loaded.json()["bad"][0]["reason"]
    assert (await http.get("/v1/records")).json()["records"] == [record]
    assert (await http.put(f"/v1/records/{record['id']}/rating", json={"rating": 1})).status_code == 200


async def _exported(fields: dict[str, Any]) -> str:
    """Return the lines of an export with one record, as a program that holds no rule of ours could write them."""
    async with Memory.open(":memory:", embedder="hash") as other:
        await other.remember(**fields)
        return "\n".join([line async for line in other.export()])


async def test_a_large_record_of_the_program_itself_can_be_read_and_rated(
    everyone: Memory, http: httpx.AsyncClient
) -> None:
    record = await everyone.remember("x" * 1_100_000)
    assert len((await http.get(f"/v1/records/{record.id}")).json()["content"]) == 1_100_000
    assert (await http.put(f"/v1/records/{record.id}/rating", json={"rating": 1})).status_code == 200
    assert (await http.patch(f"/v1/records/{record.id}", json={"verified": True})).status_code == 200
    assert (await http.patch(f"/v1/records/{record.id}", json={"content": "tea"})).status_code == 200
