"""The rules of a write, on a plain book of records; and that the stores carry them out to the letter."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.config import Settings
from memorist.errors import ConflictError
from memorist.records.record import Action, Kind, Record
from memorist.records.scope import Reach
from memorist.records.times import now, to_micros
from memorist.stores import Store, open_store
from memorist.stores.base import Put, Remove, Write
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.stores.rules import Stored, check_put, check_remove, check_sources, handle_of
from memorist.testing.contract.base import ALICE, ALL, DIMENSIONS, FINGERPRINT, NOON, make_record

if TYPE_CHECKING:
    from postgres_server import Server

RECORDS = st.builds(
    lambda id, key, kind, session, superseded, over, version: replace(
        make_record(
            id, key=key, kind=kind, session=session, superseded_by="next" if superseded else None,
            superseded_at=NOON if superseded else None, expires_at=NOON if over else None,
        ),
        version=version,
    ),
    st.sampled_from("abc"), st.sampled_from([None, "k", "l"]), st.sampled_from([Kind.NOTE, Kind.TOPIC]),
    st.sampled_from([None, None, "s"]), st.sampled_from([False, False, True]), st.sampled_from([False, False, True]),
    st.integers(1, 3),
)  # fmt: skip
PUTS = st.builds(
    lambda record, sources: Put(record, expected=record.version - 1, derived_from=frozenset(sources)),
    RECORDS,
    st.sampled_from(["", "", "b", "bc"]),
)
VERSIONS = st.sampled_from([None, None, 1, 2])
REMOVES = st.builds(Remove, st.sampled_from("abc"), st.just(Action.FORGOTTEN), st.just(NOON), version=VERSIONS)
CALLS = st.lists(st.lists(PUTS | PUTS | REMOVES, min_size=1, max_size=3), max_size=12)


class Book:
    """Records in a dict, written to by the rules alone."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def write(self, writes: list[Write]) -> list[bool]:
        before = dict(self.records)
        try:
            return [self.put(each) if isinstance(each, Put) else self.remove(each) for each in writes]
        except ConflictError:
            self.records = before
            raise

    def put(self, write: Put) -> bool:
        record, handle = write.record, handle_of(write.record)
        holders = [each for each in self.records.values() if handle is not None and handle_of(each) == handle]
        assert len(holders) <= 1
        check_sources(write, map(self.stored, write.derived_from), now())
        same, expired = check_put(write, self.stored(record.id), self.stored(*(each.id for each in holders)), now())
        old = self.records.get(record.id)
        if same is not None:
            assert old is not None
            assert (record.version, record.scope) == (old.version + 1, old.scope)
        else:
            assert old is None or old.id in {each.id for each in expired}
        for each in expired:
            assert each.expires_at is not None
            del self.records[each.id]
        self.records[record.id] = record
        taken = Counter(handle_of(each) for each in self.records.values())
        assert all(count == 1 for handle, count in taken.items() if handle is not None)
        return True

    def remove(self, write: Remove) -> bool:
        stored = self.stored(write.id)
        if stored is None:
            return False
        if (noted := check_remove(write, stored, now())) is None:
            assert write.version not in (None, stored.version)
            return False
        assert (noted.action is Action.EXPIRED) is (noted is not write)
        del self.records[write.id]
        return noted is write

    def stored(self, id: str | None = None) -> Stored | None:
        record = self.records.get(id or "")
        if record is None:
            return None
        over = None if record.expires_at is None else to_micros(record.expires_at)
        return Stored(0, record.id, record.version, over, record.scope.agent, record.scope.session)


async def agree(store: Store, calls: list[list[Write]]) -> None:
    """Make the calls on a store and on a book, and compare their answers and what is left."""
    book = Book()
    await store.open()
    try:
        await store.bind(FINGERPRINT, DIMENSIONS)
        for writes in calls:
            try:
                expected = book.write(writes)
            except ConflictError as error:
                with pytest.raises(ConflictError) as raised:
                    await store.write(ALICE, writes)
                assert str(raised.value) == str(error)
            else:
                assert await store.write(ALICE, writes) == expected
            alive = [each for each in book.records.values() if each.expires_at is None]
            found = await store.select(Reach("acme", ("alice",)), ALL, order="oldest", limit=99)
            assert sorted(found, key=lambda each: each.id) == sorted(alive, key=lambda each: each.id)
        await store.sweep(now())
        assert all(each.expires_at is None for each in await store.get(ALICE, list("abc")))
    finally:
        await store.close()


@given(CALLS)
@settings(max_examples=150)
def test_sqlite_does_what_the_rules_say(calls: list[list[Write]]) -> None:
    asyncio.run(agree(open_store(Settings(url=":memory:")), calls))


@pytest.mark.postgres
def test_postgres_does_what_the_rules_say(server: "Server") -> None:
    @given(CALLS)
    @settings(max_examples=10)
    def run(calls: list[list[Write]]) -> None:
        asyncio.run(agree(PostgresStore(parse_url(server.new_url(partitions=0, pool_size=1))), calls))

    run()


@given(PUTS, st.integers(0, 4), st.sampled_from([None, "s"]), st.booleans(), st.booleans())
def test_a_put_is_let_through_only_where_nothing_stands_in_its_way(
    write: Put, version: int, session: str | None, over: bool, held: bool
) -> None:
    moment = NOON + timedelta(days=1)
    expires_at = to_micros(NOON) if over else None
    same = Stored(1, write.record.id, version, expires_at, None, session) if version else None
    holder = Stored(2, "holder", 1, expires_at, None, None) if held and handle_of(write.record) else None
    stands = 0 if over else version
    free = stands == write.expected and (over or holder is None)
    free = free and (not stands or session == write.record.scope.session)
    try:
        old, expired = check_put(write, same, holder, moment)
    except ConflictError:
        assert not free
    else:
        assert free
        assert old == (None if over else same)
        assert expired == ([each for each in (same, holder) if each is not None] if over else [])
