"""The contract, part three: the reads of ranking, following changes, and reindexing."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from memorist.errors import EmbedderMismatchError, InvalidInputError
from memorist.records.record import Action, Kind, Record
from memorist.records.times import to_micros
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
    make_record,
    put,
    revised,
    scenario,
    vector_of,
)

NEXT = "next-v1"


class RankingContract(Contract):
    """The promises of `entries`, `fetch`, `vectors`, `search_words`, reindexing and `backup`."""

    @scenario
    async def test_an_entry_has_what_ranking_needs(self, store: Store) -> None:
        record = make_record(
            "one", kind=Kind.MESSAGE, agent="planner", session="s1", payload={"speaker": "Ann"}, rating=0.5,
            happened_at=NOON - timedelta(days=1), expires_at=NOON + timedelta(days=99_999),
            superseded_by="two", superseded_at=NOON + timedelta(seconds=1), content="Tea with Ann",
        )  # fmt: skip
        await store.write(ALICE, [put(record, marks=frozenset({"tells", "day:-1"})), put(make_record("bare"))])

        found = await everything(store, ALICE)

        entry = found["one"]
        assert entry[1:6] == ("one", Kind.MESSAGE, "planner", "s1", "Ann")
        assert entry.at == to_micros(NOON - timedelta(days=1))
        assert entry.expires_at == to_micros(NOON + timedelta(days=99_999))
        assert entry.superseded_at == to_micros(NOON + timedelta(seconds=1))
        assert (entry.rating, entry.terms, entry.marks) == (0.5, "tea with ann", frozenset({"tells", "day:-1"}))
        assert entry.vector is not None
        assert np.allclose(entry.vector, vector_of("Tea with Ann"))
        bare = found["bare"]
        assert bare.marks == frozenset()
        assert bare[3:6] + bare[7:10] == (None,) * 6
        assert bare.number > entry.number

    @scenario
    async def test_entries_come_once_and_again_when_they_change(self, store: Store) -> None:
        first, topic = make_record("one"), make_record("topic", kind=Kind.TOPIC, key="k")
        await store.write(ALICE, [put(first), put(make_record("two")), put(topic)])
        await store.write(BOB, [put(make_record("bobs", BOB))])
        start = await store.entries(ALICE, None, 0)
        assert [entry.id for entry in start.entries] == ["one", "two"]
        numbers = {entry.id: entry.number for entry in start.entries}

        none = await store.entries(ALICE, start.generation, start.epoch)
        assert (none.entries, none.gone, none.more) == ([], [], False)

        await store.write(
            ALICE, [put(revised(first, content="new words")), *forgotten("two"), put(make_record("three"))]
        )
        news = await store.entries(ALICE, none.generation, none.epoch)
        terms = {entry.id: entry.terms for entry in news.entries}
        assert len(news.entries) == 2 and terms == {"one": "new words", "three": "about three"}
        assert next(entry.number for entry in news.entries if entry.id == "one") == numbers["one"]
        assert numbers["two"] in news.gone
        assert news.generation == start.generation

        void = await store.entries(ALICE, "another generation", news.epoch)
        assert {entry.id for entry in void.entries} == {"one", "three"}

    @scenario
    async def test_an_index_that_is_kept_stays_as_it_is(self, store: Store) -> None:
        record = make_record("one")
        await store.write(ALICE, [put(record, marks=frozenset({"asks"}))])
        await store.write(ALICE, [put(revised(record, rating=1.0), action=Action.RATED, keep_index=True)])

        [entry] = (await everything(store, ALICE)).values()

        assert (entry.rating, entry.terms, entry.marks) == (1.0, "about one", frozenset({"asks"}))
        assert entry.vector is not None
        assert np.allclose(entry.vector, vector_of("about one"))
        assert len(await store.search_words(ALICE, ["one"], 9)) == 1

    @scenario
    async def test_what_recall_must_no_longer_find_is_gone_from_the_entries(self, store: Store) -> None:
        note = make_record("one", key="k")
        await store.write(ALICE, [put(note)])
        start = await store.entries(ALICE, None, 0)
        await store.write(ALICE, [put(revised(note, kind=Kind.TOPIC))])

        news = await store.entries(ALICE, start.generation, start.epoch)

        assert (news.entries, news.gone) == ([], [start.entries[0].number])
        assert await everything(store, ALICE) == {}
        assert await store.search_words(ALICE, ["one"], 9) == []

    @scenario
    async def test_many_entries_come_in_several_goes(self, store: Store) -> None:
        for start in range(0, 4500, 1500):
            await store.write(ALICE, [put(make_record(f"{n}", content=f"n{n}")) for n in range(start, start + 1500)])
        first = await store.entries(ALICE, None, 0)
        assert len(await everything(store, ALICE)) == 4500

        # Whatever happens between two goes, the end is the same.
        await store.write(ALICE, [*forgotten("0", "4499"), put(revised(make_record("1"), content="changed"))])
        found = await everything(store, ALICE, first)
        assert len(found) == 4498
        assert found["1"].terms == "changed"

    @scenario
    async def test_numbers_stand_for_records_behind_their_wall_alone(self, store: Store) -> None:
        record = make_record("one")
        await store.write(ALICE, [put(record)])
        [entry] = (await everything(store, ALICE)).values()

        assert await store.fetch(ALICE, [entry.number, entry.number + 99, -1]) == {entry.number: record}
        found = await store.vectors(ALICE, [entry.number, entry.number + 99])
        assert list(found) == [entry.number]
        assert np.allclose(found[entry.number], vector_of("about one"))
        assert await store.fetch(BOB, [entry.number]) == await store.vectors(BOB, [entry.number]) == {}
        assert await store.fetch(ALICE, []) == await store.vectors(ALICE, []) == {}

    @scenario
    async def test_words_are_searched_behind_one_wall(self, store: Store) -> None:
        texts = {"a": "tea tea tea", "b": "tea and milk", "c": "milk", "d": "äöü 日本 o'clock n-1 \u200d 🙂"}
        await store.write(ALICE, [put(make_record(id, content=text)) for id, text in texts.items()])
        await store.write(BOB, [put(make_record("bobs", BOB, content="tea"))])
        ids = {entry.number: id for id, entry in (await everything(store, ALICE)).items()}

        async def search(*terms: str, limit: int = 9) -> list[str]:
            found = await store.search_words(ALICE, terms, limit)
            scores = [score for _, score in found]
            assert scores == sorted(scores, reverse=True)
            return [ids[number] for number, _ in found]

        assert set(await search("tea")) == {"a", "b"}
        assert set(await search("tea", "milk")) == {"a", "b", "c"}
        assert len(await search("tea", "milk", limit=2)) == 2
        assert await search("日本") == await search("äöü") == ["d"]
        assert await search("aou") == await search() == await search("none") == []
        assert await search('"', "*", "tea OR milk", "NOT", "terms:tea", "(", "wall", "p1") == []
        assert set(await search(*(f"w{n}" for n in range(2000)), "tea", "tea")) == {"a", "b"}
        await store.write(ALICE, forgotten("a"))
        assert await search("tea") == ["b"]

    @scenario
    async def test_what_is_stored_without_a_vector_gets_one_later(self, store: Store) -> None:
        bare = replace(put(make_record("a")), vector=None)
        await store.write(ALICE, [bare, put(make_record("b")), put(make_record("t", kind=Kind.TOPIC))])
        await store.write(SHARED, [replace(put(make_record("c", SHARED)), vector=None)])
        assert await store.count_unembedded() == 2
        assert (await everything(store, ALICE))["a"].vector is None
        before = await store.entries(ALICE, None, 0)
        rows = await store.unembedded(9)
        assert sorted(record.id for _, _, record in rows) == ["a", "c"] and len(await store.unembedded(1)) == 1
        await store.write(SHARED, forgotten("c"))
        filled = [Staged(each.scope.wall, number, version, vector_of("a"), "") for number, version, each in rows]
        await store.fill(FINGERPRINT, filled)
        assert await store.count_unembedded() == 0 and await store.unembedded(9) == []
        assert (await store.entries(ALICE, before.generation, before.epoch)).generation != before.generation
        entry = (await everything(store, ALICE))["a"]
        assert entry.vector is not None and entry.terms == bare.terms
        with pytest.raises(EmbedderMismatchError):
            await store.fill(NEXT, [])

    @scenario
    async def test_new_vectors_are_put_aside_and_then_in_force_at_once(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record("a")), put(make_record("b")), put(make_record("t", kind=Kind.TOPIC))])
        await store.write(SHARED, [put(make_record("c", SHARED))])
        before = await store.entries(ALICE, None, 0)
        assert await store.left_to_reembed(NEXT) == 3

        rows = await store.to_reembed(NEXT, 2)
        assert len(rows) == 2
        await store.stage(NEXT, [_staged(*row, "new") for row in rows])
        assert await store.left_to_reembed(NEXT) == 1
        assert await store.adopt(NEXT, 3) is False
        assert await store.fingerprint() == FINGERPRINT
        assert (await store.entries(ALICE, before.generation, before.epoch)).entries == []

        [(number, version, record)] = await store.to_reembed(NEXT, 2)  # what was staged is not asked for again
        await store.stage(NEXT, [_staged(number, version, record, "new")])
        assert await store.to_reembed(NEXT, 2) == []
        assert await store.adopt(NEXT, 3) is True

        assert await store.fingerprint() == NEXT
        assert (await store.entries(ALICE, before.generation, before.epoch)).generation != before.generation
        found = {**await everything(store, ALICE), **await everything(store, SHARED)}
        assert {id: entry.terms for id, entry in found.items()} == {"a": "new a", "b": "new b", "c": "new c"}
        for id, entry in found.items():
            assert entry.vector is not None
            assert np.allclose(entry.vector, vector_of(f"about {id}", 3))
        assert len(await store.search_words(ALICE, ["new"], 9)) == 2
        assert await store.search_words(ALICE, ["about"], 9) == []
        new = make_record("later")
        await store.write(ALICE, [put(new, vector=vector_of("later", 3))])

    @scenario
    async def test_what_changed_during_a_reindex_is_embedded_again(self, store: Store) -> None:
        one, two = make_record("one"), make_record("two")
        await store.write(ALICE, [put(one), put(two)])
        rows = await store.to_reembed(NEXT, 9)
        await store.write(ALICE, [put(revised(one, content="changed")), *forgotten("two"), put(make_record("three"))])
        await store.stage(NEXT, [_staged(*row, "old") for row in rows])

        assert await store.adopt(NEXT, 3) is False
        texts: list[str] = []
        while rows := await store.to_reembed(NEXT, 9):
            texts += [record.text for _, _, record in rows]
            await store.stage(NEXT, [_staged(*row, "new") for row in rows])
        assert sorted(texts) == ["about three", "changed"]
        assert await store.adopt(NEXT, 3) is True
        found = await everything(store, ALICE)
        assert {id: entry.terms for id, entry in found.items()} == {"one": "new one", "three": "new three"}

    @scenario
    async def test_a_reindex_for_another_embedder_begins_anew(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record("one"))])
        [(number, version, record)] = await store.to_reembed(NEXT, 9)
        await store.stage(NEXT, [_staged(number, version, record, "next")])

        assert await store.left_to_reembed("third-v1") == 1
        assert len(await store.to_reembed("third-v1", 9)) == 1
        assert await store.adopt("third-v1", 3) is False
        assert await store.left_to_reembed(NEXT) == 1

    @scenario
    async def test_who_writes_old_vectors_after_a_reindex_is_told(self, store: Store) -> None:
        other = await self.another(store)
        if other is None:
            return
        await other.open()
        try:
            assert await other.adopt(NEXT, DIMENSIONS) is True
            with pytest.raises(EmbedderMismatchError, match=NEXT):
                await store.write(ALICE, [put(make_record("one"))])
            await store.write(ALICE, [put(make_record("topic", kind=Kind.TOPIC, key="k"))])  # has no vector
        finally:
            await other.close()

    @scenario
    async def test_a_backup_is_consistent_while_in_use(self, store: Store) -> None:
        await store.write(ALICE, [put(make_record(f"{n}")) for n in range(50)])
        with TemporaryDirectory() as folder:
            target = Path(folder) / "copy [1] of it.db"
            bystander = target.with_name(target.name + ".part of something else")
            bystander.write_text("mine")

            async def write_on() -> None:
                for n in range(50, 100):
                    await store.write(ALICE, [put(make_record(f"{n}"))])

            await asyncio.gather(store.backup(target), write_on())

            assert target.stat().st_size > 0
            assert sorted(Path(folder).iterdir()) == [target, bystander]
            with pytest.raises(InvalidInputError, match="exists"):
                await store.backup(target)
            assert sorted(Path(folder).iterdir()) == [target, bystander]
        assert await store.count(ALICE.reach, ALL) == 100


def _staged(number: int, version: int, record: Record, word: str) -> Staged:
    """Return the next vector of a record, of three dimensions, with terms that tell it from the old."""
    return Staged(record.scope.wall, number, version, vector_of(record.text, 3), f"{word} {record.id}")
