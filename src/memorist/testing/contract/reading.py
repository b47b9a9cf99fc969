"""The contract, part two: selecting, counting and the history."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memorist.errors import ConflictError, InvalidInputError
from memorist.operations.cursors import decode, make_page
from memorist.records.filters import Filter, make_filter
from memorist.records.origins import Author, Origin
from memorist.records.record import VALUES, Action, Kind, Record
from memorist.records.scope import Reach, Wall
from memorist.records.times import now
from memorist.stores.base import Order, Store
from memorist.testing.contract.base import (
    ALICE,
    ALL,
    BOB,
    NOON,
    SHARED,
    Contract,
    everything,
    forgotten,
    ids_of,
    make_record,
    put,
    revised,
    scenario,
)

EVERYONE = Reach("acme", None)
_FIELDS: dict[str, dict[str, Any]] = {
    "oslo": {"city": "Oslo", "age": 18, "tags": ["vip", 3, None], "plan": {"level": 2, "name": "pro"}},
    "bergen": {"city": "Bergen", "age": 17.5, "tags": [], "plan": {"level": "2"}, "ok": True},
    "odd": {"city": None, "age": "18", "tags": "vip", "plan": [{"level": 2}], "ok": False, 'q"u\\o': 1, "": {"": 0}},
    "big": {"age": 2**63, "small": -(2**80), "float": 1e300, "text": "Ωmega\0"},
    "none": {},
}
_CONDITIONS: list[dict[str, Any]] = [
    {}, {"city": "Oslo"}, {"city": None}, {"city": {"$ne": "Oslo"}}, {"age": 18}, {"age": 18.0}, {"age": "18"},
    {"age": {"$gt": 17.5}}, {"age": {"$gte": 17.5, "$lt": 18}}, {"age": {"$lte": 18}}, {"age": {"$gt": "17"}},
    {"age": {"$gt": 2**62}}, {"age": 2.0**63}, {"small": {"$lt": -(2**63)}}, {"float": {"$lt": float("inf")}},
    {"tags": "vip"}, {"tags": 3}, {"tags": None}, {"tags": {"$ne": "vip"}}, {"tags": {"$in": ["vip", 4]}},
    {"tags": {"$nin": [3]}}, {"tags": {"$in": []}}, {"tags": {"$exists": True}}, {"tags": {"$exists": False}},
    {"plan.level": 2}, {"plan.level": "2"}, {"plan.level": {"$gte": 2}}, {"plan": {"$exists": True}}, {"plan": 2},
    {"ok": True}, {"ok": False}, {"ok": 1}, {"ok": {"$in": [True, None]}}, {".": 0},
    {'q"u\\o': 1}, {"text": "Ωmega\0"}, {"text": {"$gt": "Z"}}, {"a.b.c": 1}, {"city": {"$gt": "B", "$lt": "C"}},
    {"$and": []}, {"$or": []}, {"$not": {}}, {"$not": {"city": "Oslo"}}, {"$or": [{"city": "Oslo"}, {"ok": True}]},
    {"$and": [{"age": {"$gt": 1}}, {"$not": {"$or": [{"ok": True}, {"tags": 3}]}}]},
    {"age": {"$in": [*range(3000), 17.5]}}, {"city": {"$nin": ["Oslo", None, *map(str, range(3000))]}},
]  # fmt: skip


_KINDS = [frozenset(map(Kind, names)) for names in ((), ("note",), ("note", "topic"), ("message", "topic"))]


class ReadingContract(Contract):
    """The promises of `select`, `count`, `users`, `matching` and `history`."""

    @scenario
    async def test_the_orders(self, store: Store) -> None:
        records = [
            make_record("b", after=1, key="m"),
            make_record("a", after=1),
            make_record("c", after=0, key="z"),
            make_record("d", after=9, happened_at=NOON - timedelta(days=1), key="Z"),
        ]
        await store.write(ALICE, [put(record) for record in records])

        async def ordered(order: Order) -> list[str]:
            return ids_of(await store.select(ALICE.reach, ALL, order=order, limit=9))

        assert await ordered("oldest") == ["d", "c", "a", "b"]
        assert await ordered("newest") == ["b", "a", "c", "d"]
        assert await ordered("key") == ["d", "b", "c"]
        assert ids_of(await store.select(ALICE.reach, ALL, order="oldest", limit=2)) == ["d", "c"]
        assert await store.select(ALICE.reach, ALL, order="oldest", limit=0) == []

    @scenario
    async def test_fields_are_those_of_the_records(self, store: Store) -> None:
        payload = {"data": {"said": "Ωmega\0", "parts": ["x" * 20_000]}, "none": None}
        for wall in (ALICE, SHARED):
            await store.write(
                wall,
                [
                    put(make_record("a", wall, after=2, key="z", payload=payload, metadata={"n": 1.5})),
                    put(make_record("b", wall, kind=Kind.STATE, after=1, key="y", content='{"a": "é"}')),
                    put(make_record("c", wall, after=1, happened_at=NOON - timedelta(days=1))),
                ],
            )
        for reach in (ALICE.reach, EVERYONE, BOB.reach):
            for order in ("newest", "oldest", "key"):
                for limit in (1, 2, 9):
                    records = await store.select(reach, ALL, order=order, limit=limit)
                    values = await store.values(reach, ALL, VALUES, order=order, limit=limit)
                    assert values == [each.values(VALUES) for each in records]
        assert await store.values(ALICE.reach, ALL, ("id",), order="oldest", limit=0) == []
        assert await store.values(ALICE.reach, ALL, (), order="key", limit=9) == [(Kind.STATE,), (Kind.NOTE,)]

    @scenario
    async def test_pages_go_through_everything_once(self, store: Store) -> None:
        walls = (ALICE, BOB, SHARED)
        for wall in walls:  # alike in times and ids, so that only the users tell them apart
            await store.write(
                wall, [put(make_record(f"n{n}", wall, after=n // 3, key=f"k{n // 2}.{n}")) for n in range(7)]
            )
        reaches = [ALICE.reach, Reach("acme", ("alice", None)), EVERYONE]

        for reach, count in zip(reaches, (7, 14, 21), strict=True):
            for order in ("newest", "oldest", "key"):
                whole = await store.select(reach, ALL, order=order, limit=99)
                for size in (1, 2, 5):
                    assert await _paged(store, reach, order, size) == [(each.scope.user, each.id) for each in whole]
                assert len({(each.scope.user, each.id) for each in whole}) == count

    @scenario
    async def test_a_page_goes_on_where_the_last_ended_whatever_was_stored_meanwhile(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record(f"n{n}", after=n)) for n in range(4)])
        page = make_page(await store.select(ALICE.reach, ALL, order="oldest", limit=3), 2, "oldest")
        assert page.next is not None
        await store.write(
            ALICE, [*forgotten("n1"), put(make_record("early", after=0.5)), put(make_record("late", after=9))]
        )

        rest = await store.select(ALICE.reach, ALL, order="oldest", limit=9, after=decode(page.next, "oldest"))
        assert ids_of(rest) == ["n2", "n3", "late"]

    @scenario
    async def test_reach_is_never_overstepped(self, store: Store) -> None:
        other = Wall("other", "alice")
        for wall, ids in ((ALICE, "ab"), (BOB, "c"), (SHARED, "d"), (other, "efg")):
            await store.write(wall, [put(make_record(id, wall)) for id in ids])

        for reach, ids in (
            (ALICE.reach, "ab"),
            (Reach("acme", ("alice", None)), "abd"),
            (SHARED.reach, "d"),
            (EVERYONE, "abcd"),
            (Reach("other", None), "efg"),
            (Reach("other", (None,)), ""),
            (Reach("nobody", None), ""),
        ):
            assert sorted(ids_of(await store.select(reach, ALL, order="newest", limit=99))) == list(ids)
            assert await store.count(reach, ALL) == len(ids)
        assert await store.users("acme") == {"alice": 2, "bob": 1, None: 1}
        assert await store.users("nobody") == {}
        assert await store.tenants() == ["acme", "other"]

    @scenario
    async def test_a_filter_means_the_same_here_as_in_python(self, store: Store) -> None:
        records = [make_record(id, metadata=fields, payload=fields) for id, fields in _FIELDS.items()]
        await store.write(ALICE, [put(record) for record in records])

        for where in _CONDITIONS:
            for name in ("where", "payload"):
                await _check(store, records, make_filter(**{name: where}))  # type: ignore[arg-type]

    @scenario
    async def test_every_part_of_a_filter(self, store: Store) -> None:
        ended = make_record("ended", after=2, superseded_by="new", superseded_at=NOON + timedelta(seconds=5), key="k.1")
        records = [
            ended,
            make_record("new", after=5, key="k.1", verified=True),
            make_record("talk", after=3, kind=Kind.MESSAGE, agent="planner", session="s1"),
            make_record("told", after=4, kind=Kind.MESSAGE, agent="planner", session="s2", key="K.1"),
            make_record("topic", kind=Kind.TOPIC, key="k.%", happened_at=NOON + timedelta(microseconds=1)),
            make_record("fact", kind=Kind.FACT, key="kä", session="s1", verified=True, after=9),
            make_record("web", origin=Origin(authors=Author.WEB | Author.TOOL, derived_from=("talk", "q'\"ä"), lost=1)),
            make_record("edge", kind=Kind.TOPIC, key="k\ud7ff.x"),
            make_record("last", key="k\U0010ffff.x", source="import:a%"),
            make_record("from", source="import:a"),
            make_record("own", source="import"),
            make_record("no", source="important"),
            make_record("odd", source="ä:b"),
        ]
        await store.write(ALICE, [put(record) for record in records])

        for chosen in (
            Filter(), ALL, Filter(ids=frozenset(("new", "talk", "none"))), Filter(ids=frozenset()),
            Filter(ids=frozenset(map(str, range(40_000))) | {"fact"}),
            Filter(kinds=frozenset((Kind.MESSAGE, Kind.FACT))), Filter(kinds=frozenset()), Filter(agent="planner"),
            Filter(session="s1"), Filter(agent="planner", session="s1"), Filter(agent="Planner"), Filter(key="k.1"),
            Filter(key="k.1", superseded=True), Filter(key_prefix="k."), Filter(key_prefix="k.%"),
            Filter(key_prefix=""), Filter(key_prefix="kä"), Filter(key_prefix="k\ud7ff"),
            Filter(key_prefix="k\U0010ffff"), Filter(key_prefix="\U0010ffff"),
            *(Filter(kinds=kinds, key="k.1", superseded=True) for kinds in _KINDS),
            *(Filter(kinds=kinds, key_prefix="k") for kinds in _KINDS), *(Filter(kinds=kinds) for kinds in _KINDS),
            *(Filter(source=source) for source in ("import", "import:a", "import:", "imp", "import:a%", "q\0", "ä")),
            Filter(verified=True), Filter(verified=False),
            Filter(without=Author.TOOL), Filter(without=Author.USER | Author.PEER), Filter(without=Author.IMPORT),
            *(Filter(derived_from=frozenset(ids)) for ids in ((), ("talk", "new"), ("q'\"ä", "a\0"), ("null",))),
            *(Filter(since=NOON + timedelta(seconds=n)) for n in (0, 3, 9, 10)),
            *(Filter(until=NOON + timedelta(seconds=n)) for n in (0, 3, 9, 10)),
            *(Filter(as_of=NOON + timedelta(seconds=n)) for n in (-1, 0, 1, 2, 4.999999, 5, 99)),
            Filter(since=NOON + timedelta(microseconds=1), until=NOON + timedelta(microseconds=2)),
        ):  # fmt: skip
            await _check(store, records, chosen)

    @scenario
    async def test_history_tells_every_change_and_what_came_of_it(self, store: Store) -> None:
        first = make_record("one", source="alice")
        second = revised(first, content="second")
        third = revised(second, rating=1.0)
        await store.write(ALICE, [put(first)])
        await store.write(ALICE, [put(second, action=Action.REVISED, source="bob")])
        await store.write(ALICE, [put(third, action=Action.RATED, keep_index=True)])
        await store.write(ALICE, [put(make_record("two"))])

        changes = await store.history(ALICE, "one")

        assert [(each.action, each.source, each.record) for each in changes] == [
            (Action.REMEMBERED, "alice", first),
            (Action.REVISED, "bob", second),
            (Action.RATED, "alice", third),
        ]
        assert [each.at for each in changes] == [first.updated_at, second.updated_at, third.updated_at]
        assert all(each.id == "one" for each in changes)
        assert await store.history(BOB, "one") == await store.history(ALICE, "none") == []

    @scenario
    async def test_forgetting_takes_the_texts_and_keeps_the_changes(self, store: Store) -> None:
        first = make_record("one")
        await store.write(ALICE, [put(first)])
        await store.write(ALICE, [put(revised(first, content="second"), action=Action.REVISED)])
        await store.write(ALICE, forgotten("one"))

        changes = await store.history(ALICE, "one")
        assert [each.action for each in changes] == [Action.REMEMBERED, Action.REVISED, Action.FORGOTTEN]
        assert [each.record for each in changes] == [None, None, None]
        assert changes[-1].source == "a test"

        again = make_record("one", content="another")  # the id may be reused
        await store.write(ALICE, [put(again)])
        changes = await store.history(ALICE, "one")
        assert [each.record for each in changes] == [None, None, None, again]

    @scenario
    async def test_purge_leaves_nothing_behind_one_wall_and_everything_behind_the_others(self, store: Store) -> None:
        for wall in (ALICE, BOB, SHARED):
            first = make_record("one", wall, key="k")
            await store.write(wall, [put(first), put(make_record("two", wall))])
            await store.write(wall, [put(revised(first, content="second"), action=Action.REVISED)])
        entries = await everything(store, ALICE)
        seen = await store.entries(ALICE, None, 0)
        numbers = [entry.number for entry in entries.values()]

        assert await store.purge(ALICE) == {"note": 2}
        assert await store.purge(ALICE) == {}

        assert await store.get(ALICE, ["one", "two"]) == []
        assert await store.history(ALICE, "one") == []
        assert await store.fetch(ALICE, numbers) == await store.vectors(ALICE, numbers) == {}
        assert await store.search_words(ALICE, ["about", "second"], 9) == []
        assert await everything(store, ALICE) == {}
        assert (await store.entries(ALICE, seen.generation, seen.epoch)).generation != seen.generation
        assert await store.users("acme") == {"bob": 2, None: 2}
        assert len(await store.history(BOB, "one")) == 2
        assert len(await everything(store, BOB)) == len(await store.search_words(SHARED, ["about", "second"], 9)) == 2
        await store.write(ALICE, [put(make_record("one", key="k"))])
        [entry] = (await everything(store, ALICE)).values()
        assert entry.number not in numbers

    @scenario
    async def test_the_changes_behind_each_wall_are_listed_in_order(self, store: Store) -> None:
        first, other = make_record("first"), make_record("other")
        await store.write(ALICE, [put(first), put(other)])
        await store.write(ALICE, [put(revised(first, content="new"))])
        await store.write(BOB, [put(make_record("his", BOB))])
        await store.write(BOB, forgotten("his"))
        try:
            walls = await store.walls()
        except InvalidInputError:  # a store need not list them
            return
        assert set(walls) == {ALICE, BOB}
        assert await store.log(ALICE) == ["first", "other", "first"]
        assert await store.log(BOB) == ["his", "his"]
        assert await store.log(SHARED) == []

    @scenario
    async def test_a_record_gets_other_labels_only_where_that_is_asked_for(self, store: Store) -> None:
        old = make_record("one", agent="a", session="s")
        await store.write(ALICE, [put(old)])
        new = revised(old, scope=replace(old.scope, agent="b"))
        with pytest.raises(ConflictError):
            await store.write(ALICE, [put(new)])
        await store.write(ALICE, [put(new, relabels=True, keep_index=True)])
        assert await store.get(ALICE, ["one"]) == [new]
        assert {id: entry.agent for id, entry in (await everything(store, ALICE)).items()} == {"one": "b"}
        agents = [each.record and each.record.scope.agent for each in await store.history(ALICE, "one")]
        assert agents == ["a", "b"]


async def _paged(store: Store, reach: Reach, order: Order, size: int) -> list[tuple[str | None, str]]:
    seen: list[tuple[str | None, str]] = []
    cursor = None
    while True:
        found = await store.select(reach, ALL, order=order, limit=size + 1, after=decode(cursor, order))
        page = make_page(found, size, order)
        seen += [(each.scope.user, each.id) for each in page.records]
        if (cursor := page.next) is None:
            return seen


async def _check(store: Store, records: list[Record], chosen: Filter) -> None:
    expected = sorted(record.id for record in records if chosen.matches(record, now()))
    found = await store.select(ALICE.reach, chosen, order="oldest", limit=99)
    assert sorted(ids_of(found)) == expected, chosen
    assert await store.count(ALICE.reach, chosen) == len(expected), chosen
    numbers = (await store.matching(ALICE, chosen)).tolist()
    fetched = await store.fetch(ALICE, numbers)
    assert sorted(record.id for record in fetched.values()) == expected, chosen
