import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from clocks import MovedClock
from inside import core_of
from memorist import sync
from memorist.errors import (
    ClosedError,
    ConflictError,
    EmbedderError,
    EmbedderMismatchError,
    InvalidInputError,
    NotFoundError,
    ScopeError,
    StoreBusyError,
    UnknownArgumentError,
)
from memorist.memory import Memory
from memorist.operations.requests import Values
from memorist.records.record import Action, Draft, Kind, Record
from memorist.testing import HashEmbedder
from opening import connect_to, store_at

pytestmark = pytest.mark.anyio

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)
Open = Callable[..., Memory]


async def found(memory: Memory, query: str, **asked: Any) -> list[str]:
    return [hit.record.content for hit in await memory.recall(query, **asked)]


async def test_a_few_fields_are_those_of_the_records(alice: Memory) -> None:
    await alice.conversation("s").append([{"role": "user", "content": f"{n} \ud83d\0é"} for n in range(5)])
    await alice.remember("A note", key="n", metadata={"a": [1, None]})
    asked: dict[str, Any] = {"order": "newest", "session": "s", "payload": {"role": "user"}}
    page = await alice.browse(**asked, limit=9)
    fields = ("content", "payload", "session", "id", "at")
    assert await alice.ask(Values(fields=fields, **asked)) == [each.values(fields) for each in page.records]
    every = await alice.ask(Values(fields=("id",), **asked, limit=2**70))
    assert len(every) == 5
    assert [content for _, content in await alice.ask(Values(fields=("content",), **asked, limit=2))] == [
        each.content for each in page.records[:2]
    ]
    assert await alice.ask(Values(fields=("metadata",), order="key")) == [(Kind.NOTE, {"a": [1, None]})]
    assert await alice.ask(Values(fields=("id",), limit=0)) == []
    with pytest.raises(InvalidInputError, match="unknown fields 'vector'"):
        Values(fields=("vector",))


# --- remember ------------------------------------------------------------------------------------------


async def test_a_record_is_there_as_soon_as_remember_returns(alice: Memory) -> None:
    record = await alice.remember("Prefers homestays", metadata={"trip": 1})

    assert await alice.get(record.id) == record
    assert await found(alice, "homestays") == ["Prefers homestays"]
    assert (await alice.recent())[0] == record
    assert await alice.count() == 1


async def test_a_mapping_says_a_draft(alice: Memory) -> None:
    record = await alice.remember({"content": "Likes tea", "kind": "fact", "metadata": {"a": 1}})
    assert (record.content, record.kind, record.metadata) == ("Likes tea", Kind.FACT, {"a": 1})
    [first, second] = await alice.remember([{"content": "a"}, "b"])
    assert (first.content, second.content) == ("a", "b")
    with pytest.raises(InvalidInputError, match="a record needs content"):
        await alice.remember({"kind": "fact"})
    with pytest.raises(InvalidInputError, match="did you mean 'content'"):
        await alice.remember({"text": "Likes tea"})


async def test_many_at_once_come_back_in_their_order(alice: Memory) -> None:
    records = await alice.remember(f"note {n}" for n in range(50))

    assert [record.content for record in records] == [f"note {n}" for n in range(50)]
    assert [record.content for record in reversed(await alice.recent(50))] == [f"note {n}" for n in range(50)]
    assert await alice.remember([]) == []


@pytest.mark.parametrize("wrong", [None, 5, {}, b"bytes", [None], [["nested"]], ["", "x"], "", " \n"])
async def test_what_is_no_content_is_refused(alice: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        await alice.remember(wrong)
    assert await alice.count() == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"mood": "x"}, {"kind": "dream"}, {"id": ""}, {"rating": 2}, {"metadata": {"a": {1}}}, {"happened_at": "soon"},
        {"vector": [0.0] * 64}, {"vector": [float("nan")] * 64}, {"vector": [1.0] * 63}, {"vector": "text"},
        {"vector": [[1.0] * 64] * 2}, {"vector": [float("inf")] + [0.0] * 63}, {"vector": []}, {"vector": object()},
        {"if_exists": "maybe"}, {"agent": ""}, {"content": "x"}, {"expires_at": "never"},
    ],
)  # fmt: skip
async def test_a_wrong_field_stores_nothing(alice: Memory, fields: dict[str, Any]) -> None:
    with pytest.raises((InvalidInputError, TypeError)):
        await alice.remember("Tea", **fields)
    with pytest.raises((InvalidInputError, TypeError)):
        await alice.remember(["Milk", "Tea"], **fields)
    assert await alice.count(superseded=True) == 0


async def test_a_given_vector_takes_the_place_of_the_embedding(alice: Memory) -> None:
    far = [0.0] * 63 + [5e-30]
    await alice.remember("Tea", vector=far)
    await alice.remember("Milk")

    [best, *_] = await alice.recall("anything", vector=far, mode="dense")

    assert best.record.content == "Tea"
    assert best.similarity == pytest.approx(1)


class Broken(HashEmbedder):
    async def embed(self, *_: Any, **__: Any) -> Any:
        raise EmbedderError("out of order")


async def test_what_cannot_be_embedded_is_not_stored(tmp_path: Path) -> None:
    async with Memory.open(tmp_path / "memory.db", embedder=Broken()) as memory:
        with pytest.raises(EmbedderError):
            await memory.remember("Tea")
        assert await memory.count() == 0
        await memory.topics.set("drink", "Tea")  # needs no vector
        assert await memory.count() == 1


IfExists = Literal["error", "replace", "ignore"]
POLICIES: list[IfExists] = ["error", "replace", "ignore"]


@pytest.mark.parametrize("handle", [{"id": "one"}, {"key": "k"}])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
async def test_an_id_or_key_that_is_taken(alice: Memory, handle: dict[str, str], batch: bool, policy: IfExists) -> None:
    if batch:
        drafts = [Draft(content="first", **handle), Draft(content="second", **handle)]  # type: ignore[arg-type]
        if policy == "error":
            with pytest.raises(ConflictError):
                await alice.remember(drafts)
            assert await alice.count() == 0
            return
        first, second = await alice.remember(drafts, if_exists=policy)
    else:
        first = await alice.remember("first", **handle)  # type: ignore[call-overload]
        if policy == "error":
            with pytest.raises(ConflictError):
                await alice.remember("second", **handle)  # type: ignore[call-overload]
            assert await alice.get(first.id) == first
            return
        second = await alice.remember("second", if_exists=policy, **handle)  # type: ignore[call-overload]

    assert second.id == first.id
    assert await alice.count() == 1
    if policy == "ignore":
        assert second == first == await alice.get(first.id)
    else:
        assert (second.content, second.version) == ("second", 2)
        assert await alice.get(first.id) == second
        assert [change.action for change in await alice.history(first.id)] == [Action.REMEMBERED, Action.REVISED]
        assert await found(alice, "second first") == ["second"]


async def test_an_id_of_one_record_and_the_key_of_another_cannot_both_be_replaced(alice: Memory) -> None:
    await alice.remember([Draft(content="a", id="a"), Draft(content="b", id="b", key="k")])

    with pytest.raises(ConflictError, match="key"):
        await alice.remember("c", id="a", key="k", if_exists="replace")
    assert sorted(record.content for record in await alice.recent()) == ["a", "b"]


async def test_a_replaced_record_may_change_its_kind(alice: Memory) -> None:
    await alice.remember("Tea", id="one")
    assert await found(alice, "tea") == ["Tea"]
    await alice.remember("Tea", id="one", kind="topic", key="drink", if_exists="replace")

    assert await found(alice, "tea") == []
    assert await alice.topics.get("drink") == "Tea"
    await alice.remember("Tea", id="one", if_exists="replace")
    assert await found(alice, "tea") == ["Tea"]


async def test_the_order_of_storing_shows_in_the_times(alice: Memory) -> None:
    records = await asyncio.gather(*(alice.remember(f"note {n}") for n in range(200)))

    assert len({record.created_at for record in records}) == 200
    assert await alice.count() == 200


# --- supersede, as_of ----------------------------------------------------------------------------------


async def test_a_superseded_record_is_found_only_as_of_its_time(alice: Memory) -> None:
    old = await alice.remember("Lives in Oslo", kind="fact", key="home", happened_at=NOON)
    new = await alice.remember(
        "Lives in Bergen", kind="fact", key="home", supersedes=old.id, happened_at=NOON + timedelta(days=9)
    )

    assert await found(alice, "where does she live") == ["Lives in Bergen"]
    assert await found(alice, "where does she live", as_of=NOON + timedelta(days=1)) == ["Lives in Oslo"]
    assert await found(alice, "where does she live", as_of=NOON - timedelta(days=1)) == []
    assert await alice.lookup("home", kind="fact") == new
    assert await alice.count() == 1
    assert await alice.count(superseded=True) == 2
    ended = await alice.get(old.id)
    assert ended is not None
    assert (ended.superseded_by, ended.superseded_at) == (new.id, new.at)
    assert [change.action for change in await alice.history(old.id)] == [Action.REMEMBERED, Action.SUPERSEDED]


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_successor_takes_the_key_over(alice: Memory, policy: IfExists) -> None:
    old = await alice.remember("Oslo", kind="topic", key="home")
    new = await alice.remember("Bergen", kind="topic", key="home", supersedes=old.id, if_exists=policy)

    assert new.id != old.id
    assert await alice.lookup("home") == new


async def test_a_batch_may_supersede_and_use_the_key_again(alice: Memory) -> None:
    old = await alice.remember("a", key="k", id="a")
    await alice.remember([Draft(content="b", supersedes="a"), Draft(content="c", key="k", id="c")], if_exists="replace")

    assert {record.content for record in await alice.recent()} == {"b", "c"}
    assert (await alice.lookup("k", kind=old.kind)) == await alice.get("c")


async def test_what_cannot_be_superseded(alice: Memory, bob: Memory) -> None:
    await bob.remember("of bob", id="bobs")
    old = await alice.remember("old", id="old")
    await alice.remember("new", supersedes="old")

    for id in ("none", "bobs"):
        with pytest.raises(NotFoundError):
            await alice.remember("x", supersedes=id)
    with pytest.raises(InvalidInputError, match="already"):
        await alice.remember("x", supersedes="old")
    with pytest.raises(InvalidInputError, match="itself"):
        await alice.remember("x", id=old.id, supersedes=old.id, if_exists="replace")
    assert await alice.count(superseded=True) == 2


async def test_of_two_successors_one_wins(alice: Memory) -> None:
    old = await alice.remember("old")
    outcomes = await asyncio.gather(
        *(alice.remember(f"new {n}", supersedes=old.id) for n in range(5)), return_exceptions=True
    )

    assert sum(isinstance(outcome, Record) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, InvalidInputError) for outcome in outcomes) == 4
    assert await alice.count(superseded=True) == 2


# --- expiry --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expiry", [0, -1, NOON, "2024-05-08"])
async def test_what_is_over_is_never_seen(alice: Memory, expiry: Any) -> None:
    record = await alice.remember("Tea", key="k", expires_at=expiry)

    assert await found(alice, "tea") == []
    assert await alice.get(record.id) is None
    assert await alice.lookup("k", kind="note") is None
    assert await alice.recent() == (await alice.browse(superseded=True)).records == []
    assert await alice.count(superseded=True) == 0
    assert await alice.forget(record.id) == 0
    assert [change.record for change in await alice.history(record.id)] in ([None], [None, None])
    with pytest.raises(NotFoundError):
        await alice.revise(record.id, content="Milk")
    again = await alice.remember("Tea again", id=record.id, key="k")  # both handles are free again
    assert await alice.lookup("k", kind="note") == again


async def test_what_expires_in_a_moment_is_seen_until_then(alice: Memory, clock: MovedClock) -> None:
    record = await alice.remember("Tea", expires_at=60)
    assert await found(alice, "tea") == ["Tea"]
    clock.advance(61)
    assert await found(alice, "tea") == []
    assert await alice.get(record.id) is None
    assert await alice.count() == 0
    assert [change.record for change in await alice.history(record.id)] == [None]
    await alice.remember("Milk")  # the first write in a minute sweeps
    assert [change.action for change in await alice.history(record.id)] == ["remembered", "expired"]


async def test_records_are_stamped_by_the_clock(alice: Memory, clock: MovedClock) -> None:
    first = await alice.remember("Tea")
    clock.advance(86_400)
    second = await alice.remember("Milk", id="milk")
    changed = await alice.revise(first.id, content="Green tea")
    assert timedelta(days=1) <= second.created_at - first.created_at < timedelta(days=2)
    assert second.created_at < changed.updated_at
    clock.advance(-10 * 86_400)  # though it be set back, later is later
    third = await alice.remember("Coffee")
    assert changed.updated_at < third.created_at
    await alice.forget(second.id)
    assert (await alice.history("milk"))[-1].at < second.created_at


async def test_yesterday_is_the_day_before_the_clock_s(alice: Memory, clock: MovedClock) -> None:
    clock.advance(400 * 86_400 + 3600 * (12 - clock().hour))  # far from midnight
    yesterday = clock() - timedelta(days=1)
    for days in range(5):
        await alice.remember(f"tea {days}", happened_at=yesterday - timedelta(days=days))
    assert (await found(alice, "which tea was it yesterday?"))[0] == "tea 0"


async def test_expiry_can_be_revised(alice: Memory) -> None:
    record = await alice.remember("Tea", expires_at=3600)
    await alice.revise(record.id, expires_at=-1)
    assert await alice.get(record.id) is None


# --- revise, rate --------------------------------------------------------------------------------------


async def test_revise_changes_what_is_given_and_keeps_the_past(alice: Memory) -> None:
    first = await alice.remember("Tea", metadata={"a": 1}, source="alice", vector=[1.0] * 64)
    second = await alice.revise(first.id, content="Milk", source="bob")
    third = await alice.revise(first.id, metadata={})

    assert (third.content, third.metadata, third.version, third.created_at) == ("Milk", {}, 3, first.created_at)
    assert await found(alice, "milk") == ["Milk"]
    assert await found(alice, "tea", mode="lexical") == []
    changes = await alice.history(first.id)
    assert [change.record for change in changes] == [first, second, third]
    assert [change.source for change in changes] == ["alice", "bob", "bob"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"content": ""}, {"metadata": {"a": {1}}}, {"verified": "yes"}, {"happened_at": "soon"},
     {"expires_at": "soon"}, {"cue": " "}, {"content": 5}],
)  # fmt: skip
async def test_a_wrong_revision_changes_nothing(alice: Memory, fields: dict[str, Any]) -> None:
    record = await alice.remember("Tea")
    with pytest.raises(InvalidInputError):
        await alice.revise(record.id, **fields)
    assert await alice.get(record.id) == record


async def test_every_one_of_many_revisions_takes_effect(alice: Memory) -> None:
    record = await alice.remember("Tea")
    await asyncio.gather(*(alice.revise(record.id, metadata={"n": n}) for n in range(60)))

    last = await alice.get(record.id)
    assert last is not None
    assert last.version == 61
    seen = [change.record.metadata.get("n") for change in await alice.history(record.id) if change.record]
    assert sorted(n for n in seen if n is not None) == list(range(60))


async def test_many_set_the_same_key_at_once(alice: Memory) -> None:
    await asyncio.gather(*(alice.topics.set("drink", f"Tea {n}") for n in range(25)))

    record = await alice.topics.record("drink")
    assert record is not None
    assert record.version == 25
    assert await alice.count() == 1


async def test_a_rating_lifts_and_leaves_similarity_alone(alice: Memory) -> None:
    one, two, three = await alice.remember(["green tea at noon", "green tea at night", "green tea at nine"])
    before = {hit.record.id: hit for hit in await alice.recall("green tea")}
    await alice.rate(three.id, 1.0)
    await alice.rate(one.id, -1.0)
    hits = await alice.recall("green tea")

    assert [hit.record.id for hit in hits] == [three.id, two.id, one.id]
    assert all(hit.similarity == pytest.approx(before[hit.record.id].similarity, abs=1e-6) for hit in hits)
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert (await alice.rate(three.id, None)).rating is None
    for wrong in (1.1, float("nan"), "good"):
        with pytest.raises(InvalidInputError):
            await alice.rate(one.id, wrong)  # type: ignore[arg-type]


# --- forget, purge -------------------------------------------------------------------------------------


async def test_forget_by_id_and_by_filter(alice: Memory, bob: Memory) -> None:
    await bob.remember("Tea", id="bobs", kind="fact")
    records = await alice.remember([Draft(content=f"n{n}", kind="fact" if n % 2 else "note") for n in range(10)])

    assert await alice.forget(records[0].id, records[0].id, "none", "bobs") == 1
    assert await alice.forget(kind="fact") == 5
    assert await alice.forget(where={"none": 1}) == 0
    assert await alice.count() == 4
    assert await bob.count() == 1
    with pytest.raises(InvalidInputError, match="purge"):
        await alice.forget()
    with pytest.raises(InvalidInputError):
        await alice.forget(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "where", [{}, {"$and": []}, {"$and": [{}]}, {"$not": {"$or": []}}, {"$or": [{}, {"$and": []}]}]
)
async def test_a_condition_without_a_comparison_forgets_nothing(alice: Memory, where: Any) -> None:
    await alice.remember("Likes tea", key="k")
    for narrowing in ({"where": where}, {"payload": where}, {"key_prefix": ""}):
        with pytest.raises(InvalidInputError, match="to delete everything of a scope, use purge"):
            await alice.forget(**narrowing)
    assert await alice.count() == 1


async def test_forget_takes_more_than_a_statement_can_name(alice: Memory) -> None:
    ids = [f"n{n}" for n in range(40_000)]
    await alice.remember(Draft(content="x", id=id, kind="topic") for id in ids[:2500])

    assert await alice.forget(*ids) == 2500
    assert await alice.count() == 0


async def test_labels_narrow_what_is_forgotten(alice: Memory) -> None:
    one, two = alice.scoped(session="one"), alice.scoped(session="two")
    record = await one.remember("Tea")

    assert await two.forget(record.id) == await two.forget(kind="note") == 0
    assert await two.get(record.id) is None
    assert await two.history(record.id) == []
    for change in (two.revise(record.id, content="x"), two.rate(record.id, 1)):
        with pytest.raises(NotFoundError):
            await change
    assert await one.forget(kind="note") == 1


async def test_purge_is_of_one_user(everyone: Memory, alice: Memory, bob: Memory) -> None:
    for memory in (everyone, alice, bob):
        await memory.remember(["Tea", "Milk"])
        assert len(await memory.recall("tea milk")) == 2

    with pytest.raises(ScopeError):
        await alice.purge(user="bob")
    with pytest.raises(ScopeError):
        await alice.scoped(session="s").purge()
    assert (await everyone.purge(user="alice")).purged == 2
    assert await everyone.admin.users() == {"bob": 2, None: 2}
    assert await found(alice, "tea") == []
    assert (await everyone.purge(shared=True)).purged == 2
    assert await everyone.admin.users() == {"bob": 2}
    assert len(await bob.recall("tea milk")) == 2


# --- reading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, -1, -(10**30)])
async def test_no_limit_gives_nothing(alice: Memory, limit: int) -> None:
    await alice.remember("Tea")
    assert await alice.recall("tea", limit=limit) == []
    assert await alice.recent(limit) == []
    assert (await alice.browse(limit=limit)).records == []


@pytest.mark.parametrize("limit", [10_001, 2**70, True, 1.0, "5", None])
async def test_a_limit_is_a_number_that_makes_sense(alice: Memory, limit: Any) -> None:
    for call in (alice.recall("tea", limit=limit), alice.recent(limit), alice.browse(limit=limit)):
        with pytest.raises(InvalidInputError, match="limit"):
            await call


STRANGE = [
    "🙂🙂", "日本語のテスト", "Ω≈ç√", "\0", "a\0b", "\ud800", "'; DROP TABLE records;--", '"', "*", "NEAR(", "%",
    "AND OR NOT", "wall:p1", "\u202egnirts", "e\u0301", "\ufdfa", "٣", "ß", "\x7f", "{}",
    "x" * 100_000, "word " * 20_000,
]  # fmt: skip


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
async def test_any_query_is_answered(alice: Memory, mode: Any) -> None:
    await alice.remember(["Tea with milk", "🙂 日本語", "ß"])
    for query in STRANGE:
        hits = await alice.recall(query, mode=mode)
        assert all(0 <= hit.similarity <= 1 and 0 <= hit.score <= 1 for hit in hits)
    for blank in ("", " ", "\n\t\u3000"):
        assert await alice.recall(blank, mode=mode) == []
    with pytest.raises(InvalidInputError):
        await alice.recall(5)  # type: ignore[arg-type]


async def test_any_text_that_is_utf8_comes_back_as_it_was(alice: Memory) -> None:
    for text in STRANGE:
        record = await alice.remember(text)
        assert (await alice.get(record.id)) == record
        assert record.content == text.replace("\ud800", "\ufffd")
    assert await alice.count() == len(STRANGE)


async def test_half_a_character_in_an_id_names_its_record(alice: Memory) -> None:
    for half in ("\ud83d", "\ud83e"):
        await alice.remember(f"Tea {half}", id=half, key=half)
    assert await alice.get("\ud83d") == await alice.lookup("\ud83d", kind="note") != await alice.get("\ud83e")
    assert await alice.forget("\ud83d") == 1
    assert await alice.get("\ud83e") is not None


async def test_a_handle_no_record_can_have_names_none_or_is_refused(alice: Memory) -> None:
    await alice.remember("Tea", id="5", key="5")
    for text in ("", "none", "a\0", "\ud800", "x" * 10_000):
        assert await alice.get(text) is None
        assert await alice.history(text) == []
        assert await alice.lookup(text) is None
        assert await alice.forget(text) == 0
    wrong: Any
    for wrong in (5, None, b"5", ["5"]):
        for call in (alice.get(wrong), alice.history(wrong), alice.lookup(wrong), alice.forget(wrong)):
            with pytest.raises(InvalidInputError):
                await call


@pytest.mark.parametrize("vector", [[0.0] * 64, [float("nan")] * 64, [1.0] * 63, "text", [[1.0] * 64] * 2, object()])
async def test_a_wrong_query_vector_is_refused(alice: Memory, vector: Any) -> None:
    await alice.remember("Tea")
    with pytest.raises(InvalidInputError):
        await alice.recall("tea", vector=vector)


async def test_shared_adds_the_tenants_own_records(everyone: Memory, alice: Memory, bob: Memory) -> None:
    await everyone.remember("Tea for all", kind="topic", key="drink")
    await alice.remember("Tea for alice", kind="topic", key="drink")
    await bob.remember("Tea for bob")
    await everyone.remember("Tea is shared")

    assert set(await found(alice, "tea", shared=True)) == {"Tea is shared"}
    assert await alice.count(shared=True) == 3
    assert {each.content for each in await bob.recent(shared=True)} == {"Tea for bob", "Tea for all", "Tea is shared"}
    for memory, content in ((alice, "Tea for alice"), (bob, "Tea for all")):
        record = await memory.lookup("drink", shared=True)
        assert record is not None
        assert record.content == content
    assert await bob.lookup("drink") is None


async def test_tenants_are_walls(reopen: Open) -> None:
    async with reopen(tenant="acme") as acme, reopen(tenant="other") as other:
        record = await acme.remember("Tea")
        assert await other.get(record.id) is None
        assert await other.count(everyone=True) == 0
        assert await other.admin.users() == {}
        assert await found(other, "tea") == []
        assert await other.history(record.id) == []
        assert await other.forget(record.id) == 0
        await other.purge(shared=True)
        assert await acme.get(record.id) == record


# --- open and closed, threads and processes -----------------------------------------------------------


async def test_before_opening_and_after_closing_nothing_works(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.db", embedder=HashEmbedder())
    for _ in range(2):
        for call in (
            memory.remember("x"), memory.recall("x"), memory.recent(), memory.get("x"), memory.lookup("x"),
            memory.browse(), memory.count(), memory.forget("x"), memory.purge(shared=True), memory.history("x"),
            memory.revise("x", content="y"), memory.rate("x", 1), memory.admin.users(),
            memory.admin.backup(tmp_path / "b.db"), memory.admin.reindex(),
        ):  # fmt: skip
            with pytest.raises(ClosedError):
                await call
        async with memory:
            await memory.close()
            await memory.close()


async def test_closing_finishes_what_was_begun(reopen: Open) -> None:
    memory = await reopen()
    tasks = [asyncio.create_task(memory.remember(f"n{n}", kind="topic")) for n in range(50)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await memory.close()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    stored = [outcome.id for outcome in outcomes if isinstance(outcome, Record)]
    assert all(isinstance(outcome, Record | ClosedError) for outcome in outcomes)
    async with reopen() as again:
        assert [id for id in stored if await again.get(id) is None] == []


async def test_opening_twice_at_once_opens_once(reopen: Open) -> None:
    memory = reopen()
    await asyncio.gather(*(memory.__aenter__() for _ in range(5)))
    await memory.remember("Tea")
    await memory.close()


async def test_one_memory_in_several_threads_with_loops_of_their_own(alice: Memory, bob: Memory) -> None:
    failures: list[BaseException] = []

    def thread(memory: Memory, name: str) -> None:
        async def use() -> None:
            for n in range(15):
                record = await memory.remember(f"{name} drinks tea {n}")
                assert record.id in {hit.record.id for hit in await memory.recall(f"{name} tea {n}", limit=100)}

        try:
            asyncio.run(use())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=thread, args=(memory, f"t{n}")) for n, memory in enumerate((alice, bob) * 2)]
    for each in threads:
        each.start()
    for each in threads:
        await asyncio.to_thread(each.join)
    assert failures == []
    assert await alice.count() == await bob.count() == 30


async def test_recalls_at_once_each_see_what_was_stored_before_them(
    alice: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = core_of(alice).store
    read = store.entries
    gates: list[asyncio.Event] = []

    async def held(*asked: Any) -> Any:
        changed = await read(*asked)
        if len(gates) < 2:
            gates.append(gate := asyncio.Event())
            await gate.wait()
        return changed

    await alice.remember("tea zero")
    assert await found(alice, "tea") == ["tea zero"]
    monkeypatch.setattr(store, "entries", held)
    await alice.remember("tea one")
    first = asyncio.create_task(found(alice, "tea"))
    while len(gates) < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await alice.remember("tea two")
    second = asyncio.create_task(found(alice, "tea"))
    while len(gates) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    gates[0].set()
    await first
    gates[1].set()

    assert set(await second) == {"tea zero", "tea one", "tea two"}


async def test_writers_share_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits, calls, all_wait = 0, 0, threading.Event()

    def count() -> bool:
        nonlocal commits
        commits += 1
        return not all_wait.wait(120)

    monkeypatch.setattr(apsw, "connection_hooks", [lambda connection: connection.set_commit_hook(count)])
    all_wait.set()
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        await memory.remember("first")
        store = core_of(memory).store
        write = store.write

        async def counted(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 200:
                asyncio.get_running_loop().call_soon(all_wait.set)
            return await write(*given, **named)

        monkeypatch.setattr(store, "write", counted)
        before = commits
        all_wait.clear()  # until then the first of their commits is held up
        await asyncio.gather(*(memory.remember(f"note {n}") for n in range(200)))
        assert await memory.count() == 201
    assert 1 <= commits - before <= 2


async def test_a_write_that_cannot_begin_leaves_the_writer_alive(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = store_at(path, busy_timeout=0.05)
    await store.open()
    holder = connect_to(path)
    holder.execute("BEGIN IMMEDIATE")
    tasks = [asyncio.create_task(store.bind("v1", 3)) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreBusyError, asyncio.CancelledError, StoreBusyError]
    holder.execute("ROLLBACK")
    holder.close()
    await store.bind("v1", 3)
    await store.close()


@pytest.mark.posix
async def test_a_forked_child_is_told_to_open_anew(reopen: Open) -> None:
    async with reopen() as memory:
        await memory.remember("Tea")
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:  # no assertion may leave the child
            answer = b"nothing"
            try:
                memory.count().send(None)  # up to where it would wait
            except ClosedError as error:
                answer = str(error).encode()
            finally:
                os.write(writing, answer)
                os._exit(0)
        os.close(writing)
        assert b"forked" in os.read(reading, 1000)
        await asyncio.to_thread(os.waitpid, child, 0)
        os.close(reading)
        assert await memory.count() == 1


async def test_another_embedder_is_refused_until_reindexed(tmp_path: Path, reopen: Open) -> None:
    async with reopen() as memory:
        await memory.remember("Tea")
    with pytest.raises(EmbedderMismatchError, match="memorist reindex"):
        await Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(32))


async def test_backup_can_be_opened_and_is_whole(tmp_path: Path, alice: Memory, everyone: Memory) -> None:
    await alice.remember([Draft(content=f"note {n}", metadata={"n": n}) for n in range(20)])
    target = await everyone.admin.backup(tmp_path / "backup.db")

    async with Memory.open(target, embedder=HashEmbedder(), user="alice") as copy:
        assert await copy.count() == 20
        assert await found(copy, "note 7", limit=1) == ["note 7"]
        assert (await copy.recent(20)) == (await alice.recent(20))
    with pytest.raises(ScopeError):
        await alice.admin.backup(tmp_path / "other.db")
    with pytest.raises(InvalidInputError, match="exists"):
        await everyone.admin.backup(target)


async def test_a_memory_of_this_process_alone_can_be_backed_up(tmp_path: Path) -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        record = await memory.remember("Tea", kind=Kind.FACT)
        target = await memory.admin.backup(tmp_path / "backup.db")
    async with Memory.open(target, embedder=HashEmbedder()) as copy:
        assert await copy.get(record.id) == record


def test_a_memory_is_opened_and_not_made(tmp_path: Path) -> None:
    for wrong in ((), ("agent.db",), (tmp_path,)):
        with pytest.raises(UnknownArgumentError, match=r"Memory\.open\(path\)"):
            Memory(*wrong)
        with pytest.raises(UnknownArgumentError, match=r"Memory\.open\(path\)"):
            sync.Memory(*wrong)
    with pytest.raises(UnknownArgumentError, match=r"Memory\.open\(path\)"):
        Memory(user="alice")


def test_the_package_lists_every_public_name() -> None:
    line = "import memorist, sys; assert {*memorist.__all__} <= {*dir(memorist)}; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", line], check=True)


async def test_state_is_listed_and_counted_only_by_name_and_exported_and_forgotten_with_the_rest(
    everyone: Memory, reopen: Open, tmp_path: Path
) -> None:
    alice = everyone.scoped(user="alice", session="monday")
    await alice.remember([Draft(content="tea"), Draft(content="[1, 2]", kind=Kind.STATE, key="thread")])
    assert [record.kind for record in await alice.recent()] == [Kind.NOTE]
    assert [record.kind async for record in alice.iterate(superseded=True)] == [Kind.NOTE]
    assert (await alice.count(), await alice.count(kind="state"), await alice.count(kind=tuple(Kind))) == (1, 1, 2)
    assert await found(alice, "[1, 2]", kind="state") == []
    assert await alice.lookup("thread") is None
    assert (await alice.lookup("thread", kind="state")) is not None
    async with Memory.open(tmp_path / "copy.db", embedder=HashEmbedder(), user="alice") as copy:
        assert (await copy.load([line async for line in alice.export()])).added == 2
    assert await alice.forget(session="monday") == 2
    assert await alice.count(kind="state") == 0


@pytest.mark.parametrize("verb", ["recent", "browse", "count", "changes"])
async def test_a_wrong_label_is_refused_where_nothing_is_stored_too(alice: Memory, verb: str) -> None:
    with pytest.raises(InvalidInputError, match="session must not be blank"):
        await getattr(alice, verb)(session="")


def test_another_event_loop_than_asyncios_is_told_what_to_do(tmp_path: Path) -> None:
    opening = Memory.open(tmp_path / "m.db", embedder=HashEmbedder()).__aenter__()
    with pytest.raises(InvalidInputError, match=r"needs asyncio.*memorist\.sync"):
        opening.send(None)  # as any loop drives a coroutine
