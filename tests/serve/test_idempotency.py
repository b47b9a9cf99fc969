"""A request that comes again under its Idempotency-Key is answered as the first time, and not done again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from clocks import MovedClock
from memorist.memory import Memory
from memorist.records.record import Kind
from memorist.records.scope import SERVER_TENANT
from opening import bytes_beside

pytestmark = pytest.mark.anyio

LONG_AGO = 180
"""Seconds after which a call without an outcome is no longer worked on."""
KEY = {"Idempotency-Key": "k-1"}
OTHER = {"Idempotency-Key": "k-2"}
ALICE = {"user": "alice"}
BODY = {"records": [{"content": "One", "metadata": {"n": 1}}, {"content": "Two"}]}


async def test_records_are_stored_once(http: Any, alice: Memory) -> None:
    first = await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)
    again = await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)
    assert (again.status_code, again.json()) == (201, first.json())
    assert await alice.count() == 2
    await http.post("/v1/records", json=BODY, headers=OTHER, params=ALICE)
    assert await alice.count() == 4


async def test_the_answer_is_the_first_ones_even_after_later_changes(http: Any, alice: Memory) -> None:
    first = (await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)).json()
    await alice.revise(first["records"][0]["id"], content="Changed since")
    assert (await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)).json() == first


async def test_ten_at_once_store_one(http: Any, alice: Memory) -> None:
    sent = [http.post("/v1/records", json=BODY, headers=KEY, params=ALICE) for _ in range(10)]
    answers = await asyncio.gather(*sent)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1 and await alice.count() == 2


async def test_a_key_is_for_one_request(http: Any, alice: Memory) -> None:
    await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)
    for body in ({"records": [{"content": "Other"}]}, {"records": [*BODY["records"], {"content": "Three"}]}):
        answer = await http.post("/v1/records", json=body, headers=KEY, params=ALICE)
        assert answer.status_code == 422 and "Idempotency-Key" in answer.json()["detail"]
    assert await alice.count() == 2


async def test_two_users_may_have_the_same_key(http: Any, alice: Memory, bob: Memory) -> None:
    for user in ("alice", "bob"):
        await http.post("/v1/records", json=BODY, headers=KEY, params={"user": user})
    assert (await alice.count(), await bob.count()) == (2, 2)


async def test_an_id_of_the_callers_own_that_is_taken_stays_a_conflict(http: Any, alice: Memory) -> None:
    await alice.remember("Old", id="mine")
    body = {"records": [{"content": "New", "id": "mine"}]}
    assert (await http.post("/v1/records", json=body, headers=KEY, params=ALICE)).status_code == 409
    other = {"records": [{"content": "New", "id": "other"}]}
    for _ in range(2):
        assert (await http.post("/v1/records", json=other, headers=KEY, params=ALICE)).status_code == 201


@pytest.mark.parametrize("more", [[], [{"content": "Without an id"}]])
async def test_an_id_is_taken_by_the_same_record_of_another_key(http: Any, alice: Memory, more: list[Any]) -> None:
    body = {"records": [{"content": "New", "id": "mine"}, *more]}
    answers = [await http.post("/v1/records", json=body, headers=key, params=ALICE) for key in (KEY, KEY, OTHER)]
    assert [answer.status_code for answer in answers] == [201, 201, 409]
    assert answers[0].json() == answers[1].json() and await alice.count() == len(body["records"])


async def test_ids_are_forgotten_under_a_key_too(http: Any, alice: Memory) -> None:
    await alice.remember("Same", id="mine")
    body = {"records": [{"content": "Same", "id": "mine"}], "forgetting": ["mine"]}
    answers = [await http.post("/v1/records", json=body, headers=KEY, params=ALICE) for _ in range(2)]
    assert answers[0].json() == answers[1].json() and len(await alice.history("mine")) == 3
    body = {"records": [], "forgetting": ["mine"]}
    assert (await http.post("/v1/records", json=body, headers=OTHER, params=ALICE)).json() == {"records": []}
    assert await alice.count() == 0


async def test_an_id_that_a_forgotten_record_had_is_given_once(http: Any, alice: Memory) -> None:
    await alice.remember("Old", id="mine")
    await alice.forget("mine")
    body = {"records": [{"content": "New", "id": "mine"}]}
    answers = [await http.post("/v1/records", json=body, headers=KEY, params=ALICE) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201] and answers[0].json() == answers[1].json()


async def test_what_was_forgotten_since_does_not_come_back(http: Any, alice: Memory) -> None:
    stored = (await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)).json()["records"]
    await alice.forget(*(each["id"] for each in stored))
    again = await http.post("/v1/records", json=BODY, headers=KEY, params=ALICE)
    assert again.status_code == 409 and "forgotten afterwards" in again.json()["detail"]
    assert await alice.count() == 0


async def test_a_change_is_made_once(http: Any, alice: Memory) -> None:
    await alice.remember("First", id="r")
    first = await http.patch("/v1/records/r", json={"content": "Second"}, headers=KEY, params=ALICE)
    await alice.revise("r", content="Third")
    again = await http.patch("/v1/records/r", json={"content": "Second"}, headers=KEY, params=ALICE)
    assert again.json() == first.json()
    assert (await alice.get("r")).content == "Third"  # type: ignore[union-attr]
    rating = await http.put("/v1/records/r/rating", json={"rating": 1}, headers=KEY, params=ALICE)
    assert rating.status_code == 422


async def test_forgetting_and_purging_again_tell_the_same_number(http: Any, alice: Memory) -> None:
    await alice.remember(["One", "Two"])
    for _ in range(2):
        answer = await http.post("/v1/forget", json={"kind": "note"}, headers=KEY, params=ALICE)
        assert answer.json() == {"forgotten": 2}
    await alice.remember("Three")
    for _ in range(2):
        assert (await http.post("/v1/purge", headers=OTHER, params=ALICE)).json()["purged"] == 1


async def test_replacing_by_key_is_done_once(http: Any, alice: Memory) -> None:
    await alice.topics.set("language", "Ruby")
    record = {"content": "Elixir", "kind": "topic", "key": "language"}
    body = {"records": [record], "if_exists": "replace"}
    first = await http.post("/v1/records", json=body, headers=KEY, params=ALICE)
    await alice.topics.set("language", "Gleam")
    again = await http.post("/v1/records", json=body, headers=KEY, params=ALICE)
    assert again.json() == first.json() and await alice.topics.get("language") == "Gleam"


async def test_a_call_that_failed_may_be_made_again_under_its_key(http: Any, alice: Memory) -> None:
    send = {"json": {"content": "New"}, "headers": KEY, "params": ALICE}
    assert (await http.patch("/v1/records/r", **send)).status_code == 404
    await alice.remember("Old", id="r")
    assert (await http.patch("/v1/records/r", **send)).status_code == 200


async def test_keys_leave_nothing_of_a_user_after_a_purge(http: Any, alice: Memory, tmp_path: Path) -> None:
    send = {"headers": KEY, "params": {"user": "carolina"}}
    record = {"content": "Zanzibar", "id": "very-own-id"}
    await http.post("/v1/records", json={"records": [record]}, **send)
    await http.patch("/v1/records/very-own-id", json={"content": "Madagascar"}, **send)
    await http.post("/v1/purge", **{**send, "headers": OTHER})
    kept = b"".join(bytes_beside(tmp_path / "memory.db").values())
    assert [word for word in (b"Zanzibar", b"Madagascar", b"carolina", b"very-own-id", b"k-1") if word in kept] == []


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_has_a_length(http: Any, key: str) -> None:
    answer = await http.post("/v1/records", json=BODY, headers={"Idempotency-Key": key})
    assert answer.status_code == 422


async def test_what_is_stored_otherwise_than_it_was_sent_is_stored_once(http: Any, alice: Memory) -> None:
    record = {"content": "Lives in Porto <private>by the river</private>", "happened_at": "2024-05-01 09:00"}
    sent = {"json": {"records": [record]}, "headers": KEY, "params": {**ALICE, "zone": "Asia/Tokyo"}}
    first, again = [await http.post("/v1/records", **sent) for _ in range(2)]
    assert (first.is_success, again.json()) == (True, first.json())
    assert await alice.count() == 1


async def cut_off(everyone: Memory) -> None:
    """Make the last call look as if the server had been killed before it noted what came of it."""
    server = everyone.scoped(tenant=SERVER_TENANT)
    [entry] = (await server.browse(kind=Kind.TOPIC, key_prefix="call/")).records
    request = json.loads(entry.content)["request"]
    await server.revise(entry.id, content=json.dumps({"request": request}))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/v1/records/home", {"content": "Lives in Porto", "happened_at": "2024-05-01"}),
        ("PATCH", "/v1/records/home", {"content": "Lives in Porto <private>by the river</private>"}),
        ("PUT", "/v1/records/home/rating", {"rating": 1}),
    ],
)
async def test_a_change_that_was_done_before_a_crash_is_not_done_again(
    http: Any, everyone: Memory, alice: Memory, clock: MovedClock, method: str, path: str, body: Any
) -> None:
    await alice.remember("Lives in Lisbon", id="home")
    first = await http.request(method, path, json=body, headers=KEY, params=ALICE)
    await cut_off(everyone)
    clock.advance(LONG_AGO)
    await alice.revise("home", content="Lives in Faro")
    later = await alice.rate("home", 0.5)
    again = await http.request(method, path, json=body, headers=KEY, params=ALICE)
    assert (again.status_code, again.json()) == (200, first.json())
    assert await alice.get("home") == later, "what others did since stands"
    assert (await http.request(method, path, json=body, headers=KEY, params=ALICE)).json() == first.json()


async def test_a_change_that_a_crash_kept_from_being_done_is_done(
    http: Any, everyone: Memory, alice: Memory, clock: MovedClock
) -> None:
    await alice.remember("Lives in Lisbon", id="home")
    body = {"content": "Lives in Porto"}
    await http.patch("/v1/records/home", json=body, headers=KEY, params=ALICE)
    await cut_off(everyone)
    clock.advance(LONG_AGO)
    await alice.forget("home")
    await alice.remember("Lives in Lisbon", id="home")  # as if it had never been changed
    answer = await http.patch("/v1/records/home", json=body, headers=KEY, params=ALICE)
    assert answer.json()["content"] == "Lives in Porto" and answer.json()["version"] == 2


async def test_a_call_that_may_still_be_worked_on_is_not_begun_again(
    http: Any, everyone: Memory, alice: Memory
) -> None:
    await alice.remember("Lives in Lisbon", id="home")
    await http.patch("/v1/records/home", json={"content": "Lives in Porto"}, headers=KEY, params=ALICE)
    await cut_off(everyone)
    answer = await http.patch("/v1/records/home", json={"content": "Lives in Porto"}, headers=KEY, params=ALICE)
    assert answer.status_code == 409 and "still in progress" in answer.json()["detail"]
