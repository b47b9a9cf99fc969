"""Who gets in, and to whose records: the token decides, never the request."""

import json
from pathlib import Path
from typing import Any

import pytest

from memorist.errors import ConflictError, InvalidInputError, NotFoundError, ScopeError
from memorist.memory import Memory
from memorist.records.scope import SERVER_TENANT
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from opening import bytes_beside

pytestmark = pytest.mark.anyio

NOTE = {"records": [{"content": "A note"}]}


async def test_a_token_is_shown_once_and_only_its_hash_is_kept(tokens: Tokens, tmp_path: Path) -> None:
    secret, token = await tokens.create("laptop", user="alice", right="read")
    assert (await tokens.find(secret)) == token
    kept = b"".join(bytes_beside(tmp_path / "memory.db").values())
    assert secret.encode() not in kept and secret[4:].encode() not in kept
    assert secret not in json.dumps([each.to_dict() for each in await tokens.list()])


async def test_a_revoked_token_is_worthless_at_once(tokens: Tokens, client: Any) -> None:
    secret, _ = await tokens.create("laptop")
    http = await client(secret)
    assert (await http.post("/v1/count", json={})).status_code == 200
    await tokens.revoke("laptop")
    answer = await http.post("/v1/count", json={})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["detail"] == "the token is not known here, or was revoked"
    with pytest.raises(NotFoundError, match="no token named"):
        await tokens.revoke("laptop")


async def test_a_token_may_expire(tokens: Tokens, client: Any) -> None:
    secret, _ = await tokens.create("brief", expires_at="2020-01-01")
    answer = await (await client(secret)).post("/v1/count", json={})
    assert (answer.status_code, answer.json()["detail"]) == (401, "the token has expired")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": ""}, InvalidInputError),
        ({"name": "x", "right": "all"}, InvalidInputError),
        ({"name": "x", "tenant": SERVER_TENANT}, ScopeError),
        ({"name": "x", "tenant": None, "user": "alice"}, InvalidInputError),
        ({"name": "x", "user": " "}, InvalidInputError),
        ({"name": "taken"}, ConflictError),
    ],
)
async def test_a_token_that_makes_no_sense_is_refused(tokens: Tokens, arguments: Any, error: Any) -> None:
    await tokens.create("taken")
    with pytest.raises(error):
        await tokens.create(**arguments)
    assert [token.grant.name for token in await tokens.list()] == ["taken"]


async def test_a_users_token_reaches_that_user_alone(tokens: Tokens, client: Any, bob: Memory) -> None:
    secret = await bob.remember("Bob's secret", id="b1")
    http = await client((await tokens.create("hers", user="alice", right="admin"))[0])
    assert (await http.get(f"/v1/records/{secret.id}")).status_code == 404
    for named in ({"params": {"user": "bob"}}, {"headers": {"Memorist-User": "bob"}}, {"params": {"tenant": "x"}}):
        for answer in (
            await http.post("/v1/recall", json={"query": "secret"}, **named),
            await http.get("/v1/records/b1", **named),
            await http.patch("/v1/records/b1", json={"content": "mine"}, **named),
            await http.delete("/v1/records/b1", **named),
            await http.post("/v1/purge", **named),
            await http.get("/v1/export", **named),
        ):
            assert answer.status_code == 403
            assert "Bob's secret" not in answer.text
    for path, body in (("/v1/browse", {"everyone": True}), ("/v1/count", {"everyone": True})):
        assert (await http.post(path, json=body)).status_code == 403
    for path in ("/v1/users", "/v1/export?everyone=true", "/v1/backup", "/v1/records?everyone=true"):
        assert (await http.get(path)).status_code == 403
    assert await bob.get("b1") == secret


async def test_a_load_cannot_write_to_another_user_or_tenant(tokens: Tokens, client: Any, bob: Memory) -> None:
    await bob.remember("Bob's")
    lines = "\n".join([line async for line in bob.export()])
    await bob.forget(kind="note")
    http = await client((await tokens.create("hers", user="alice"))[0])
    answer = await http.post("/v1/load", content=lines)
    assert (answer.status_code, answer.json()["error"]) == (403, "ScopeError")
    assert await bob.count() == 0


async def test_a_tenants_token_names_the_user_with_each_request(tokens: Tokens, client: Any) -> None:
    http = await client((await tokens.create("agent", tenant="acme"))[0])
    assert (await http.post("/v1/records", json=NOTE, params={"user": "alice"})).status_code == 201
    assert (await http.post("/v1/count", json={}, params={"user": "alice"})).json() == {"count": 1}
    assert (await http.post("/v1/count", json={}, params={"user": "bob"})).json() == {"count": 0}
    assert (await http.post("/v1/count", json={})).json() == {"count": 0}
    assert (await http.post("/v1/count", json={}, params={"tenant": "other"})).status_code == 403
    assert (await http.get("/v1/backup")).status_code == 403


async def test_rights_grow_from_read_to_write_to_admin(tokens: Tokens, client: Any) -> None:
    allowed: dict[str, list[int]] = {}
    for right in ("read", "write", "admin"):
        http = await client((await tokens.create(right, right=right))[0])
        allowed[right] = [
            (await http.post("/v1/count", json={})).status_code,
            (await http.post("/v1/records", json=NOTE)).status_code,
            (await http.get("/v1/users")).status_code,
        ]
    assert allowed == {"read": [200, 403, 403], "write": [200, 201, 403], "admin": [200, 201, 200]}


async def test_an_operators_token_names_the_tenant(tokens: Tokens, client: Any) -> None:
    http = await client((await tokens.create("ops", tenant=None, right="admin"))[0])
    assert (await http.post("/v1/records", json=NOTE, params={"tenant": "acme"})).status_code == 201
    assert (await http.post("/v1/count", json={}, params={"tenant": "acme"})).json() == {"count": 1}
    assert (await http.get("/v1/backup")).status_code == 200
    for path in ("/v1/users", "/v1/export", "/v1/records"):
        assert (await http.get(path, params={"tenant": SERVER_TENANT})).status_code == 403


@pytest.mark.parametrize("header", ["mem_x", "Basic YTpi", "Bearer", "Bearer ", "Bearer mem_unknown", "bearer é"])
async def test_a_header_that_is_no_token_is_refused(client: Any, header: str) -> None:
    http = await client()
    answer = await http.post("/v1/count", json={}, headers={"Authorization": header.encode()})
    assert answer.status_code == 401


async def test_without_a_token_only_people_on_this_machine_get_in(client: Any) -> None:
    assert (await (await client(open=False)).post("/v1/count", json={})).status_code == 401
    http = await client()
    assert (await http.post("/v1/count", json={})).status_code == 200
    for headers in (
        {"Origin": "https://evil.example"},  # another site's page, in a browser here
        {"Host": "evil.example"},  # a name that was made to lead here
        {"X-Forwarded-For": "203.0.113.9"},  # a proxy here, for someone elsewhere
    ):
        assert (await http.post("/v1/count", json={}, headers=headers)).status_code == 401
    assert (await http.post("/v1/count", json={}, headers={"Origin": "http://localhost"})).status_code == 200


async def test_a_server_is_not_made_of_a_bound_memory(alice: Memory) -> None:
    with pytest.raises(InvalidInputError, match="not bound to a tenant"):
        create_app(alice)
