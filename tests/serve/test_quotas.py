"""What a token may send in a span of time, at each door of a server."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import pytest

from memorist.config import Settings
from memorist.embedders import Role, Vectors
from memorist.errors import InvalidInputError, StoreBusyError
from memorist.memory import Memory
from memorist.operations.requests import Remember
from memorist.records.origins import TrustRules
from memorist.records.scope import Scope
from memorist.serve.app import create_app
from memorist.serve.auth import LOCAL, Tokens
from memorist.serve.counts import Counts, shared_file
from memorist.serve.mcp import Gate
from memorist.serve.quotas import Quotas, parse_limits
from memorist.testing import HashEmbedder
from servers import running

pytestmark = pytest.mark.anyio


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def token(everyone: Memory, *limits: str) -> str:
    secret, _ = await Tokens(everyone).create("assistant", user="alice", limits=parse_limits(limits))
    return secret


def client(app: object, secret: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
    return httpx.AsyncClient(
        transport=transport, base_url="http://memory", headers={"Authorization": f"Bearer {secret}"}
    )


async def test_too_many_requests_are_told_when_to_come_again(everyone: Memory) -> None:
    clock = Seconds()
    app = create_app(everyone, quotas=Quotas(clock=clock))
    async with client(app, await token(everyone, "requests=3/min")) as http:
        for _ in range(3):
            assert (await http.post("/v1/count", json={})).status_code == 200
        refused = await http.post("/v1/count", json={})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "20")
        assert refused.json()["error"] == "StoreBusyError" and "3 requests in 60 seconds" in refused.json()["detail"]
        clock.now = 19.9
        assert (await http.post("/v1/count", json={})).status_code == 429
        clock.now = 20
        assert (await http.post("/v1/count", json={})).status_code == 200
        assert (await http.post("/v1/count", json={})).status_code == 429


@pytest.mark.parametrize(
    ("limit", "fits", "too_much", "never"),
    [("records=3/h", ["a", "b"], ["c", "d"], ["a"] * 4), ("bytes=10/h", ["ä" * 4], ["abc"], ["x" * 11])],
)
async def test_what_is_refused_is_not_stored_and_costs_nothing(
    everyone: Memory, limit: str, fits: list[str], too_much: list[str], never: list[str]
) -> None:
    async with client(create_app(everyone), await token(everyone, limit)) as http:

        async def send(texts: list[str]) -> httpx.Response:
            return await http.post("/v1/records", json={"records": [{"content": text} for text in texts]})

        assert (await send(fits)).status_code == 201
        assert (await send(too_much)).status_code == 429
        endless = await send(never)
        assert endless.status_code == 422 and "send fewer" in endless.json()["detail"]
        assert (await send(too_much[:1])).status_code == (201 if limit.startswith("records") else 429)
        assert (await http.post("/v1/count", json={})).status_code == 200  # reading is not limited


async def test_the_client_gets_the_error_at_once(everyone: Memory) -> None:
    secret = await token(everyone, "requests=1/day")
    async with running(create_app(everyone)) as url, Memory.connect(url, token=secret) as alice:
        await alice.count()
        with pytest.raises(StoreBusyError, match="try again in 86,400 seconds"):
            await alice.count()


async def test_the_limits_of_the_server_are_for_tokens_without_their_own(everyone: Memory) -> None:
    quotas = Quotas(parse_limits(["requests=1/day", "records=1/day"]))
    secret = await token(everyone, "requests=2/day")
    async with client(create_app(everyone, quotas=quotas), secret) as http:
        statuses = [(await http.post("/v1/count", json={})).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    local = quotas.memory(everyone, LOCAL, Scope("default", "bob"))
    with pytest.raises(InvalidInputError, match="send fewer"):
        await local.remember(["a", "b"])
    await local.scoped(session="a").remember("a")
    with pytest.raises(StoreBusyError):
        await local.conversation("b").append("b", role="user")


async def test_rest_and_mcp_take_from_one_bucket(everyone: Memory) -> None:
    quotas = Quotas()
    secret = await token(everyone, "requests=2/day")
    gate = Gate(memory=everyone, quotas=quotas)
    access = await gate.admit([(b"authorization", f"Bearer {secret}".encode())], "10.0.0.1")
    await access.memory.count()
    async with client(create_app(everyone, quotas=quotas), secret) as http:
        assert (await http.post("/v1/count", json={})).status_code == 200
    with pytest.raises(StoreBusyError):
        await access.memory.count()


async def test_a_limited_memory_prepares_and_tells_the_rules_of_the_one_inside(tmp_path: Path) -> None:
    embedder, trust = _Counted(), TrustRules({"web": "high"})
    async with Memory.open(tmp_path / "m.db", embedder=embedder, settings=Settings(trust=trust)) as memory:
        grant = replace(LOCAL, limits={"requests": "9/day"})
        limited = Quotas().memory(memory, grant, Scope(user="alice"))
        await limited.prepare(Remember(records=("Likes tea",)))  # type: ignore[arg-type]
        assert embedder.texts == ["Likes tea"]
        assert limited.trust == trust and limited.clock is memory.clock
        await limited.remember("Likes tea")
        assert embedder.texts == ["Likes tea"], "what was prepared is not embedded again"


class _Counted(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        self.texts += texts
        return await super().embed(texts, role)


async def test_one_token_does_not_use_up_what_another_has(everyone: Memory) -> None:
    app = create_app(everyone)
    first = await token(everyone, "requests=1/day")
    second, _ = await Tokens(everyone).create("other", limits=parse_limits(["requests=1/day"]))
    for secret in (first, second):
        async with client(app, secret) as http:
            assert [(await http.post("/v1/count", json={})).status_code for _ in range(2)] == [200, 429]


HELD: Mapping[str, Any] = {"metadata": {"note": "x" * 100}, "payload": {"note": "x" * 100}}


@pytest.mark.parametrize("field", ["content", "cue", "metadata", "payload", "source"])
async def test_all_text_that_a_record_holds_is_counted(everyone: Memory, field: str) -> None:
    large = HELD.get(field, "x" * 100)
    async with client(create_app(everyone), await token(everyone, "bytes=120/h")) as http:
        [record] = (await http.post("/v1/records", json={"records": [{"content": "tea"}]})).json()["records"]
        drafts = {"records": [{"content": "tea", field: large}]}
        assert [(await http.post("/v1/records", json=drafts)).status_code for _ in range(2)] == [201, 429]
    secret, _ = await Tokens(everyone).create("reviser", user="alice", limits=parse_limits(["bytes=120/h"]))
    async with client(create_app(everyone), secret) as http:
        change = {"verified": True, field: large}
        statuses = [(await http.patch(f"/v1/records/{record['id']}", json=change)).status_code for _ in range(2)]
        assert statuses == [200, 429]


async def test_a_line_that_is_loaded_counts_with_its_metadata(everyone: Memory) -> None:
    await everyone.scoped(user="alice").remember("tea", metadata={"note": "x" * 100})
    [_, *lines] = [line async for line in everyone.scoped(user="alice").export()]
    await everyone.scoped(user="alice").purge()
    async with client(create_app(everyone), await token(everyone, "bytes=100/h")) as http:
        answer = await http.post("/v1/load", content="\n".join(lines))
        assert answer.status_code != 200 or answer.json()["added"] == 0
    assert await everyone.scoped(user="alice").count() == 0


def spent(file: int, times: int) -> int:
    """Return how many of `times` requests a limit of 500 a day lets through, counted in a shared file."""
    quotas, passed = Quotas({"requests": "500/day"}, counts=Counts(file)), 0
    for _ in range(times):
        with suppress(StoreBusyError):
            quotas.spend("token", {"requests": "500/day"}, {"requests": 1, "records": 0, "bytes": 0})
            passed += 1
    return passed


@pytest.mark.slow
@pytest.mark.posix
def test_processes_count_together() -> None:
    with shared_file() as file, ProcessPoolExecutor(3, get_context("fork")) as processes:
        passed = [processes.submit(spent, file.fileno(), 400) for _ in range(3)]
        assert sum(each.result() for each in passed) == 500


def test_many_tokens_take_no_more_memory_and_each_has_its_own_bucket() -> None:
    quotas, seconds = Quotas(clock=Seconds()), {"requests": 1, "records": 0, "bytes": 0}
    for number in range(3_000):
        quotas.spend(f"token {number}", {"requests": "1/day"}, seconds)
    for number in range(3_000):
        with pytest.raises(StoreBusyError):
            quotas.spend(f"token {number}", {"requests": "1/day"}, seconds)


def test_a_full_table_forgets_the_token_that_was_away_longest() -> None:
    clock = Seconds()
    quotas, sent = Quotas(clock=clock), {"requests": 1, "records": 0, "bytes": 0}
    for number in range(60_000):  # twice as many as there are slots
        clock.now = number / 1e6
        quotas.spend(f"token {number}", {"requests": "1/day"}, sent)
    with pytest.raises(StoreBusyError):
        quotas.spend("token 59999", {"requests": "1/day"}, sent)
    quotas.spend("token 0", {"requests": "1/day"}, sent)


@pytest.mark.parametrize(
    "given",
    [
        "requests",
        "requests=0/min",
        "requests=1/week",
        "requests=1MiB/min",
        "calls=1/min",
        "bytes=1.5/h",
        "",
        "requests=1/min requests=2/min",
    ],
)
def test_a_limit_that_is_none(given: str) -> None:
    with pytest.raises(InvalidInputError, match="requests=600/min"):
        parse_limits(given.split() or [given])


def test_limits_as_they_are_kept() -> None:
    kept: Mapping[str, str] = parse_limits(["bytes=10MiB/h", "records=5/s"])
    assert kept == {"bytes": "10MiB/h", "records": "5/s"}
