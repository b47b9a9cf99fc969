"""The configurations that docs/mcp.md shows start a server that works."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[3] / "docs" / "mcp.md"
BLOCK = re.compile(r"^```(json|toml)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def servers() -> Iterator[dict[str, Any]]:
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        [named] = (json.loads(text) if language == "json" else tomllib.loads(text)).values()
        yield named["memory"]


LOCAL = [server for server in servers() if "command" in server]
ONCE = {json.dumps([server["args"], server.get("env")]): server for server in LOCAL}.values()
"""Several clients' files may say the same."""
REMOTE = [server for server in servers() if "url" in server]


@pytest.mark.slow
@pytest.mark.parametrize("server", ONCE, ids=lambda server: " ".join(server["args"]))
async def test_a_local_server_starts_and_remembers_for_its_user(
    by_stdio: Any, reopen: Any, value: Any, monkeypatch: pytest.MonkeyPatch, server: dict[str, Any]
) -> None:
    for name, text in server.get("env", {}).items():
        monkeypatch.setenv(name, text)
    command, *options = server["args"]
    assert (server["command"], command) == ("memorist", "mcp")
    async with by_stdio(*options) as client:
        await value(client, "add_memory", content="x")
    async with reopen() as memory:
        assert await memory.admin.users() == {"alice": 1}


@pytest.mark.slow
async def test_a_remote_server_is_reached_with_its_headers(serve: Any, by_http: Any, reopen: Any, value: Any) -> None:
    from memorist.serve.auth import Tokens

    [server] = REMOTE
    async with reopen() as memory:
        secret, _ = await Tokens(memory).create("laptop", user="alice")
    headers = {name.lower(): text.replace("mem_…", secret) for name, text in server["headers"].items()}
    async with by_http(serve("--require-token"), **headers) as client:
        await value(client, "add_memory", content="x")
    async with reopen() as memory:
        assert await memory.admin.users() == {"alice": 1}


def test_every_form_is_shown() -> None:
    assert len(LOCAL) == 5 and len(REMOTE) == 1
