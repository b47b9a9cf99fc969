"""The audit log at a server: which door and which token, who may read it, and what a remote memory makes of it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from browsers import Browser
from inside import core_of
from memorist.audit.log import CHECKPOINT, Act
from memorist.audit.signing import check, key_file, public_key
from memorist.errors import ScopeError
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from servers import running

pytestmark = pytest.mark.anyio
NOTE = {"records": [{"content": "A note"}]}


@pytest.fixture
async def audited(everyone: Memory) -> AsyncIterator[Memory]:
    log = core_of(everyone).store.audit
    assert log is not None
    await log.switch("changes", Act("audit changes", "python"))
    yield everyone


async def test_the_door_and_the_token_are_noted_and_not_its_name(audited: Memory, tokens: Tokens, client: Any) -> None:
    secret, token = await tokens.create("laptop of alice", user="alice")
    http = await client(secret)
    assert (await http.post("/v1/records", json=NOTE)).status_code == 201
    await Browser(await client()).send("/", "/remember", content="Tea")
    entries = [entry.to_dict() async for entry in audited.admin.audit_entries()]
    assert [(each["door"], each["token"]) for each in entries][-2:] == [("rest", token.id), ("console", None)]
    assert "laptop" not in str(entries)


async def test_only_an_operator_reads_what_is_of_everyone(audited: Memory, tokens: Tokens, client: Any) -> None:
    await audited.scoped(user="alice").remember("x")
    for right, tenant, status in (("admin", None, 200), ("admin", "default", 403), ("write", None, 403)):
        secret, _ = await tokens.create(f"{right} {tenant}", tenant=tenant, right=right)
        http: httpx.AsyncClient = await client(secret)
        assert (await http.get("/v1/audit")).status_code == status
        assert (await http.get("/v1/audit/checkpoint")).status_code == status
        mine = await http.get("/v1/audit", params={"user": "alice"})
        assert mine.status_code == (403 if right == "write" else 200)
        if right == "admin":
            [entry] = mine.json()["entries"]
            assert entry["verb"] == "remember"


async def test_a_wrong_place_to_begin_is_refused(http: httpx.AsyncClient) -> None:
    for after in (str(2**63), "x", "1.5"):
        answer = await http.get("/v1/audit", params={"after": after})
        assert answer.status_code == 422 and "after" in answer.json()["detail"]


async def test_a_remote_memory_verifies_the_servers_log(audited: Memory) -> None:
    async with running(create_app(audited, open=True)) as url, Memory.connect(url) as remote:
        await remote.remember(["a", "b"])
        assert await remote.admin.audit() == await audited.admin.audit()
        checkpoint = await remote.admin.checkpoint()
        check(checkpoint, CHECKPOINT, public_key(key_file()))
        assert await remote.admin.verify_audit(checkpoint) == []
        with pytest.raises(ScopeError):
            await remote.scoped(user="alice").admin.checkpoint()
