"""Several clients at once: no change is missed, none is done twice, and all agree with a plain model."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from inside import core_of, hurry
from memorist.errors import ConflictError, InvalidInputError, StoreBusyError
from memorist.memory import Memory
from memorist.records.filters import Filter
from memorist.records.record import Action, Draft, Kind
from memorist.records.scope import Wall
from memorist.stores import Store
from memorist.stores.base import Entry, Write
from memorist.stores.postgres import PostgresStore, parse_url, queries
from memorist.stores.postgres.grouping import Call, Outcome
from memorist.stores.postgres.schema import lock_key
from memorist.stores.sqlite import SQLiteStore
from memorist.testing.contract.base import (
    ALICE,
    ALL,
    BOB,
    DIMENSIONS,
    FINGERPRINT,
    everything,
    forgotten,
    make_record,
    put,
    revised,
    vector_of,
)

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@asynccontextmanager
async def opened(*stores: Store) -> AsyncIterator[None]:
    for store in stores:
        await store.open()
        await store.bind(FINGERPRINT, DIMENSIONS)
    try:
        yield
    finally:
        for store in stores:
            await store.close()


def memory_of(url: str) -> Memory:
    return Memory.open(url, user="alice", embedder="hash")


def client(url: str) -> PostgresStore:
    return PostgresStore(parse_url(url, busy_timeout=120.0))


class Follower:
    """What a cache does: it takes in changes as they come."""

    def __init__(self, store: Store, wall: Wall) -> None:
        self.store, self.wall = store, wall
        self.generation: str | None = None
        self.epoch = 0
        self.found: dict[int, Entry] = {}

    async def follow(self) -> None:
        more = True
        while more:
            got = await self.store.entries(self.wall, self.generation, self.epoch)
            if got.generation != self.generation and self.generation is not None:
                self.found.clear()
                self.generation, self.epoch = None, 0
                continue
            self.found.update({entry.number: entry for entry in got.entries})
            for number in got.gone:
                self.found.pop(number, None)
            self.generation, self.epoch, more = got.generation, got.epoch, got.more


async def test_who_follows_the_changes_misses_none(server: "Server") -> None:
    url = server.new_url(pool_size=4)
    writers = [client(url) for _ in range(3)]
    reader = client(url)
    async with opened(*writers, reader):
        followers = [Follower(reader, wall) for wall in (ALICE, BOB)]

        async def write_on(store: Store, name: str) -> None:
            for turn in range(25):
                for wall in (ALICE, BOB):
                    first = make_record(f"{name}.{turn}", wall)
                    await store.write(wall, [put(first)])
                    if turn % 3 == 0:
                        await store.write(wall, [put(revised(first, content=f"changed {name}.{turn}"))])
                    if turn % 5 == 0:
                        await store.write(wall, forgotten(f"{name}.{turn}"))

        lanes = [asyncio.create_task(write_on(store, f"{n}.{m}")) for n, store in enumerate(writers) for m in range(2)]
        while not all(lane.done() for lane in lanes):
            for follower in followers:
                await follower.follow()
        await asyncio.gather(*lanes)
        for follower in followers:
            await follower.follow()
            whole = {
                entry.number: (entry.id, entry.terms) for entry in (await everything(reader, follower.wall)).values()
            }
            assert {number: (entry.id, entry.terms) for number, entry in follower.found.items()} == whole
            assert len(whole) == 6 * 20
            assert whole == dict(sorted(whole.items()))  # numbers grow in the order of the commits


async def test_of_many_that_change_one_record_each_takes_effect_once(server: "Server") -> None:
    url = server.new_url(pool_size=3)
    async with (
        Memory.open(url, user="alice", embedder="hash") as one,
        Memory.open(url, user="alice", embedder="hash") as two,
    ):
        record = await one.remember("Tea")

        async def count_up(memory: Memory) -> None:
            for _ in range(10):
                while True:
                    seen = await memory.get(record.id)
                    assert seen is not None
                    changed = {"n": seen.metadata.get("n", 0) + 1}
                    try:
                        await core_of(memory).store.write(
                            seen.scope.wall, [put(revised(seen, metadata=changed), keep_index=True)]
                        )
                        break
                    except ConflictError:
                        continue

        await asyncio.gather(*(count_up(memory) for memory in (one, two) for _ in range(2)))
        seen = await two.get(record.id)
        assert seen is not None
        assert (seen.metadata["n"], seen.version) == (40, 41)


async def test_what_one_process_stores_the_next_recall_of_another_finds(server: "Server") -> None:
    url = server.new_url()
    async with (
        Memory.open(url, user="alice", embedder="hash") as one,
        Memory.open(url, user="alice", embedder="hash") as two,
    ):
        for n in range(10):
            writer, reader = (one, two) if n % 2 else (two, one)
            record = await writer.remember(f"The heron number{n} nests in May")
            hits = await reader.recall(f"heron number{n}", limit=100)
            assert record.id in {hit.record.id for hit in hits}


Step = tuple[Literal["put", "revise", "forget"], str, str | None, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "revise", "forget"]),
        st.sampled_from("abc"),
        st.sampled_from([None, "k", "l"]),
        st.sampled_from(["tea", "milk tea", "honey \0", "\1 lemon tea tea"]),
    ),
    min_size=1,
    max_size=6,
)


Batches: TypeAlias = list[tuple[bool, Wall, list[Step]]]


def test_two_clients_do_to_postgres_what_one_does_to_sqlite(server: "Server") -> None:
    url = server.new_url(pool_size=2, purge="delete")
    one, two, model = client(url), client(url), SQLiteStore(None)

    @settings(max_examples=25)
    @given(batches=st.lists(st.tuples(st.booleans(), st.sampled_from([ALICE, BOB]), STEPS), max_size=8))
    def play(batches: Batches) -> None:
        portal.call(_alike, one, two, model, batches)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened(one, two, model)):
        play()


async def _alike(one: Store, two: Store, model: Store, batches: Batches) -> None:
    for wall in (ALICE, BOB):
        for store in (one, model):
            await store.purge(wall)
    for first, wall, steps in batches:
        writes = await _writes(model, wall, steps)
        outcomes = [await _outcome(store, wall, writes) for store in (one if first else two, model)]
        assert outcomes[0] == outcomes[1]
    for wall in (ALICE, BOB):
        assert await _seen(two, wall) == await _seen(model, wall)


async def _writes(model: Store, wall: Wall, steps: list[Step]) -> list[Write]:
    writes: list[Write] = []
    there = {record.id: record for record in await model.get(wall, list("abc"))}
    for what, id, key, content in steps:
        if what == "forget":
            writes += forgotten(id)
            there.pop(id, None)
        else:
            old = there.get(id) if what == "revise" else None
            new = make_record(id, wall, key=key, content=content)
            there[id] = new if old is None else revised(old, key=key, content=content)
            writes.append(put(there[id]))
    return writes


async def _outcome(store: Store, wall: Wall, writes: list[Write]) -> object:
    try:
        return await store.write(wall, writes)
    except ConflictError as error:
        return str(error)


async def _seen(store: Store, wall: Wall) -> object:
    histories = [[(c.action, c.source, c.record) for c in await store.history(wall, id)] for id in "abc"]
    entries = await everything(store, wall)
    numbers = {entry.number: id for id, entry in entries.items()}
    words = {numbers[number] for number, _ in await store.search_words(wall, ["tea"], 9)}
    records = await store.select(wall.reach, ALL, order="oldest", limit=99)
    return records, histories, list(entries), [entry.terms for entry in entries.values()], words


async def test_the_nearest_are_the_same_with_the_index_and_without(
    server: "Server", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_EXACT", 20)  # so that the index is read
    rng = np.random.default_rng(5)
    stores = [client(server.new_url(hnsw=hnsw)) for hnsw in ("off", "on")]
    vectors = rng.normal(size=(600, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = vector_of("a question")
    async with opened(*stores):
        found = []
        for store in stores:
            for wall, share in ((ALICE, slice(0, 550)), (BOB, slice(550, 600))):
                await store.write(
                    wall,
                    [
                        put(make_record(f"{n}", wall, kind=Kind.FACT if n % 9 == 0 else Kind.NOTE), vector=vectors[n])
                        for n in range(*share.indices(600))
                    ],
                )
            for wall in (ALICE, BOB):
                for chosen in (Filter(), Filter(kinds=frozenset((Kind.FACT,)))):
                    nearest = await store.nearest(wall, query, chosen, 5)
                    records = await store.fetch(wall, [number for number, _ in nearest])
                    found.append([(records[number].id, round(similarity, 5)) for number, similarity in nearest])
    assert found[:4] == found[4:]
    exact = sorted(range(550), key=lambda n: -float(vectors[n] @ query))[:5]
    assert [id for id, _ in found[0]] == [str(n) for n in exact]
    assert found[0][0][1] == pytest.approx(float(vectors[exact[0]] @ query), abs=1e-5)


async def test_recall_finds_the_same_in_the_same_order_as_on_a_file(server: "Server") -> None:
    chance = random.Random(11)
    words = "tea milk honey lemon sugar train garden sister budget violin harbour recipe winter lantern".split()
    drafts = [
        Draft(
            content=" ".join(chance.choices(words, k=6)), id=f"{n}", kind=chance.choice(["note", "fact", "episode"]),
            metadata={"n": n % 7}, happened_at=f"2024-{1 + n % 12:02}-01", session=f"s{n % 5}",
        )
        for n in range(300)
    ]  # fmt: skip
    found = []
    for url in (server.new_url(), ":memory:"):
        async with Memory.open(url, user="alice", embedder="hash") as alice:
            await alice.remember(drafts)
            await alice.forget(where={"n": 3})
            answers = []
            for question in ("tea with honey", "the violin in the garden in May 2024", "winter", "sister's budget"):
                for given in ({}, {"where": {"n": {"$lt": 3}}}, {"kind": "fact"}, {"session": "s1", "mode": "lexical"}):
                    hits = await alice.recall(question, limit=20, now="2025-01-01", **given)
                    answers.append([(hit.record.id, hit.similarity, hit.score) for hit in hits])
            found.append(answers)
    for ours, theirs in zip(*found, strict=True):
        assert [id for id, *_ in ours] == [id for id, *_ in theirs]
        assert np.allclose([rest for _, *rest in ours], [rest for _, *rest in theirs], atol=1e-5)


def counting(store: PostgresStore, expected: int) -> list[int]:
    """Note how many calls each transaction carries out; none begins before as many as are expected have come."""
    shared: list[int] = []
    grouping, carried_out = store._grouping, store._write_together

    async def counted(calls: Sequence[Call]) -> list[Outcome]:
        shared.append(len(calls))
        while sum(shared) + sum(map(len, grouping._waiting.values())) < expected:  # noqa: ASYNC110
            await asyncio.sleep(0)
        return await carried_out(calls)

    grouping._run = counted
    return shared


async def test_calls_of_one_user_that_wait_share_a_commit_and_fail_alone(server: "Server") -> None:
    store = PostgresStore(parse_url(server.new_url(pool_size=2)))
    await store.open()
    try:
        await store.bind(FINGERPRINT, DIMENSIONS)
        await store.write(ALICE, [put(make_record("taken", key="k"))])
        shared = counting(store, 40)
        calls: list[list[Write]] = [[put(make_record(f"a{n}")), put(make_record(f"b{n}"))] for n in range(40)]
        calls[5] = [put(make_record("never")), put(make_record("taken"))]  # the id
        calls[6] = [*forgotten("taken"), put(make_record("never")), put(make_record("a4"))]
        calls[7] = [put(make_record("second", key="k"))]
        calls[8] = [put(make_record("third", key="free"))]
        calls[9] = [put(make_record("fourth", key="free"))]
        outcomes = await asyncio.gather(*(store.write(ALICE, each) for each in calls), return_exceptions=True)

        failed = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)]
        assert failed == [5, 6, 7, 9]
        assert all(isinstance(outcomes[n], ConflictError) for n in failed)
        assert len(shared) <= 2
        assert await store.count(ALICE.reach, ALL) == 2 * 35 + 2
        assert await store.get(ALICE, ["never"]) == []
        assert [change.action for change in await store.history(ALICE, "taken")] == [Action.REMEMBERED]
    finally:
        await store.close()


async def test_a_call_that_the_database_refuses_harms_no_other(server: "Server") -> None:
    store = PostgresStore(parse_url(server.new_url(pool_size=2)))
    await store.open()
    try:
        await store.bind(FINGERPRINT, DIMENSIONS)
        calls = [[put(make_record(f"{n}"))] for n in range(12)]
        noise = "".join(map(chr, random.Random(1).sample(range(0x20000, 0x2A000), 762)))
        calls[4] = [put(make_record(noise[:510], session=noise[510:]))]
        outcomes = await asyncio.gather(*(store.write(ALICE, each) for each in calls), return_exceptions=True)
        assert [n for n, outcome in enumerate(outcomes) if outcome != [True]] == [4]
        assert isinstance(outcomes[4], InvalidInputError)
        assert await store.count(ALICE.reach, ALL) == 11
    finally:
        await store.close()


async def test_calls_that_wait_in_vain_for_one_lock_wait_together(server: "Server") -> None:
    store = client(server.new_url(pool_size=2))
    async with opened(store):
        hurry(store, 0.1)
        with server.connect() as other:
            other.execute(
                "SELECT pg_advisory_lock(%s)", (lock_key(store.options.schema, json.dumps(["wall", *ALICE])),)
            )
            shared = counting(store, 12)
            calls = [store.write(ALICE, [put(make_record(f"{n}"))]) for n in range(12)]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreBusyError] * 12
        assert sum(shared) == 12, "none waits once more by itself"


async def test_calls_of_many_users_share_a_commit_and_stay_apart(server: "Server") -> None:
    store = client(server.new_url(pool_size=3))
    walls = [Wall("acme", None), *(Wall("acme", f"user {n}") for n in range(20)), Wall("other", "user 1")]
    async with opened(store):
        await store.write(walls[1], [put(make_record("taken", walls[1]))])
        shared = counting(store, 45)
        calls: list[tuple[Wall, list[Write]]] = [
            (wall, [put(make_record(f"{n}", wall)), put(make_record("own", wall))]) for n, wall in enumerate(walls)
        ]
        calls += [(wall, [put(make_record("later", wall)), *forgotten("own")]) for wall in walls]
        calls += [(walls[1], [put(make_record("never", walls[1])), put(make_record("taken", walls[1]))])]
        outcomes = await asyncio.gather(*(store.write(*call) for call in calls), return_exceptions=True)

        assert [n for n, outcome in enumerate(outcomes) if outcome != [True, True]] == [len(calls) - 1]
        assert isinstance(outcomes[-1], ConflictError)
        assert len(shared) <= 6
        for n, wall in enumerate(walls):
            found = {record.id for record in await store.get(wall, ["own", "later", "never", *map(str, range(22))])}
            assert found == {f"{n}", "later"}
            assert [change.action for change in await store.history(wall, "own")][-1] == Action.FORGOTTEN


async def test_a_user_whose_wall_another_process_writes_behind_delays_no_other(server: "Server") -> None:
    store = client(server.new_url(pool_size=4))
    schema = store.options.schema
    async with opened(store):
        await asyncio.gather(*(store.write(wall, [put(make_record("0", wall))]) for wall in (ALICE, BOB)))
        with server.connect() as other:
            key = lock_key(schema, json.dumps(["wall", *BOB]))
            other.execute("SELECT pg_advisory_lock(%s)", (key,))
            held = [asyncio.create_task(store.write(BOB, [put(make_record(f"{n}", BOB))])) for n in (1, 2)]
            for n in range(1, 6):
                await asyncio.gather(
                    *(store.write(ALICE, [put(make_record(f"{n}.{each}", ALICE))]) for each in range(5))
                )
            held.append(asyncio.create_task(store.write(BOB, [put(make_record("3", BOB))])))
            assert await store.count(ALICE.reach, ALL) == 26
            assert not any(task.done() for task in held)
            other.execute("SELECT pg_advisory_unlock(%s)", (key,))
            assert await asyncio.gather(*held) == [[True]] * 3
        assert await store.count(BOB.reach, ALL) == 4
        assert not store._grouping._written and not store._grouping._waiting and not store._grouping._lanes
