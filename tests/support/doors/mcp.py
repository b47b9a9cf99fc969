"""MCP: in this process, by HTTP, and over the standard streams of another process."""

import contextlib
import json
import os
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import httpx

from doors.base import Door, Refused, changed, halved, refusing
from doors.calls import UNKNOWN, Call
from doors.rest import headers_of
from memorist.serve.auth import Tokens


class Mcp(Door):
    """MCP, by the SDK's client in this process, as over the standard streams."""

    tools: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {
        "remember": ("add_memory", ("content", "metadata", "happened_at", "expires_at", "source", "session")),
        "get": ("get_memory", ("id",)),
        "revise": ("update_memory", ("id", "content", "metadata", "verified", "happened_at")),
        "rate": ("rate_memory", ("id", "rating")),
        "forget": ("delete_memory", ("id",)),
        "recall": (
            "search_memories",
            ("query", "limit", "kind", "where", "since", "until", "session", "min_trust", "shared"),
        ),
        "changes": ("list_changes", ("limit", "since", "until", "min_score", "cursor")),
        "recent": ("recent_memories", ("limit", "kind", "where", "since", "until", "session", "shared")),
    }
    verbs = tools
    halved: ClassVar[tuple[str, ...]] = ()
    """The arguments that may hold half of a character: the SDK's client sends none."""
    in_zone = True

    def takes(self, call: Call) -> bool:
        if call.verb not in self.tools:
            return False
        names = self.tools[call.verb][1]
        known = all(name in names or name in UNKNOWN for name in call.arguments)
        known = known and not {"5", "1"} & {
            call.arguments.get("limit"),
            call.arguments.get("rating"),
        }  # a small model's numbers may be texts: they are read
        # A model leaves an argument out by null, and times of tools are texts.
        told = all(value is not None for value in call.arguments.values())
        times = (call.arguments.get(name, "") for name in ("since", "until", "happened_at", "expires_at"))
        others = {name: value for name, value in call.arguments.items() if name not in self.halved}
        valid = not halved(others) and call.arguments.get("kind") != "topic"
        return known and told and valid and all(isinstance(each, str) for each in times)

    async def call(self, tenant: str, call: Call) -> Any:
        from mcp import Client

        from memorist.serve.mcp import Access, create_server

        with refusing(call.verb):
            memory = self.memory.scoped(tenant=tenant, user=call.user, zone=call.zone)
        async with Client(create_server(Access(memory), tools="all")) as client:
            answer = await client.call_tool(self.tools[call.verb][0], dict(call.arguments))
        if answer.is_error:
            raise Refused(None)
        return self.read(call.verb, answer.structured_content)

    @staticmethod
    def read(verb: str, told: Any) -> Any:
        if verb == "forget":
            return int(told["deleted"])
        if verb == "recall":
            return [hit["record"] for hit in told["hits"]]
        return changed(told) if verb == "changes" else told.get("records", told)


class McpByHttp(Mcp):
    """MCP over HTTP, the user in the header Memorist-User, and the zone in Memorist-Zone."""

    halved = ("content", "query")

    def takes(self, call: Call) -> bool:
        named = call.user is None or (call.user == call.user.strip() and not {"\n", "\r", "\0"} & set(call.user))
        return named and super().takes(call)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        from memorist.serve.mcp import Gate, create_app

        self.tokens: dict[str, str] = {}
        app = create_app(Gate(memory=self.memory), tools="all")
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as self.http,
        ):
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        if tenant not in self.tokens:
            self.tokens[tenant], _ = await Tokens(self.memory).create(tenant, tenant=tenant)
        headers = [
            (b"authorization", f"Bearer {self.tokens[tenant]}".encode()),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            *headers_of(call),
        ]
        params = {"name": self.tools[call.verb][0], "arguments": dict(call.arguments)}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.http.post("/mcp", content=json.dumps(asked).encode(), headers=headers)
        told = answer.json()
        if answer.status_code >= 400 or "error" in told or told["result"].get("isError"):
            assert answer.status_code < 500, told
            raise Refused(None)
        return self.read(call.verb, told["result"]["structuredContent"])


class McpByStdio(Mcp):
    """`memorist mcp` in a process of its own for each user and zone, over its standard streams."""

    halved = ("content", "query")
    tenant: ClassVar[str] = "streams"
    users = (None, "alice", "Jos\xe9", "Jose\u0301", "", "ali\u200bce", "\ud800", "-u")
    zones = (None, "America/New_York", "Mars/Base")
    """To start a process takes a second: no more than one of each sort of name, and zones for one user alone."""

    def takes(self, call: Call) -> bool:
        if call.zone not in (self.zones if call.user == "alice" else (None,)):
            return False
        return super().takes(call) and call.user in self.users

    async def empty(self) -> str:
        """Empty the tenant that all processes serve: to start one takes a second."""
        tenant = self.memory.scoped(tenant=self.tenant)
        for user in await tenant.admin.users():
            await tenant.purge(user=user, shared=user is None)
        return self.tenant

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        self.clients: dict[tuple[str | None, str | None], Process | None] = {}
        yield self
        for client in self.clients.values():
            if client is not None:
                assert client.stdin is not None
                client.stdin.close()
                await client.wait()

    async def call(self, tenant: str, call: Call) -> Any:
        whose = call.user, call.zone
        if whose not in self.clients:
            self.clients[whose] = await self._started(*whose)
        if (client := self.clients[whose]) is None:
            raise Refused("InvalidInputError")
        params = {"name": self.tools[call.verb][0], "arguments": dict(call.arguments)}
        told = await self._answer(client, "tools/call", params)
        if "error" in told or told["result"].get("isError"):
            raise Refused(None)
        return self.read(call.verb, told["result"]["structuredContent"])

    async def _started(self, user: str | None, zone: str | None) -> Process | None:
        """Return a process that serves the user in a zone, or None where the command refuses a name."""
        there = [] if zone is None else ["--zone", zone]
        line = ["-m", "memorist", "--db", str(self.path), "--tenant", self.tenant, *there, "mcp", "--tools", "all"]
        if user is not None:
            line.append(f"--user={os.fsdecode(user.encode('utf-8', 'surrogatepass'))}")
        client = await create_subprocess_exec(sys.executable, *line, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        if not await self._answer(client, "initialize", about):
            assert (await client.communicate(), client.returncode)[1] == 2
            return None
        await self._send(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client

    async def _answer(self, client: Process, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to a request, or None where the process has ended."""
        await self._send(client, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert client.stdout is not None
        line = await client.stdout.readline()
        return json.loads(line) if line else None

    @staticmethod
    async def _send(client: Process, message: Mapping[str, Any]) -> None:
        assert client.stdin is not None
        client.stdin.write(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await client.stdin.drain()
