"""The contract, part one: writes are atomic, and records are returned as they were written."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.errors import ClosedError, ConflictError, EmbedderMismatchError
from memorist.records.filters import Filter, make_filter
from memorist.records.origins import Author, Origin
from memorist.records.record import Action, Kind
from memorist.records.scope import Wall
from memorist.records.times import now
from memorist.stores.base import Staged, Store
from memorist.testing.contract.base import (
    ALICE,
    ALL,
    BOB,
    DIMENSIONS,
    FINGERPRINT,
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
    vector_of,
)


class WritingContract(Contract):
    """The promises of `write`, `get`, `bind`, `open` and `close`."""

    @scenario
    async def test_every_field_comes_back_as_it_was(self, store: Store) -> None:
        full = make_record(
            "full", kind=Kind.EPISODE, content="Line\nbreak, \0 NUL, 𝕌nicode 🙂 ñ, 'quote' \"and\" \\", cue="when?",
            key="a.b", agent="planner", session="s1", metadata={"": [1, 2.5, None, True, {"ä": "\0"}], "n": 2**70},
            payload={"deep": {"er": [[]]}}, source="a test", verified=True, rating=-0.25,
            happened_at=NOON - timedelta(days=9, microseconds=1), expires_at=now() + timedelta(days=1),
            origin=Origin(authors=Author.TOOL | Author.WEB, door="rest", derived_from=("a", "b c"), lost=2),
        )  # fmt: skip
        bare = make_record("bare", SHARED, content="x" * 100_000, after=0.000001)

        assert await store.write(ALICE, [put(full)]) == [True]
        assert await store.write(SHARED, [put(bare)]) == [True]

        assert await store.get(ALICE, ["full"]) == [full]
        assert await store.get(SHARED, ["bare"]) == [bare]

    @scenario
    async def test_records_come_in_the_order_asked_and_missing_ones_are_left_out(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record(id)) for id in "abc"])

        assert ids_of(await store.get(ALICE, ["c", "none", "a", "c"])) == ["c", "a"]
        assert await store.get(ALICE, []) == []

    @scenario
    async def test_a_wall_hides_what_is_behind_it(self, store: Store) -> None:
        for wall in (ALICE, BOB, SHARED, ALICE._replace(tenant="other")):
            await store.write(wall, [put(make_record("same", wall, content=f"of {wall}", key="k", kind=Kind.TOPIC))])

        for wall in (ALICE, BOB, SHARED, ALICE._replace(tenant="other")):
            [record] = await store.get(wall, ["same"])
            assert (record.content, record.scope.wall) == (f"of {wall}", wall)
        assert await store.write(ALICE, forgotten("same")) == [True]
        assert await store.get(ALICE, ["same"]) == []
        assert len(await store.get(BOB, ["same"])) == len(await store.get(SHARED, ["same"])) == 1

    @scenario
    async def test_a_batch_is_stored_whole_or_not_at_all(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record("old"))])

        with pytest.raises(ConflictError):
            await store.write(ALICE, [put(make_record("new")), *forgotten("old"), put(make_record("new"))])

        assert ids_of(await store.select(ALICE.reach, ALL, order="oldest", limit=9)) == ["old"]
        assert list(await everything(store, ALICE)) == ["old"]
        assert await store.history(ALICE, "new") == []

    @scenario
    async def test_a_version_is_expected_and_checked(self, store: Store) -> None:
        first = make_record("one")
        await store.write(ALICE, [put(first)])
        second = revised(first, content="second")

        with pytest.raises(ConflictError):  # the id is taken
            await store.write(ALICE, [put(first)])
        assert await store.write(ALICE, [put(second, action=Action.REVISED)]) == [True]
        with pytest.raises(ConflictError):  # another writer was faster
            await store.write(ALICE, [put(revised(first, content="lost"), action=Action.REVISED)])
        with pytest.raises(ConflictError):  # the record to change is gone
            await store.write(ALICE, [put(revised(make_record("gone")), action=Action.REVISED)])

        assert await store.get(ALICE, ["one"]) == [second]

    @scenario
    async def test_what_a_record_is_derived_from_must_be_there(self, store: Store) -> None:
        drawn = put(make_record("drawn"), derived_from=frozenset(("one", "other")))
        await store.write(ALICE, [put(make_record("one"))])
        await store.write(BOB, [put(make_record("other", BOB))])

        with pytest.raises(ConflictError, match="'other'"):
            await store.write(ALICE, [drawn])
        assert await store.write(ALICE, [put(make_record("other")), drawn]) == [True, True]

    @scenario
    async def test_only_the_named_version_is_removed(self, store: Store) -> None:
        first = make_record("one")
        await store.write(ALICE, [put(first)])
        [removal] = forgotten("one")

        assert await store.write(ALICE, [put(revised(first)), replace(removal, version=1)]) == [True, False]
        assert len(await store.get(ALICE, ["one"])) == 1
        assert await store.write(ALICE, [replace(removal, version=2)]) == [True]
        assert await store.get(ALICE, ["one"]) == []

    @scenario
    async def test_a_removal_that_must_happen_is_a_conflict_where_it_does_not(self, store: Store) -> None:
        first = make_record("one")
        await store.write(ALICE, [put(first), put(revised(first), action=Action.REVISED)])
        before = await store.get(ALICE, ["one"])
        for id, version in (("one", 1), ("one", 3), ("gone", None)):
            [removal] = forgotten(id)
            with pytest.raises(ConflictError, match="changed or forgotten by another writer"):
                await store.write(ALICE, [replace(removal, version=version, must=True), put(make_record("gone"))])
            assert await store.get(ALICE, ["one", "gone"]) == before
        [removal] = forgotten("one")
        with pytest.raises(ConflictError):
            await store.write(BOB, [replace(removal, must=True)])  # nothing is behind this wall
        assert await store.write(ALICE, [replace(removal, version=2, must=True)]) == [True]

    @scenario
    async def test_an_id_of_another_label_is_a_conflict_and_never_replaced(self, store: Store) -> None:
        mine = make_record("one", agent="mine", session="s1")
        await store.write(ALICE, [put(mine)])

        for agent, session in ((None, None), ("mine", None), ("other", "s1"), ("mine", "s2")):
            theirs = replace(mine, scope=replace(mine.scope, agent=agent, session=session), content="theirs")
            with pytest.raises(ConflictError, match="taken"):
                await store.write(ALICE, [put(theirs)])
            with pytest.raises(ConflictError, match="another agent or session"):
                await store.write(ALICE, [put(revised(theirs))])

        assert await store.get(ALICE, ["one"]) == [mine]

    @scenario
    async def test_a_batch_may_change_what_it_stored(self, store: Store) -> None:
        first = make_record("one")
        second = revised(first, content="second")

        assert await store.write(ALICE, [put(first), put(second), *forgotten("none")]) == [True, True, False]

        assert await store.get(ALICE, ["one"]) == [second]

    @scenario
    async def test_a_key_is_unique_among_current_records_of_a_kind(self, store: Store) -> None:
        holder = make_record("holder", key="k")
        await store.write(ALICE, [put(holder)])

        with pytest.raises(ConflictError):
            await store.write(ALICE, [put(make_record("second", key="k"))])
        await store.write(ALICE, [put(make_record("other kind", key="k", kind=Kind.TOPIC))])
        await store.write(BOB, [put(make_record("other wall", BOB, key="k"))])
        ended = revised(holder, superseded_by="next", superseded_at=NOON)
        await store.write(ALICE, [put(ended, keep_index=True), put(make_record("next", key="k"))])

        found = await store.select(ALICE.reach, Filter(key="k"), order="key", limit=9)
        assert sorted(ids_of(found)) == ["next", "other kind"]
        await store.write(ALICE, forgotten("next"))
        await store.write(ALICE, [put(make_record("again", key="k"))])

    @scenario
    async def test_an_expired_record_is_as_good_as_gone(self, store: Store) -> None:
        over = make_record("over", key="k", kind=Kind.TOPIC, expires_at=now() - timedelta(seconds=1))
        noted = make_record("noted", expires_at=now() - timedelta(seconds=1))
        await store.write(ALICE, [put(over), put(noted)])
        numbers = [entry.number for entry in (await everything(store, ALICE)).values()]

        assert await store.get(ALICE, ["over", "noted"]) == []
        assert await store.fetch(ALICE, numbers) == {}
        assert await store.select(ALICE.reach, ALL, order="oldest", limit=9) == []
        assert await store.count(ALICE.reach, ALL) == 0
        unswept = Filter(superseded=True, expired=True)
        assert await store.count(ALICE.reach, unswept) == 2
        assert set(ids_of(await store.select(ALICE.reach, unswept, order="oldest", limit=9))) == {"over", "noted"}
        assert await store.users("acme") == {}
        assert (await store.matching(ALICE, ALL)).tolist() == []
        assert [change.record for change in await store.history(ALICE, "over")] == [None]
        assert await store.write(ALICE, forgotten("over")) == [False]
        # Its id and its key are free again.
        await store.write(ALICE, [put(make_record("new", key="k", kind=Kind.TOPIC)), put(make_record("noted"))])
        assert ids_of(await store.get(ALICE, ["new", "noted"])) == ["new", "noted"]

    @scenario
    async def test_sweep_takes_expired_records_out_for_real(self, store: Store) -> None:
        soon = now() + timedelta(hours=1)
        await store.write(ALICE, [put(make_record("a", expires_at=soon)), put(make_record("b"))])
        await store.write(BOB, [put(make_record("c", BOB, expires_at=soon))])
        longer = Wall(f"{ALICE.tenant}2", ALICE.user)
        await store.write(longer, [put(make_record("d", longer, expires_at=soon))])

        assert await store.sweep(now()) == 0
        assert await store.sweep(soon, longer.tenant) == 1
        assert await store.sweep(soon, longer.tenant) == 0
        assert await store.sweep(soon) == 2
        assert await store.sweep(soon) == 0

        assert list(await everything(store, ALICE)) == ["b"]
        actions = [(change.action, change.record) for change in await store.history(BOB, "c")]
        assert actions == [(Action.REMEMBERED, None), (Action.EXPIRED, None)]

    @scenario
    async def test_a_record_goes_with_what_it_quotes(self, store: Store) -> None:
        soon = now() + timedelta(hours=1)
        for how in ("write", "remove", "revise", "sweep", "purge"):
            alice, bob, shared = Wall(how, "alice"), Wall(how, "bob"), Wall(how, None)
            notes, of_bob = Wall(f"notes of {how}", "alice"), Wall(f"notes of {how}", "bob")
            for wall, ids in ((alice, ("gone", "stays")), (shared, ("gone",)), (bob, ("gone",))):
                await store.write(wall, [put(make_record(id, wall, expires_at=soon)) for id in ids])
            for wall, id, quotes in (
                (notes, "both", [(alice, "gone"), (shared, "gone")]), (notes, "other", [(alice, "stays")]),
                (of_bob, "theirs", [(shared, "gone")]), (notes, "none", []), (notes, "chained", [(notes, "both")]),
            ):  # fmt: skip
                await store.write(wall, [put(make_record(id, wall), quotes=frozenset(quotes))])
            with pytest.raises(ConflictError):
                await store.write(notes, [put(make_record("late", notes), quotes=frozenset([(alice, "never")]))])
            swept = purged = False
            match how:
                case "write":
                    await store.write(alice, forgotten("gone"))
                case "remove":
                    assert await store.remove(alice, make_filter(ids=["gone"], superseded=True), at=now()) == 1
                case "revise":
                    [old] = await store.get(alice, ["gone"])
                    new = replace(old, version=2, expires_at=soon + timedelta(hours=1))
                    await store.write(alice, [put(new, action=Action.REVISED, expected=1)])
                case "sweep":
                    swept = await store.sweep(soon, how) == 4
                case "purge":
                    purged = bool(await store.purge(alice))
            left = {"none"} if swept or purged else {"other", "none"}
            assert set(await everything(store, notes)) == left
            assert set(await everything(store, of_bob)) == (set() if swept else {"theirs"})
            await store.remove(shared, make_filter(ids=["gone"], superseded=True), at=now())
            assert await everything(store, of_bob) == {}
            assert set(await everything(store, notes)) == left

    @scenario
    async def test_what_passes_a_filter_is_removed_with_its_texts(self, store: Store) -> None:
        records = [make_record(f"{n}", metadata={"n": n % 2}, session=f"s{n % 3}") for n in range(2500)]
        await store.write(ALICE, [put(record) for record in records])
        await store.write(ALICE, [put(revised(records[1], content="second"), action=Action.REVISED)])
        await store.write(ALICE, [put(make_record("over", metadata={"n": 1}, expires_at=NOON))])
        await store.write(BOB, [put(make_record("1", BOB, metadata={"n": 1}))])

        odd, moment = make_filter(where={"n": 1}, superseded=True), now()
        assert await store.remove(ALICE, odd, at=moment, source="a test") == 1250
        assert await store.remove(ALICE, odd, at=moment) == 0
        assert await store.remove(ALICE._replace(tenant="none"), odd, at=moment) == 0

        assert await store.count(ALICE.reach, ALL) == 1250
        assert await store.count(ALICE.reach, odd) == 0
        assert len(await everything(store, ALICE)) == 1250 + 1  # the expired one is swept, not forgotten
        assert ids_of(await store.get(BOB, ["1"])) == ["1"]
        last = (await store.history(ALICE, "1"))[-1]
        assert [change.record for change in await store.history(ALICE, "1")] == [None, None, None]
        assert (last.action, last.at, last.source) == (Action.FORGOTTEN, moment, "a test")
        assert len(await store.search_words(ALICE, ["about"], 9999)) == 1250 + 1

    @scenario
    async def test_callers_on_several_loops_in_several_threads(self, store: Store) -> None:
        failures: list[BaseException] = []

        async def use(name: str) -> None:
            await asyncio.gather(*(store.write(ALICE, [put(make_record(f"{name}.{n}"))]) for n in range(10)))
            assert await store.count(ALICE.reach, ALL) >= 10

        def thread(name: str) -> None:
            try:
                asyncio.run(use(name))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=thread, args=(name,)) for name in "abcd"]
        for each in threads:
            each.start()
        await use("here")
        for each in threads:
            await asyncio.to_thread(each.join)

        assert failures == []
        assert await store.count(ALICE.reach, ALL) == 50

    @scenario
    async def test_of_writes_made_at_once_a_wrong_one_fails_alone(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record("taken"))])
        for wrong in (["taken"], ["half", "taken"]):  # at once, and after it has changed something
            names = [wrong if n == 7 else [f"{len(wrong)}.{n}"] for n in range(20)]
            writes = [store.write(ALICE, [put(make_record(id)) for id in some]) for some in names]

            outcomes = await asyncio.gather(*writes, return_exceptions=True)

            assert [n for n, outcome in enumerate(outcomes) if outcome != [True]] == [7]
            assert isinstance(outcomes[7], ConflictError)
        assert await store.count(ALICE.reach, ALL) == 39

    @scenario
    async def test_of_changes_made_at_once_one_wins(self, store: Store) -> None:
        first = make_record("one")
        await store.write(ALICE, [put(first)])
        changes = [store.write(ALICE, [put(revised(first, content=f"by {n}"))]) for n in range(10)]

        outcomes = await asyncio.gather(*changes, return_exceptions=True)

        assert sum(outcome == [True] for outcome in outcomes) == 1
        assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 9

    @scenario
    async def test_a_cancelled_caller_harms_no_other(self, store: Store) -> None:
        tasks = [asyncio.create_task(store.write(ALICE, [put(make_record(f"n{n}"))])) for n in range(40)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()

        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert all(outcome == [True] for outcome in outcomes[1::2])
        stored = set(ids_of(await store.get(ALICE, [f"n{n}" for n in range(40)])))
        assert stored >= {f"n{n}" for n in range(1, 40, 2)}
        assert await store.write(ALICE, [put(make_record("after"))]) == [True]

    @scenario
    async def test_the_first_embedder_binds_the_store(self, store: Store) -> None:
        assert await store.fingerprint() == FINGERPRINT
        await store.bind(FINGERPRINT, DIMENSIONS)
        with pytest.raises(EmbedderMismatchError, match="another-v1"):
            await store.bind("another-v1", DIMENSIONS)
        assert await store.fingerprint() == FINGERPRINT
        assert await store.dimensions() in (None, DIMENSIONS)

    @scenario
    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record("a"))])
        await store.close()
        await store.close()

        for call in (
            store.write(ALICE, [put(make_record("b"))]), store.get(ALICE, ["a"]), store.fetch(ALICE, [1]),
            store.select(ALICE.reach, ALL, order="oldest", limit=1), store.count(ALICE.reach, ALL),
            store.users("acme"), store.history(ALICE, "a"), store.entries(ALICE, None, 0), store.matching(ALICE, ALL),
            store.vectors(ALICE, [1]), store.search_words(ALICE, ["a"], 1), store.sweep(now()), store.purge(ALICE),
            store.remove(ALICE, ALL, at=now()),
            store.fingerprint(), store.bind("new-v1", 3), store.to_reembed("new-v1", 1),
            store.left_to_reembed("new-v1"), store.stage("new-v1", [Staged(ALICE, 1, 1, vector_of("a"), "a")]),
            store.adopt("new-v1", 3), store.unembedded(1), store.count_unembedded(), store.fill("new-v1", []),
        ):  # fmt: skip
            with pytest.raises(ClosedError):
                await call

    @scenario
    async def test_everything_is_there_when_opened_again(self, store: Store) -> None:
        other = await self.another(store)
        if other is None:
            return
        first = make_record("one", key="k")
        await store.write(ALICE, [put(first)])
        await store.write(ALICE, [put(revised(first, content="second"), action=Action.REVISED)])
        before = await store.history(ALICE, "one"), await everything(store, ALICE)
        await store.close()

        await other.open()
        try:
            after = await other.history(ALICE, "one"), await everything(other, ALICE)
            assert after[0] == before[0]
            assert list(after[1]) == list(before[1])
            assert await other.fingerprint() == FINGERPRINT
        finally:
            await other.close()

    @scenario
    async def test_two_stores_on_the_same_data_see_each_other(self, store: Store) -> None:
        other = await self.another(store)
        if other is None:
            return
        await other.open()
        try:
            await other.bind(FINGERPRINT, DIMENSIONS)
            seen = await store.entries(ALICE, None, 0)
            await other.write(ALICE, [put(make_record("theirs"))])
            news = await store.entries(ALICE, seen.generation, seen.epoch)
            if news.generation != seen.generation:  # the first record behind a wall may begin a generation
                news = await store.entries(ALICE, news.generation, 0)
            assert [entry.id for entry in news.entries] == ["theirs"]
            with pytest.raises(ConflictError):
                await store.write(ALICE, [put(make_record("theirs"))])
            outcomes = await asyncio.gather(
                *(each.write(ALICE, [put(make_record(f"{n}"))]) for n in range(20) for each in (store, other)),
                return_exceptions=True,
            )
            assert sum(outcome == [True] for outcome in outcomes) == 20
        finally:
            await other.close()
