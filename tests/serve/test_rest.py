"""Every verb over HTTP: the same words, the same answers."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from memorist.memory import Memory

pytestmark = pytest.mark.anyio

ALICE = {"user": "alice"}


async def remember(http: Any, *texts: str, **fields: Any) -> Any:
    records = [{"content": text, **fields} for text in texts]
    answer = await http.post("/v1/records", json={"records": records}, params=ALICE)
    assert answer.status_code == 201, answer.text
    return answer.json()["records"]


async def test_what_is_remembered_is_recalled(http: Any, alice: Memory) -> None:
    [stored, _] = await remember(http, "Prefers homestays", "Is allergic to peanuts", metadata={"trip": "Lisbon"})
    assert (await alice.get(stored["id"])).to_dict() == stored  # type: ignore[union-attr]
    answer = await http.post("/v1/recall", json={"query": "allergic to what?", "limit": 1}, params=ALICE)
    [hit] = answer.json()["hits"]
    assert hit["record"]["content"] == "Is allergic to peanuts"
    assert 0 < hit["score"] <= 1 and hit["matched"] == ["allergic"]
    explained = await http.post("/v1/recall", json={"query": "peanuts", "explain": True}, params=ALICE)
    assert explained.json()["hits"][0]["signals"]


async def test_all_records_of_a_request_are_stored_or_none(http: Any, alice: Memory) -> None:
    records = [{"content": "One"}, {"content": " "}]
    answer = await http.post("/v1/records", json={"records": records}, params=ALICE)
    assert (answer.status_code, answer.json()["detail"]) == (422, "content must not be blank")
    assert await alice.count() == 0


async def test_a_record_is_read_revised_rated_and_forgotten_by_its_id(http: Any) -> None:
    [record] = await remember(http, "Lives in Oslo")
    path = f"/v1/records/{record['id']}"
    assert (await http.get(path, params=ALICE)).json() == record
    revised = (await http.patch(path, json={"content": "Lives in Bergen", "source": "her"}, params=ALICE)).json()
    assert (revised["content"], revised["version"]) == ("Lives in Bergen", 2)
    rated = (await http.put(f"{path}/rating", json={"rating": 0.5}, params=ALICE)).json()
    assert rated["rating"] == 0.5
    assert (await http.put(f"{path}/rating", json={"rating": None}, params=ALICE)).json()["rating"] is None
    history = (await http.get(f"{path}/history", params=ALICE)).json()["changes"]
    assert [each["action"] for each in history] == ["remembered", "revised", "rated", "rated"]
    assert history[1]["source"] == "her"
    assert (await http.delete(path, params=ALICE)).json() == {"forgotten": 1}
    assert (await http.get(path, params=ALICE)).status_code == 404
    assert (await http.delete(path, params=ALICE)).json() == {"forgotten": 0}


@pytest.mark.parametrize("id", ["a/b", "..", "a b?c#d%2F", "größe/🦉", "history", "a/history"])
async def test_an_id_may_hold_any_character(http: Any, id: str) -> None:
    [record] = await remember(http, "Something", id=id)
    encoded = quote(id, safe="").replace(".", "%2E")
    assert (await http.get(f"/v1/records/{encoded}", params=ALICE)).json() == record
    assert (await http.get(f"/v1/records/{encoded}/history", params=ALICE)).json()["changes"][0]["id"] == id


async def test_pages_follow_each_other_by_their_cursors(http: Any) -> None:
    await remember(http, *(f"Note {number}" for number in range(7)))
    found, cursor = [], None
    while True:
        body = {"limit": 3, "order": "oldest", "cursor": cursor}
        page = (await http.post("/v1/browse", json=body, params=ALICE)).json()
        found += [record["content"] for record in page["records"]]
        if (cursor := page["next"]) is None:
            break
    assert found == [f"Note {number}" for number in range(7)]
    first = (await http.get("/v1/records", params={**ALICE, "limit": 3})).json()
    more = {**ALICE, "limit": 3, "cursor": first["next"]}
    second = (await http.get("/v1/records", params=more)).json()
    assert [record["content"] for record in second["records"]] == ["Note 3", "Note 2", "Note 1"]


async def test_filters_narrow_as_they_do_in_the_verbs(http: Any) -> None:
    await remember(http, "Three nights in Lisbon", metadata={"nights": 3}, happened_at="2024-05-01")
    await remember(http, "One night in Rome", metadata={"nights": 1}, kind="fact", happened_at=1704067200)
    for body, expected in [
        ({"where": {"nights": {"$gte": 2}}}, 1),
        ({"kind": "fact"}, 1),
        ({"kind": ["fact", "note"]}, 2),
        ({"since": "2024-03-01"}, 1),
        ({"until": "2024-03-01"}, 1),
    ]:
        assert (await http.post("/v1/count", json=body, params=ALICE)).json() == {"count": expected}
    recent = (await http.post("/v1/recent", json={"limit": 1}, params=ALICE)).json()["records"]
    assert [each["content"] for each in recent] == ["Three nights in Lisbon"]
    assert (await http.post("/v1/forget", json={"kind": "fact"}, params=ALICE)).json() == {"forgotten": 1}


async def test_labels_narrow_what_is_read_and_mark_what_is_written(http: Any) -> None:
    await remember(http, "Elsewhere")
    monday = {**ALICE, "session": "monday", "agent": "guide"}
    body = {"records": [{"content": "Hello"}]}
    [record] = (await http.post("/v1/records", json=body, params=monday)).json()["records"]
    assert (record["session"], record["agent"]) == ("monday", "guide")
    assert (await http.post("/v1/count", json={}, params=monday)).json() == {"count": 1}


async def test_a_key_finds_exactly_its_record(http: Any, alice: Memory) -> None:
    await alice.topics.set("language", "Elixir")
    answer = await http.get("/v1/lookup", params={**ALICE, "key": "language"})
    assert answer.json()["content"] == "Elixir"
    assert (await http.get("/v1/lookup", params={**ALICE, "key": "Language"})).status_code == 404


async def test_the_user_may_be_named_in_a_header(http: Any, alice: Memory) -> None:
    await alice.remember("Hers")
    assert (await http.post("/v1/count", json={}, headers={"Memorist-User": "alice"})).json() == {"count": 1}
    both = await http.post("/v1/count", json={}, headers={"Memorist-User": "alice"}, params={"user": "bob"})
    assert both.status_code == 422


async def test_an_export_streams_lines_that_load_takes(http: Any, alice: Memory, bob: Memory) -> None:
    await alice.remember([f"Note {number}" for number in range(250)])
    await bob.remember("His")
    answer = await http.get("/v1/export", params={"everyone": True})
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = answer.text.splitlines()
    assert len(lines) == 252 and json.loads(lines[0])["format"] == "memorist"
    other = {"tenant": "other"}
    loaded = await http.post("/v1/load", content=answer.content, params=other)
    assert loaded.json() == {"added": 251, "existing": 0, "bad": []}
    again = await http.post("/v1/load", content=answer.content + b"{}\n", params=other)
    assert again.json()["existing"] == 251 and again.json()["bad"][0]["number"] == 253
    assert (await http.post("/v1/count", json={}, params={**other, **ALICE})).json() == {"count": 250}
    wrong = await http.post("/v1/load", content=b"hello\n", params=other)
    assert (wrong.status_code, wrong.json()["error"]) == (422, "FormatError")


async def test_an_export_for_another_system_says_what_has_no_place(http: Any, alice: Memory, bob: Memory) -> None:
    await alice.remember("Likes tea", rating=1, id="r1")
    await alice.remember("A checkpoint", kind="state")
    await bob.remember("His")
    answer = await http.get("/v1/export", params={"to": "mem0", **ALICE})
    assert (answer.headers["memorist-left-out"], answer.headers["content-type"]) == ("1 rating", "application/json")
    assert answer.headers["content-disposition"] == 'attachment; filename="mem0.json"'
    assert [each["id"] for each in answer.json()["results"]] == ["r1"]
    assert "A checkpoint" in (await http.get("/v1/export", params={"to": "markdown", "kind": "state", **ALICE})).text
    for wrong, told in (
        ({"to": "zep"}, "available: memorist, mem0"),
        ({"to": "letta", "everyone": True}, "hold one user's records only"),
    ):
        refused = await http.get("/v1/export", params=wrong)
        assert refused.status_code == 422 and told in refused.json()["detail"]


async def test_everyones_records_are_counted_and_purged_one_user_at_a_time(http: Any, alice: Memory) -> None:
    await remember(http, "One", "Two")
    assert (await http.get("/v1/users")).json() == {"users": [{"user": "alice", "count": 2}]}
    assert (await http.post("/v1/count", json={"everyone": True})).json() == {"count": 2}
    assert (await http.post("/v1/purge", params=ALICE)).json()["purged"] == 2
    assert await alice.count() == 0


async def test_a_backup_is_a_memory_of_its_own(http: Any, alice: Memory, tmp_path: Any) -> None:
    await alice.remember("Kept")
    copy = tmp_path / "copy.db"
    copy.write_bytes((await http.get("/v1/backup")).content)
    async with Memory.open(copy, user="alice", embedder="hash") as restored:
        assert [each.content for each in await restored.recent()] == ["Kept"]


async def test_a_backup_without_a_temporary_folder_says_so(http: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    answer = await http.get("/v1/backup")
    assert (answer.status_code, answer.json()["error"]) == (503, "StoreUnavailableError")
    assert "TMPDIR" in answer.json()["detail"]


async def test_reindexing_tells_how_far_it_is(http: Any, alice: Memory) -> None:
    await alice.remember(["One", "Two"])
    steps = [json.loads(line) for line in (await http.post("/v1/reindex")).text.splitlines()]
    assert steps[-1].keys() == {"embedded"}


async def test_health_and_readiness_need_no_token(client: Any) -> None:
    http = await client(open=False)
    for path in ("/health", "/ready"):
        assert (await http.get(path)).json()["status"] == "ok"
        assert (await http.head(path)).status_code == 200, "as some load balancers ask"


async def test_a_store_that_is_closed_is_not_ready(http: Any, everyone: Memory) -> None:
    await everyone.close()
    assert (await http.get("/health")).status_code == 200
    answer = await http.get("/ready")
    assert (answer.status_code, answer.json()["error"]) == (503, "ClosedError")
    assert answer.headers["retry-after"] == "1"


async def test_null_clears_a_field_and_one_left_out_stays(http: Any) -> None:
    body = {"records": [{"content": "Tea", "id": "t", "cue": "drink?", "expires_at": "2099-01-01"}]}
    assert (await http.post("/v1/records", json=body, params=ALICE)).status_code == 201
    revised = (await http.patch("/v1/records/t", json={"expires_at": None}, params=ALICE)).json()
    assert (revised["expires_at"], revised["cue"]) == (None, "drink?")
    refused = await http.patch("/v1/records/t", json={"content": None}, params=ALICE)
    assert refused.status_code == 422 and "content must be a string" in refused.json()["detail"]
    key = {"Idempotency-Key": "once"}
    for _ in range(2):
        again = await http.patch("/v1/records/t", json={"cue": None}, params=ALICE, headers=key)
        assert (again.json()["cue"], again.json()["version"]) == (None, 3)
