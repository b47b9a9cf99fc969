"""What only a memory at a server has: tokens, a network in between, and what becomes of a call when it fails."""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import (
    ClosedError,
    InvalidInputError,
    MemoristError,
    NotFoundError,
    ScopeError,
    StoreBusyError,
    StoreUnavailableError,
)
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.serve.limits import OverloadedError
from memorist.serve.rest.problems import problem_of
from ports import free_port
from servers import running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def guarded(stored: Memory) -> AsyncIterator[str]:
    """A server that asks for a token."""
    async with running(create_app(stored)) as url:
        yield url


async def test_code_moves_to_a_server_by_one_line(url: str, stored: Memory) -> None:
    async with Memory.connect(url, user="alice") as alice:
        await alice.remember("Prefers homestays when she travels")
        await alice.topics.set("language", "Elixir")
        [hit] = await alice.recall("homestays", limit=1)
        assert hit.record.content == "Prefers homestays when she travels"
    assert await stored.scoped(user="alice").topics.get("language") == "Elixir"


async def test_a_users_token_makes_the_memory_that_users(guarded: str, stored: Memory) -> None:
    secret, _ = await Tokens(stored).create("hers", tenant="acme", user="alice")
    async with Memory.connect(guarded, token=secret) as memory:
        assert (memory.scope.tenant, memory.scope.user) == ("acme", "alice")
        await memory.remember("Tea")
        with pytest.raises(ScopeError):
            memory.scoped(user="bob")
        with pytest.raises(ScopeError):
            await memory.admin.users()
    with pytest.raises(ScopeError):
        await Memory.connect(guarded, token=secret, user="bob")
    with pytest.raises(ScopeError):
        await Memory.connect(guarded, token=secret, tenant="other")
    assert await stored.scoped(tenant="acme", user="alice").count() == 1


@pytest.mark.parametrize("token", [None, "mem_wrong"])
async def test_without_a_valid_token_there_is_no_memory(guarded: str, token: Any) -> None:
    with pytest.raises(ScopeError, match="token"):
        await Memory.connect(guarded, token=token)


async def test_a_token_that_is_revoked_is_told_at_the_next_call(guarded: str, stored: Memory) -> None:
    secret, _ = await Tokens(stored).create("brief")
    async with Memory.connect(guarded, token=secret) as memory:
        await memory.count()
        await Tokens(stored).revoke("brief")
        with pytest.raises(ScopeError, match="revoked"):
            await memory.count()


async def test_where_there_is_no_server_the_error_says_so() -> None:
    port = free_port()
    with pytest.raises(StoreUnavailableError, match=f"http://127.0.0.1:{port} cannot be reached"):
        await Memory.connect(f"http://127.0.0.1:{port}")


WRONG = [
    "", "agent.db", "ftp://host", "http://", "http:///v1", "http://host:port", "http://host:99999", "http://me:secret@host",
    "http://host/?tenant=acme", "http://[::1", None, 8765,
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_is_no_url_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="http://"):
        await Memory.connect(wrong)


@pytest.mark.parametrize("token", ["mem_ä", "mem_a\r\nHost: evil", "", 5, b"mem_a"])
async def test_what_is_no_token_is_refused(guarded: str, token: Any) -> None:
    with pytest.raises((InvalidInputError, ScopeError), match="token"):
        await Memory.connect(guarded, token=token)


async def test_the_server_may_stand_below_a_path(stored: Memory) -> None:
    inner = create_app(stored, open=True)

    async def below(scope: Any, receive: Any, send: Any) -> None:
        assert scope["raw_path"].startswith(b"/some%20where/v1/")
        path = scope["raw_path"].removeprefix(b"/some%20where")
        await inner({**scope, "raw_path": path, "path": path.decode()}, receive, send)

    async with running(below) as url, Memory.connect(f"{url}/some where/", user="alice") as alice:
        await alice.remember("Tea", id="a/b ?#")
        assert (await alice.get("a/b ?#")) is not None


async def test_a_host_may_be_an_address_of_version_six(stored: Memory) -> None:
    async with running(create_app(stored, open=True), host="::1") as url, Memory.connect(url, user="alice") as alice:
        assert "[::1]" in url and await alice.count() == 0


async def test_a_server_of_another_kind_is_told_apart() -> None:
    async def other(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"Hello"})

    async with running(other) as url:
        with pytest.raises(StoreUnavailableError, match="not a Memorist server"):
            await Memory.connect(url)


STRANGE = [(200, b"<html>"), (200, b"null"), (200, b"{}"), (200, b"[" * 100_000), (302, b""), (413, b""), (502, b"[]")]


@pytest.mark.parametrize(("status", "body"), STRANGE)
async def test_an_answer_of_something_between_is_told_apart(
    stored: Memory, tmp_path: Path, status: int, body: bytes
) -> None:
    own = create_app(stored, open=True)

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/v1/caller":
            await own(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body})

    async with running(proxy) as url, Memory.connect(url) as memory:
        for call in (memory.count, lambda: memory.remember("Tea"), lambda: memory.admin.backup(tmp_path / "copy.db")):
            with pytest.raises(StoreUnavailableError, match=f"status {status} is not a Memorist server|no copy of its"):
                await call()
    assert not [*tmp_path.glob("*copy.db*")]


async def test_a_memory_that_is_not_open_says_so(url: str) -> None:
    memory = Memory.connect(url)
    with pytest.raises(ClosedError):
        await memory.count()
    await memory.__aenter__()
    await memory.close()
    await memory.close()
    with pytest.raises(ClosedError):
        await memory.remember("Tea")


class _Breaking:
    """An app whose answers get lost, the first so many times: the connection is cut once the work is done."""

    def __init__(self, app: Any, path: str, times: int) -> None:
        self.app, self.path, self.left, self.seen = app, path, times, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != self.path:
            await self.app(scope, receive, send)
            return
        self.seen += 1
        if self.left == 0:
            await self.app(scope, receive, send)
            return
        self.left -= 1

        async def head_alone(message: Any) -> None:
            if message["type"] == "http.response.start":
                await send(message)

        await self.app(scope, receive, head_alone)  # and the server breaks the connection off


@asynccontextmanager
async def breaking(stored: Memory, path: str, times: int = 1) -> AsyncIterator[tuple[str, _Breaking]]:
    app = _Breaking(create_app(stored, open=True), path, times)
    async with running(app) as url:
        yield url, app


async def test_a_remember_whose_answer_was_lost_is_stored_once(stored: Memory) -> None:
    async with breaking(stored, "/v1/records", 2) as (url, app), Memory.connect(url, user="alice") as alice:
        record = await alice.remember("Tea", metadata={"cups": 2})
        assert app.seen == 3
        assert await alice.get(record.id) == record
        assert await alice.count() == 1


async def test_a_change_whose_answer_was_lost_is_not_made_again(stored: Memory) -> None:
    await stored.scoped(user="alice").remember("Tea", id="r")
    async with breaking(stored, "/v1/records/r") as (url, app), Memory.connect(url, user="alice") as alice:
        with pytest.raises(StoreUnavailableError, match="it is not known whether the call took effect"):
            await alice.revise("r", content="Coffee")
        assert app.seen == 1
        assert (await alice.get("r")).version == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("error", "calls"), [(StoreBusyError("wait"), 2), (OverloadedError("wait"), 2), (StoreUnavailableError("lost"), 1)]
)
async def test_a_change_is_repeated_only_where_the_server_says_that_it_did_nothing(
    stored: Memory, error: MemoristError, calls: int
) -> None:
    await stored.scoped(user="alice").remember("Tea", id="r")
    app, seen = create_app(stored, open=True), list[str]()

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        if scope["path"] != "/v1/records/r" or seen.count("/v1/records/r") > 1:
            await app(scope, receive, send)
            return
        status, _, problem = problem_of(error)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(problem).encode()})

    async with running(refusing) as url, Memory.connect(url, user="alice") as alice:
        with nullcontext() if calls == 2 else pytest.raises(StoreUnavailableError, match="lost"):
            await alice.revise("r", content="Coffee")
    assert seen.count("/v1/records/r") == calls


async def test_a_read_is_repeated(stored: Memory) -> None:
    async with breaking(stored, "/v1/count", 3) as (url, app), Memory.connect(url) as memory:
        assert await memory.count() == 0
        assert app.seen == 4


async def test_errors_are_of_the_same_classes_and_texts(url: str, stored: Memory) -> None:
    async with Memory.connect(url) as memory:
        for call in (
            lambda memory: memory.revise("none", content="x"),
            lambda memory: memory.remember(" "),
            lambda memory: memory.recall("x", where={"a": {"$near": 1}}),
            lambda memory: memory.browse(cursor="nonsense"),
            lambda memory: memory.forget(),
            lambda memory: memory.rate("none", 0.5),
            lambda memory: memory.revise("", content="x"),
            lambda memory: memory.rate("", 0.5),
        ):
            texts = []
            for each in (stored, memory):
                with pytest.raises((InvalidInputError, NotFoundError)) as raised:
                    await call(each)  # type: ignore[no-untyped-call]
                texts.append((type(raised.value), str(raised.value)))
            assert texts[0] == texts[1]


async def test_an_argument_that_no_verb_has_is_a_type_error(url: str) -> None:
    async with Memory.connect(url) as memory:
        with pytest.raises(TypeError, match="recall takes no argument 'usr'"):
            await memory.recall("x", usr="alice")  # type: ignore[call-arg]


async def test_a_client_that_hangs_up_leaves_nothing_half_done(url: str, stored: Memory) -> None:
    host, port = url.removeprefix("http://").split(":")
    body = b'{"records": [{"content": "Tea"}]}'
    head = b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body[:10])
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    async with Memory.connect(url) as memory:
        assert await memory.count() == 0


async def test_an_export_that_is_left_early_lets_the_connection_go(url: str, stored: Memory) -> None:
    await stored.remember([f"Note {n}" for n in range(3000)])
    async with Memory.connect(url) as memory:
        lines = memory.export()
        assert '"format"' in await anext(lines)
        await lines.aclose()  # type: ignore[attr-defined]
        assert await memory.count() == 3000


async def test_a_backup_comes_over_the_network(url: str, stored: Memory, tmp_path: Path) -> None:
    await stored.remember("Tea")
    async with Memory.connect(url) as memory:
        copy = await memory.admin.backup(tmp_path / "copy.db")
        with pytest.raises(InvalidInputError, match="exists"):
            await memory.admin.backup(copy)
        assert await memory.admin.check() == []
    async with Memory.open(copy, embedder="hash") as restored:
        assert await restored.count() == 1


async def test_the_blocking_client_connects_too(url: str) -> None:
    def use() -> None:
        from memorist.sync import Memory, Notes

        with Memory.connect(url, user="alice") as memory:
            monday = memory.scoped(session="monday")
            assert isinstance(monday, Memory) and isinstance(monday.notes, Notes)
            monday.notes.add("Tea with milk")
            assert [hit.record.content for hit in memory.recall("tea")] == ["Tea with milk"]
            lines = list(memory.export())
            memory.purge()
            assert memory.load(iter(lines)).added == 1
            assert [message.content for message in monday.conversation().window(5)] == []

    await asyncio.to_thread(use)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key and its certificate in one file, which nobody else has signed."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("openssl makes the certificate")
    file = tmp_path / "certificate.pem"
    asked = [
        openssl,
        *"req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost".split(),
    ]
    asked += ["-keyout", str(file), "-out", str(tmp_path / "signed.pem")]
    subprocess.run(asked, check=True, capture_output=True)
    file.write_text((tmp_path / "signed.pem").read_text() + file.read_text())
    return file


@pytest.fixture
async def encrypted(url: str, certificate: Path) -> AsyncIterator[str]:
    """A proxy that speaks TLS in front of a server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
        finally:  # of a connection that is reset, too
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        await asyncio.gather(pass_on(reader, to_server[1]), pass_on(to_server[0], writer), return_exceptions=True)

    proxy = await asyncio.start_server(serve, "localhost", 0, ssl=context)
    async with proxy:
        yield f"https://localhost:{proxy.sockets[0].getsockname()[1]}"


async def test_a_certificate_counts_if_this_machine_trusts_it(
    encrypted: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreUnavailableError, match="certificate verify failed"):
        await Memory.connect(encrypted)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with Memory.connect(encrypted) as memory:
        await memory.remember("Tea")
        assert await memory.count() == 1
