import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from memorist.memory import Memory
from memorist.serve.auth import Right

if TYPE_CHECKING:
    from mcp import Client

if find_spec("mcp_types") is None:  # the extra mcp is not installed
    collect_ignore_glob = ["test_*.py"]

COMMAND = [sys.executable, "-c", "from memorist.cli import main; main()"]

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager["Client"]]
Serve: TypeAlias = Callable[..., str]


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    """How the client connects: by the newest protocol, or with the handshake of those before it."""
    return str(request.param)


@pytest.fixture
def connect(era: str) -> Connect:
    """Return a function that connects the SDK's client to a server of a memory, in this process."""
    from mcp import Client

    from memorist.serve.mcp import Access, create_server

    @asynccontextmanager
    async def to(memory: Memory, right: Right = Right.WRITE) -> AsyncIterator["Client"]:
        async with Client(create_server(Access(memory, right), tools="all"), mode=era) as client:
            yield client

    return to


@pytest.fixture
async def tools(connect: Connect, alice: Memory) -> AsyncIterator["Client"]:
    """A client of alice's memory."""
    async with connect(alice) as client:
        yield client


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that commands of this test work on."""
    path = tmp_path / "memory.db"
    for variable in ("MEMORIST_MODEL", "MEMORIST_USER", "MEMORIST_TENANT", "MEMORIST_AGENT", "MEMORIST_CONFIG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("MEMORIST_DB", str(path))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    return path


@pytest.fixture
def by_stdio(db: Path) -> Connect:
    """Return a function that starts `memorist mcp` and connects to it over its standard streams."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    @asynccontextmanager
    async def to(*options: str, mode: str = "auto") -> AsyncIterator["Client"]:
        env = {name: value for name, value in os.environ.items() if name.startswith("MEMORIST_")}
        command = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], "mcp", "--tools", "all", *options], env=env
        )
        async with Client(stdio_client(command), mode=mode) as client:
            yield client

    return to


@pytest.fixture
def serve(db: Path) -> Iterator[Serve]:
    """Return a function that starts `memorist mcp --http`, or another server, and returns its URL; `stop` ends it."""
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        *options: str,
        port: int = 0,
        stop: str | None = None,
        command: tuple[str, ...] = ("mcp", "--tools", "all", "--http"),
        says: str = "Serving MCP at ",
    ) -> str:
        if stop is not None:
            _end(running.pop(stop))
        server = subprocess.Popen(
            [*COMMAND, *command, "--port", str(port), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert server.stdout is not None
        said = server.stdout.readline().decode()
        if not said.startswith(says):
            _end(server)
            raise AssertionError(said)
        url = said.removeprefix(says).split()[0]
        running[url] = server
        return url

    yield start
    for server in running.values():
        _end(server)


def _end(server: "subprocess.Popen[bytes]") -> None:
    server.terminate()
    server.wait(timeout=240)
    assert server.stdout is not None
    server.stdout.close()


@pytest.fixture
def by_http() -> Connect:
    """Return a function that connects to a server's URL, with these headers."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    @asynccontextmanager
    async def to(url: str, *, mode: str = "auto", **headers: str) -> AsyncIterator["Client"]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with (
            httpx2.AsyncClient(headers=named, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client

    return to


async def value(client: "Client", tool: str, /, **arguments: Any) -> Any:
    """Call a tool, which must succeed, and return its structured answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def error(client: "Client", tool: str, /, **arguments: Any) -> str:
    """Call a tool, which must fail, and return what it says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error and result.structured_content is None
    [content] = result.content
    assert content.type == "text"
    return content.text


@pytest.fixture(name="value")
def value_() -> Callable[..., Any]:
    return value


@pytest.fixture(name="error")
def error_() -> Callable[..., Any]:
    return error
