"""`memorist mcp` as a client starts it: a process with the protocol on its standard streams."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COMMAND = [sys.executable, "-c", "from memorist.cli import main; main()"]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Raw:
    """A server of which we write and read the lines ourselves."""

    def __init__(self, *options: str, code: str = COMMAND[2]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "mcp", "--tools", "all", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.ask(0, "initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "memorist"
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, id: int, method: str, params: Any) -> Any:
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == id
        return answer

    def call(self, id: int, tool: str, **arguments: Any) -> Any:
        return self.ask(id, "tools/call", {"name": tool, "arguments": arguments})

    def end(self) -> tuple[int, bytes, bytes]:
        """Close its standard input, and return its exit code and what it still said."""
        out, err = self.process.communicate(timeout=240)
        return self.process.returncode, out, err

    def clear(self) -> None:
        """Leave nothing of it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()


Start: TypeAlias = Callable[..., Raw]


@pytest.fixture
def raw(db: Path) -> Iterator[Start]:
    """Return a function that starts a server."""
    started: list[Raw] = []

    def start(*options: str, code: str = COMMAND[2]) -> Raw:
        started.append(Raw(*options, code=code))
        return started[-1]

    yield start
    for server in started:
        server.clear()


async def test_what_one_client_saves_the_next_one_finds(by_stdio: Any, db: Path, value: Any) -> None:
    async with by_stdio("--user", "alice") as client:
        await value(client, "add_memory", content="Prefers homestays when she travels")
    async with by_stdio("--user", "alice") as client:
        [hit] = (await value(client, "search_memories", query="homestays"))["hits"]
        assert hit["record"]["content"] == "Prefers homestays when she travels"
    async with by_stdio("--user", "bob") as client:
        assert (await value(client, "search_memories", query="homestays"))["hits"] == []


async def test_the_command_says_whose_memory_it_is(
    by_stdio: Any, reopen: Any, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_USER", "alice")
    async with by_stdio("--agent", "coder") as client:
        await value(client, "add_memory", content="from the environment")
    async with by_stdio("--user", "carol", "--session", "s") as client:
        await value(client, "add_memory", content="from a flag")
    async with reopen() as memory:
        [alice] = await memory.scoped(user="alice").recent()
        [carol] = await memory.scoped(user="carol").recent()
        assert await memory.admin.users() == {"alice": 1, "carol": 1}
    assert (alice.scope.tenant, alice.scope.agent) == ("default", "coder") and carol.scope.session == "s"

    monkeypatch.setenv("MEMORIST_TENANT", "acme")
    async with by_stdio() as client:
        await value(client, "add_memory", content="of another tenant")
    async with reopen(tenant="acme") as memory:
        assert await memory.admin.users() == {"alice": 1}


async def test_many_calls_at_once_and_two_clients_of_one_file(by_stdio: Any, db: Path, value: Any) -> None:
    async def work(client: Any, who: str) -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(partial(value, client, "add_memory", content=f"{who} {number}"))

    async with by_stdio() as one, by_stdio() as two, anyio.create_task_group() as tasks:
        tasks.start_soon(work, one, "one")
        tasks.start_soon(work, two, "two")
    async with by_stdio() as client:
        found = await value(client, "recent_memories", limit=100)
        assert len({record["content"] for record in found["records"]}) == 20


async def test_a_reader_changes_nothing(by_stdio: Any, error: Any) -> None:
    async with by_stdio("--read-only") as client:
        assert "add_memory" not in {tool.name for tool in (await client.list_tools()).tools}
        assert "needs the right 'write'" in await error(client, "add_memory", content="x")


def test_nothing_but_the_protocol_is_on_the_standard_output(raw: Start) -> None:
    noisy = """if True:
        import os, subprocess
        from memorist.cli import main
        from memorist.testing import HashEmbedder

        embed = HashEmbedder.embed

        def loud(self, *given):
            print("noise", flush=True)
            os.write(1, b"noise")
            subprocess.run(["echo", "noise"])
            return embed(self, *given)

        HashEmbedder.embed = loud
        main()
    """
    server = raw(code=noisy)
    assert not server.call(1, "add_memory", content="x")["result"].get("isError")
    assert len(server.call(2, "search_memories", query="x")["result"]["structuredContent"]["hits"]) == 1
    code, out, err = server.end()
    assert (code, out) == (0, b"") and b"noise" in err


def test_what_is_no_request_is_passed_over(raw: Start) -> None:
    server = raw()
    for line in (b"this is no JSON", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b'{"id": 1}', b"", b"null"):
        server.send(line)
    assert server.ask(1, "no/such", {})["error"]["code"] == -32601
    assert server.ask(2, "tools/call", {"name": "add_memory", "arguments": [1]})["error"]["code"] == -32602
    assert server.ask(3, "tools/call", {"arguments": {}})["error"]["code"] == -32602
    assert server.call(4, "recent_memories")["result"]["structuredContent"] == {"records": []}
    code, _, err = server.end()
    assert code == 0 and b"Traceback" not in err


async def test_a_client_that_hangs_up_ends_the_server_and_leaves_a_sound_file(raw: Start, reopen: Any) -> None:
    server = raw("--user", "alice")
    server.call(1, "add_memory", content="acknowledged")
    for id in range(2, 30):
        call = {"name": "add_memory", "arguments": {"content": f"never waited for {id}"}}
        server.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).encode())
    assert server.process.stdout is not None
    server.process.stdout.close()
    assert server.process.stdin is not None and server.process.stderr is not None
    server.process.stdin.close()
    assert server.process.wait(timeout=240) == 0
    assert b"Traceback" not in server.process.stderr.read()  # from Python 3.13 on it says that a buffer was lost
    async with reopen() as memory:
        assert await memory.admin.check() == []
        assert "acknowledged" in [record.content for record in await memory.scoped(user="alice").recent(100)]


@pytest.mark.posix
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
async def test_a_server_that_is_stopped_keeps_what_it_acknowledged(raw: Start, reopen: Any, how: str) -> None:
    server = raw("--user", "alice")
    server.call(1, "add_memory", content="acknowledged")
    server.process.send_signal(signal.Signals[how])
    assert server.end()[0] == -signal.Signals[how]
    async with reopen() as memory:
        assert [record.content for record in await memory.scoped(user="alice").recent()] == ["acknowledged"]


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [(["--db", "{folder}", "mcp"], 1, "error: "), (["mcp", "--user", " "], 2, "user must not be blank")],
)
def test_what_cannot_be_served_is_said_on_stderr_alone(
    db: Path, tmp_path: Path, options: list[str], code: int, text: str
) -> None:
    named = [each.format(folder=tmp_path) for each in options]
    done = subprocess.run([*COMMAND, *named], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (code, "") and text in done.stderr and "Traceback" not in done.stderr


def test_without_the_extra_the_pip_command_is_named(db: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from memorist.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1 and "[mcp]'" in done.stderr


def test_the_memory_is_that_of_memorys_own_verbs(raw: Start, db: Path) -> None:
    from memorist.sync import Memory as Blocking

    server = raw("--user", "alice")
    server.call(1, "save_topic", topic="user.language", value="Elixir")
    with Blocking.open(db, embedder="hash", user="alice") as memory:
        assert memory.topics.get("user.language") == "Elixir"
        memory.topics.set("user.language", "Gleam")
    assert server.call(2, "recall_topic", topic="user.language")["result"]["structuredContent"]["value"] == "Gleam"
    assert server.end()[0] == 0
