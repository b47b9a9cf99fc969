"""One law at every door: the same calls, played through each, are answered alike.

Hypothesis draws calls with hostile names, ids, keys, times and types, unknown arguments and repeats. Each call is
made in Python, and through one door on a database of its own; both must return the same records, or raise an error
of the same class. A new door joins by one class in `DOORS`. `pytest tests/test_doors.py --doors 5000` plays more.
"""

import contextlib
import io
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import anyio.to_thread
import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist import errors, sync
from memorist.memory import Memory
from memorist.records import Change, Hit, Page, Record
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.testing import HashEmbedder
from servers import running

# --- what is asked -----------------------------------------------------------------------------------

USERS = [
    None, "alice", "bob", "Jos\xe9", "Jose\u0301", "Jos\xe8", " alice", "alice ", "", " ", "a\nb", "ali\u200bce",
    "\u202ea", "a/b",
    "../x", "%61", "a&b=c", "a+b", "u" * 513, "\ud800", "日本", "می\u200cخواهم", "👩\u200d👧", "memorist:server", "-u",
    "null",
]  # fmt: skip
IDS = [
    "x1", " x1", "x1 ", "X1", "x\n1", "x\r\n1", "a/b", "..", ".", "%2F", "%", "?a", "#a", "a&b", "a+b", "é",
    "e\u0301", "-x", "--json",
    "\u200b", "\0", " ", "\ud800", "x" * 300, "日本", "null",
]  # fmt: skip
TEXTS = [
    "Likes tea",
    " leading",
    "trailing\n",
    "a\r\nb",
    "tea\0",
    "é",
    "e\u0301",
    "\u202etea",
    "-",
    "--x",
    " ",
    "",
    "<b>",
    "\ud800",
    "@x",
]
TIMES: list[Any] = [
    "2024-05-01", "1:56 pm on 8 May, 2023", 1683554160, 1683554160.5, "05.01.2024", "10/11/2012",
    "2024-05-01 12:00 EST", "soon",
    "", " ", True, None, "1." * 60, 1e300, "2024-05-01T12:00+02:00", [], "7 days ago", "90d",
]  # fmt: skip
ODD: list[Any] = [None, True, 5, 2.5, [], {}, "x"]
LIMITS: list[Any] = [0, -1, 50, 10_000, 10_001, 10**30, "5", True, None, 2.5]
METADATA: list[Any] = [{}, {"a": 1}, {"a": {"b": [1, None, "é"]}}, {"a": 2**70}, {"": 1}, {"a.b": 1}, [], "x", None, 5]
WHERE: list[Any] = [
    {"a": 1},
    {"a": {"$gte": 0}},
    {"a": {"$near": 1}},
    {"$or": []},
    {"$and": 5},
    {},
    [],
    "x",
    None,
    {"a": 2**64},
]
KINDS: list[Any] = ["note", "message", "topic", "fact", "nots", "NOTE", "", None, 5, ["note", "fact"], []]
UNKNOWN = ["user_id", "k", "top_k", "colour", "filters", "limitt", "contents"]


@dataclass(frozen=True)
class Earlier:
    """Stands for the id of the nth record that was stored in this play, whatever it is behind a door."""

    number: int


@dataclass(frozen=True)
class Call:
    """A verb, whose records it is about, and its arguments."""

    verb: str
    user: str | None
    arguments: Mapping[str, Any] = field(default_factory=dict)


_ids = st.sampled_from(IDS) | st.builds(Earlier, st.integers(0, 2))
_times, _odd, _flags = st.sampled_from(TIMES), st.sampled_from(ODD), st.sampled_from([True, False, None, "yes", 1])
_narrowing = {
    "kind": st.sampled_from(KINDS), "where": st.sampled_from(WHERE), "since": _times, "until": _times,
    "session": st.sampled_from(["s1", "", " s", "a\nb", 5]),
}  # fmt: skip
_listing = {**_narrowing, "shared": _flags, "limit": st.sampled_from(LIMITS)}
VERBS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "remember": (
        {"content": st.sampled_from([*TEXTS, None, True, 5])},
        {"id": st.sampled_from(IDS), "key": st.sampled_from(IDS), "kind": st.sampled_from(KINDS[:9]),
         "happened_at": _times, "metadata": st.sampled_from(METADATA), "cue": st.sampled_from(TEXTS),
         "source": st.sampled_from(["me", "", 5]),
         "session": _narrowing["session"], "verified": _flags, "rating": st.sampled_from([0.5, 2, "1", True, None])},
    ),
    "get": ({"id": _ids}, {}),
    "history": ({"id": _ids}, {}),
    "revise": ({"id": _ids}, {"content": st.sampled_from(TEXTS) | _odd, "metadata": st.sampled_from(METADATA),
                              "verified": _flags, "happened_at": _times}),
    "rate": ({"id": _ids, "rating": st.sampled_from([1, -1, 0.5, None, 2, "1", True, 10**400])}, {}),
    "forget": ({"id": _ids}, {}),
    "lookup": ({"key": st.sampled_from(IDS)}, {"kind": st.sampled_from(KINDS[:9]), "shared": _flags}),
    "recall": ({"query": st.sampled_from([each for each in TEXTS if each != "\ud800"]) | _odd}, _listing),
    "recent": ({}, _listing),
    "browse": ({}, {**_listing, "superseded": _flags, "order": st.sampled_from(["oldest", "key", "up", None]),
                    "key_prefix": st.sampled_from(["x", "", 5])}),
    "count": ({}, {**_narrowing, "superseded": _flags}),
    "purge": ({}, {"shared": st.sampled_from([True, False])}),
}  # fmt: skip


@st.composite
def calls(draw: Any) -> Call:
    verb = draw(st.sampled_from([*VERBS, "remember", "remember", "remember"]))
    needed, optional = VERBS[verb]
    arguments = {name: draw(values) for name, values in needed.items()}
    for name in draw(st.lists(st.sampled_from(sorted(optional)), max_size=2, unique=True)) if optional else []:
        arguments[name] = draw(optional[name])
    if draw(st.integers(0, 15)) == 0:
        arguments[draw(st.sampled_from(UNKNOWN))] = draw(_odd)
    return Call(verb, draw(st.sampled_from(["alice", "alice", "alice", *USERS])), arguments)


# --- what is answered --------------------------------------------------------------------------------

KEPT = (
    "kind",
    "content",
    "cue",
    "key",
    "metadata",
    "payload",
    "source",
    "verified",
    "rating",
    "session",
    "happened_at",
    "version",
)


class Refused(Exception):
    """A door answered with an error; `family` names its class, or None where the door does not tell."""

    def __init__(self, family: str | None) -> None:
        super().__init__(family)
        self.family = family


def family_of(name: str) -> str:
    """Return the class of error that callers tell apart: what is wrong with a request is one."""
    return "InvalidInputError" if issubclass(getattr(errors, name), errors.InvalidInputError) else name


def plain(answer: Any) -> Any:
    """Return what a verb returned as JSON."""
    if isinstance(answer, Record | Change):
        return answer.to_dict()
    if isinstance(answer, Hit):
        return answer.record.to_dict()
    if isinstance(answer, Page):
        return [record.to_dict() for record in answer.records]
    return [plain(each) for each in answer] if isinstance(answer, list) else answer


class Player:
    """Plays calls through a door, and returns answers that can be compared."""

    def __init__(self, door: "Door") -> None:
        self.door = door
        self.tenant = f"t{uuid.uuid4().hex}"
        self.stored: list[str] = []

    async def play(self, call: Call) -> Any:
        arguments = {name: self._named(value) for name, value in call.arguments.items()}
        try:
            answer = await self.door.call(self.tenant, Call(call.verb, call.user, arguments))
        except Refused as refused:
            return refused
        if call.verb == "remember" and answer["id"] not in self.stored:
            self.stored.append(answer["id"])
        if call.verb == "history":
            return [each["action"] for each in answer]
        if call.verb == "recall":  # what scores alike may come in any order
            return sorted((self._seen(each) for each in answer), key=repr)
        return [self._seen(each) for each in answer] if isinstance(answer, list) else self._seen(answer)

    def _named(self, value: Any) -> Any:
        if not isinstance(value, Earlier):
            return value
        return self.stored[value.number] if value.number < len(self.stored) else "none"

    def _seen(self, answer: Any) -> Any:
        if not isinstance(answer, Mapping):
            return answer
        seen = {name: answer[name] for name in KEPT if answer.get(name) not in (None, {}, False)}
        return seen | {"id": self.stored.index(answer["id"]) if answer["id"] in self.stored else answer["id"]}


def alike(expected: Any, found: Any) -> bool:
    if isinstance(expected, Refused) and isinstance(found, Refused):
        return None in (expected.family, found.family) or expected.family == found.family
    return not isinstance(expected, Refused) and not isinstance(found, Refused) and bool(expected == found)


# --- the doors ---------------------------------------------------------------------------------------


class Door:
    """One way in, to a database of its own."""

    verbs: ClassVar[Collection[str]] = VERBS

    def __init__(self, memory: Memory, path: Path) -> None:
        self.memory = memory
        self.path = path

    def takes(self, call: Call) -> bool:
        """Whether the call can be made here at all."""
        return call.verb in self.verbs

    @asynccontextmanager
    async def ready(self) -> AsyncIterator["Door"]:
        """Run what answers."""
        yield self

    async def call(self, tenant: str, call: Call) -> Any:
        """Return the answer as JSON: a record, records, changes, a number.

        Raises:
            Refused: it is an error; a record that is not there is a NotFoundError.
        """
        raise NotImplementedError


@contextlib.contextmanager
def refusing(verb: str) -> Iterator[None]:
    """Turn an error of ours, and Python's own for an argument that a function lacks, to what is compared."""
    try:
        yield
    except errors.MemoristError as error:
        raise Refused(family_of(type(error).__name__)) from error
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise Refused("InvalidInputError") from error


def asked(memory: Any, call: Call) -> Any:
    """Make a call in Python, async or blocking."""
    arguments = dict(call.arguments)
    if call.verb == "forget":
        return memory.forget(arguments.pop("id"), **arguments)
    return getattr(memory, call.verb)(**arguments)


def found(verb: str, answer: Any) -> Any:
    if answer is None and verb in ("get", "lookup"):
        raise Refused("NotFoundError")
    return plain(answer)


class Python(Door):
    """The law."""

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            return found(call.verb, await asked(self.memory.scoped(tenant=tenant, user=call.user), call))


class Blocking(Door):
    """`memorist.sync`."""

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        self.blocking = await anyio.to_thread.run_sync(
            lambda: sync.Memory.open(self.path.with_suffix(".sync"), embedder=HashEmbedder())
        )
        yield self
        await anyio.to_thread.run_sync(self.blocking.close)

    async def call(self, tenant: str, call: Call) -> Any:
        def work() -> Any:
            with refusing(call.verb):
                return found(call.verb, asked(self.blocking.scoped(tenant=tenant, user=call.user), call))

        return await anyio.to_thread.run_sync(work)


class Connected(Door):
    """`Memory.connect`."""

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with running(create_app(self.memory, open=True)) as self.url:
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        with refusing(call.verb):
            async with Memory.connect(self.url, tenant=tenant, user=call.user) as memory:
                return found(call.verb, await asked(memory, call))


class Rest(Door):
    """REST, the user in the query."""

    in_query: ClassVar[Mapping[str, tuple[str, ...]]] = {"lookup": ("key", "kind", "shared"), "purge": ("shared",)}

    def takes(self, call: Call) -> bool:
        in_body = call.verb in ("remember", "revise", "rate", "recall", "recent", "browse", "count")
        if not in_body and any(name in UNKNOWN for name in call.arguments):
            return False  # a query's texts are read in another way than Python's arguments
        in_query = (*self.in_query.get(call.verb, ()), *(() if call.verb == "remember" else ("session",)))
        return all(isinstance(call.arguments.get(name, ""), str | bool) for name in in_query)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        app = create_app(self.memory, open=True)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as self.http:
            yield self

    async def call(self, tenant: str, call: Call) -> Any:
        body = dict(call.arguments)
        method, path = "POST", f"/v1/{call.verb}"
        query: dict[str, Any] = {"tenant": tenant}
        headers = self.named(call.user, query)
        names = (
            self.in_query.get(call.verb, ())
            if call.verb == "remember"
            else (*self.in_query.get(call.verb, ()), "session")
        )
        query |= {name: body.pop(name) for name in names if name in body}
        if call.verb == "remember":
            path, body = "/v1/records", {"records": [body]}
        elif call.verb == "forget":
            body["ids"] = [body.pop("id")]
        elif call.verb in ("get", "history", "revise", "rate"):
            part = quote(body.pop("id").encode("utf-8", "surrogatepass"), safe="").replace(".", "%2E")
            path = f"/v1/records/{part}" + {"history": "/history", "rate": "/rating"}.get(call.verb, "")
            method = {"revise": "PATCH", "rate": "PUT"}.get(call.verb, "GET")
        elif call.verb == "lookup":
            method = "GET"
        encoded = "&".join(f"{name}={_as_query(value)}" for name, value in query.items())
        content = b"" if method == "GET" or call.verb == "purge" else json.dumps(body).encode()
        answer = await self.http.request(
            method, f"{path}?{encoded}", content=content, headers=[(b"content-type", b"application/json"), *headers]
        )
        told = answer.json()
        if answer.status_code >= 400:
            assert answer.status_code < 500, told
            raise Refused(family_of(told["error"]))
        if call.verb == "remember":
            return told["records"][0]
        if call.verb == "recall":
            return [hit["record"] for hit in told["hits"]]
        for name in ("records", "changes", "count", "forgotten", "purged"):
            if name in told:
                return told[name]
        return told

    def named(self, user: str | None, query: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        if user is not None:
            query["user"] = user
        return []


class RestByHeader(Rest):
    """REST, the user in the header Memorist-User."""

    def takes(self, call: Call) -> bool:
        named = call.user is None or (call.user == call.user.strip() and not {"\n", "\r", "\0"} & set(call.user))
        return named and super().takes(call)

    def named(self, user: str | None, query: dict[str, Any]) -> list[tuple[bytes, bytes]]:
        return [] if user is None else [(b"memorist-user", user.encode("utf-8", "surrogatepass"))]


def _as_query(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else value
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


class Mcp(Door):
    """MCP, by the SDK's client in this process, as over the standard streams."""

    tools: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {
        "remember": ("add_memory", ("content", "metadata", "happened_at", "source", "session")),
        "get": ("get_memory", ("id",)),
        "revise": ("update_memory", ("id", "content", "metadata", "verified", "happened_at")),
        "rate": ("rate_memory", ("id", "rating")),
        "forget": ("delete_memory", ("id",)),
        "recall": ("search_memories", ("query", "limit", "kind", "where", "since", "until", "session", "shared")),
        "recent": ("recent_memories", ("limit", "kind", "where", "since", "until", "session", "shared")),
    }
    verbs = tools

    def takes(self, call: Call) -> bool:
        if call.verb not in self.tools:
            return False
        names = self.tools[call.verb][1]
        known = all(name in names or name in UNKNOWN for name in call.arguments)
        known = known and not {"5", "1"} & {
            call.arguments.get("limit"),
            call.arguments.get("rating"),
        }  # a small model's numbers may be texts: they are read
        # A model leaves an argument out by null, and times of tools are texts; JSON has no lone surrogates.
        told = all(value is not None for value in call.arguments.values())
        times = (call.arguments.get(name, "") for name in ("since", "until", "happened_at"))
        valid = "\\ud800" not in repr(call.arguments) and call.arguments.get("kind") != "topic"
        return known and told and valid and all(isinstance(each, str) for each in times)

    async def call(self, tenant: str, call: Call) -> Any:
        from mcp import Client

        from memorist.serve.mcp import Access, create_server

        with refusing(call.verb):
            memory = self.memory.scoped(tenant=tenant, user=call.user)
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
        return told.get("records", told)


class McpByHttp(Mcp):
    """MCP over HTTP, the user in the header Memorist-User."""

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
            (b"authorization", f"Bearer {self.tokens[tenant]}".encode()), (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
        ]  # fmt: skip
        if call.user is not None:
            headers.append((b"memorist-user", call.user.encode("utf-8", "surrogatepass")))
        params = {"name": self.tools[call.verb][0], "arguments": dict(call.arguments)}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await self.http.post("/mcp", content=json.dumps(asked).encode(), headers=headers)
        told = answer.json()
        if answer.status_code >= 400 or "error" in told or told["result"].get("isError"):
            assert answer.status_code < 500, told
            raise Refused(None)
        return self.read(call.verb, told["result"]["structuredContent"])


class CommandLine(Door):
    """The command `memorist`."""

    verbs = ("remember", "get", "recall", "recent", "browse", "count", "forget", "history")
    options: ClassVar[Mapping[str, str]] = {"happened_at": "at", "key_prefix": "key-prefix"}

    def takes(self, call: Call) -> bool:
        given = call.arguments
        if call.verb not in self.verbs or (call.verb == "count" and call.user is None) or "-" in given.values():
            return False
        flags = [given.get(name, True) for name in ("shared", "superseded", "verified")]
        rest = {name: value for name, value in given.items() if name not in ("shared", "superseded", "verified")}
        texts = {name: value for name, value in rest.items() if name not in ("where", "metadata", "limit")}
        objects = [rest.get(name, {}) for name in ("where", "metadata")]
        numbers = isinstance(rest.get("limit", 1), int) and not isinstance(rest.get("limit"), bool)
        positive = rest.get("limit", 1) in range(1, 10_002) if numbers else False  # its options have a least value
        return (
            all(each is True for each in flags)
            and all(isinstance(each, str) for each in texts.values())
            and all(isinstance(each, dict) for each in objects)
            and positive
            and not any(name in given for name in ("rating", "cue"))
        )

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        async with Memory.open(self.path.with_suffix(".cli"), embedder=HashEmbedder()):
            pass  # a command that reads makes no file
        yield self

    async def call(self, tenant: str, call: Call) -> Any:
        given = dict(call.arguments)
        named = ("content",) if call.verb == "remember" else ("id", "query")
        words = [given.pop(name) for name in named if name in given]
        line = ["--db", str(self.path.with_suffix(".cli")), "--tenant", tenant, call.verb, "--json"]
        if call.user is not None:
            line.append(f"--user={call.user}")
        for name, value in given.items():
            option = self.options.get(name, name)
            if value is True:
                line.append(f"--{option}")
            else:
                line.append(f"--{option}={json.dumps(value) if isinstance(value, dict) else value}")
        code, out = await anyio.to_thread.run_sync(_run, [*line, "--", *words])
        if code:
            if call.verb == "forget" and code == 1 and out:
                return json.loads(out)["forgotten"]
            if call.verb == "history" and code == 1:  # the command tells that there never was such a record
                return []
            raise Refused("InvalidInputError" if code == 2 else "NotFoundError")
        told = json.loads(out)
        if call.verb == "recall":
            return [hit["record"] for hit in told]
        return told["forgotten"] if call.verb == "forget" else told["records"] if call.verb == "browse" else told


def _run(line: list[str]) -> tuple[int, str]:
    from memorist.cli.app import app

    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            app(line, prog_name="memorist")
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


DOORS: Mapping[str, Callable[[Memory, Path], Door]] = {
    "blocking": Blocking, "connect": Connected, "rest": Rest, "rest by header": RestByHeader, "mcp": Mcp,
    "mcp by http": McpByHttp, "command line": CommandLine,
}  # fmt: skip


# --- the test ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with pytest.MonkeyPatch.context() as patch, start_blocking_portal() as portal:
        for variable in [name for name in os.environ if name.startswith("MEMORIST_")]:
            patch.delenv(variable)
        patch.setenv("MEMORIST_EMBEDDER", "hash")
        yield portal


@asynccontextmanager
async def pair(make: Callable[[Memory, Path], Door], folder: Path) -> AsyncIterator[tuple[Door, Door]]:
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(Memory.open(folder / f"{name}.db", embedder=HashEmbedder()))
            for name in ("law", "door")
        ]
        law = await stack.enter_async_context(Python(opened[0], folder / "law.db").ready())
        yield law, await stack.enter_async_context(make(opened[1], folder / "door.db").ready())


async def compared(law: Door, door: Door, calls: list[Call]) -> list[tuple[Call, Any, Any]]:
    """Play calls through both, and return those that were answered differently."""
    players = Player(law), Player(door)
    differing = []
    for call in calls:
        if door.takes(call):
            answers = [await player.play(call) for player in players]
            if not alike(*answers):
                differing.append((call, *answers))
    return differing


@pytest.mark.parametrize("name", DOORS)
def test_every_door_answers_as_python_does(
    name: str, portal: BlockingPortal, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with portal.wrap_async_context_manager(pair(DOORS[name], tmp_path)) as (law, door):

        @settings(
            max_examples=request.config.getoption("--doors"), deadline=None, suppress_health_check=list(HealthCheck)
        )
        @given(st.lists(calls().filter(door.takes), min_size=1, max_size=5))
        def play(drawn: list[Call]) -> None:
            assert portal.call(compared, law, door, drawn) == []

        play()
