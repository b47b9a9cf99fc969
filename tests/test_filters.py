import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.config import Settings
from memorist.errors import InvalidInputError
from memorist.records.filters import Filter, holds, make_filter, parse_where
from memorist.records.record import Kind, Record, check_fields
from memorist.records.scope import Scope
from memorist.records.times import now
from memorist.stores import open_store
from memorist.testing.contract.base import ALICE, NOON, WRITTEN, make_record, put

# Few names and values, so that conditions meet what they ask for; odd ones, so that they do it everywhere.
NAMES = st.sampled_from(["a", "b", "a b", "ä", 'q"', "back\\slash", "\x01", "0", "$", "'"])
ODD = [
    0,
    1,
    -1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    10**400,
    0.1,
    0.1 + 0.2,
    5e-324,
    1e308,
    -0.0,
]
NUMBERS = st.sampled_from(ODD) | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.sampled_from(["", "a", "A", "ä", "\0", "a\0b", "1", "true", "null", "🙂", "\uffff", '"', "\\", "Infinity"])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
FIELDS = st.dictionaries(NAMES, VALUES, max_size=4)
PATHS = st.lists(NAMES.filter(lambda name: not name.startswith("$")), min_size=1, max_size=2).map(".".join)
ORDERED = TEXTS | NUMBERS.filter(lambda n: not isinstance(n, int) or -(2**63) <= n < 2**63) | st.just(float("inf"))
OPERANDS = ORDERED | st.none() | st.booleans()
TESTS = (
    OPERANDS
    | st.builds(lambda name, operand: {name: operand}, st.sampled_from(["$eq", "$ne"]), OPERANDS)
    | st.builds(lambda name, operand: {name: operand}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ORDERED)
    | st.builds(lambda name, each: {name: each}, st.sampled_from(["$in", "$nin"]), st.lists(OPERANDS, max_size=4))
    | st.booleans().map(lambda there: {"$exists": there})
)
WHERES = st.recursive(
    st.dictionaries(PATHS, TESTS, max_size=2),
    lambda inner: (
        st.builds(lambda name, each: {name: each}, st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=3))
        | inner.map(lambda each: {"$not": each})
    ),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(FIELDS, max_size=6), st.lists(WHERES, min_size=1, max_size=8))
def test_the_store_and_python_agree_on_every_condition(fields: list[dict[str, Any]], wheres: list[Any]) -> None:
    records = [make_record(f"n{n}", metadata=each, payload=each) for n, each in enumerate(fields)]
    asyncio.run(check(records, [make_filter(**{name: each}) for each in wheres for name in ("where", "payload")]))


TIMES = st.integers(-2, 4).map(lambda n: NOON + timedelta(seconds=n))
MAYBE_TIMES = st.none() | TIMES
LABELS = st.sampled_from([None, "x", "X", "ä"])
KEYS = st.sampled_from([None, "a", "a.b", "a%", "A", "ä.b", "🙂k"])


@st.composite
def records(draw: st.DrawFn, id: str) -> Record:
    ended = draw(MAYBE_TIMES)
    record = make_record(
        id, kind=draw(st.sampled_from([Kind.NOTE, Kind.MESSAGE, Kind.TOPIC])), agent=draw(LABELS),
        session=draw(LABELS), created_at=draw(TIMES), happened_at=draw(MAYBE_TIMES), verified=draw(st.booleans()),
        expires_at=draw(st.sampled_from([None, NOON, now() + timedelta(days=1)])),
        superseded_at=ended, superseded_by=None if ended is None else "next",
    )  # fmt: skip
    key = draw(KEYS)
    return replace(record, key=key if key is None or ended is not None else f"{key}/{id}")


FILTERS = st.builds(
    Filter, ids=st.none() | st.frozensets(st.sampled_from(["n0", "n1", "N2", "n3"])),
    kinds=st.none() | st.frozensets(st.sampled_from(list(Kind)[:3])), agent=LABELS, session=LABELS, since=MAYBE_TIMES,
    until=MAYBE_TIMES, key=KEYS, key_prefix=st.sampled_from([None, None, "", "a", "a.", "%", "ä", "🙂"]),
    superseded=st.booleans(), as_of=MAYBE_TIMES, verified=st.none() | st.booleans(),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=75)
@given(st.tuples(*(records(f"n{n}") for n in range(5))), st.lists(FILTERS, min_size=1, max_size=10))
def test_the_store_and_python_agree_on_every_part_of_a_filter(
    stored: tuple[Record, ...], filters: list[Filter]
) -> None:
    asyncio.run(check(list(stored), filters))


async def check(stored: list[Record], filters: list[Filter]) -> None:
    store = open_store(Settings(url=":memory:"))
    await store.open()
    try:
        await store.write(ALICE, [put(record, vector=None) for record in stored])
        for each in filters:
            expected = sorted(record.id for record in stored if each.matches(record, now()))
            found = await store.select(ALICE.reach, each, order="oldest", limit=99)
            assert sorted(record.id for record in found) == expected, each
            assert await store.count(ALICE.reach, each) == len(await store.matching(ALICE, each)) == len(expected)
    finally:
        await store.close()


def where(condition: dict[str, Any], fields: dict[str, Any]) -> bool:
    record = Record(
        id="x", kind=Kind.NOTE, scope=Scope(), content="x", metadata=fields,
        origin=WRITTEN, created_at=datetime(2024, 1, 1, tzinfo=UTC), updated_at=datetime(2024, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    return holds(parse_where(condition), check_fields(record)["metadata"])


def test_a_plain_value_means_equal_to_it_or_in_the_list() -> None:
    assert where({"city": "Oslo"}, {"city": "Oslo"})
    assert where({"tags": "vip"}, {"tags": ["new", "vip"]})
    assert not where({"city": "oslo"}, {"city": "Oslo"})
    assert not where({"city": "Oslo"}, {})


def test_values_of_different_sorts_are_never_equal_nor_ordered() -> None:
    assert where({"n": 1}, {"n": 1.0})
    assert not where({"n": 1}, {"n": True})
    assert not where({"n": 1}, {"n": "1"})
    assert not where({"n": {"$gt": 0}}, {"n": "1"})
    assert not where({"n": 0}, {"n": None})


def test_nothing_is_only_what_is_said_to_be_nothing() -> None:
    assert where({"n": None}, {"n": None})
    assert not where({"n": None}, {})
    assert where({"n": {"$exists": False}}, {})
    assert where({"n": {"$exists": True}}, {"n": None})
    assert where({"n": {"$ne": 1}}, {})


def test_conditions_in_one_mapping_all_hold() -> None:
    assert where({"a": {"$gte": 1, "$lt": 3}, "b": "x"}, {"a": 2, "b": "x"})
    assert not where({"a": {"$gte": 1, "$lt": 3}, "b": "x"}, {"a": 2, "b": "y"})
    assert where({"$or": [{"a": 1}, {"$not": {"b": 1}}]}, {"b": 2})
    assert where({"plan.level": {"$in": [2, 3]}}, {"plan": {"level": 3}})


@pytest.mark.parametrize(
    "condition",
    [
        {"a": {"$regex": "x"}}, {"a": {}}, {"$where": "x"}, {"": 1}, {1: 1}, {"a": object()}, {"a": {"$in": 5}},
        {"a": {"$in": "text"}}, {"a": {"$in": [[1]]}}, {"a": {"$exists": 1}}, {"a": {"$gt": None}},
        {"a": {"$gt": True}}, {"a": float("nan")}, {"a": 2**63}, {"a\0": 1},
        {"$and": {}}, {"$or": [1]}, {"$not": []}, {"a": [1]}, {"a": {"b": 1}}, {"a": b"x"}, [], "a",
    ],
)  # fmt: skip
def test_a_wrong_condition_is_refused(condition: Any) -> None:
    with pytest.raises(InvalidInputError):
        make_filter(where=condition)


def test_a_dot_in_a_name_is_part_of_it_or_reaches_into_a_mapping() -> None:
    for fields in ({"a.b.c": 1}, {"a": {"b.c": 1}}, {"a.b": {"c": 1}}, {"a": {"b": {"c": 1}}}):
        assert where({"a.b.c": 1}, fields)
        assert where({"a.b.c": {"$gte": 1, "$lt": 2, "$exists": True, "$in": [1]}}, fields)
        assert not where({"a.b.c": {"$ne": 1}}, fields)
        assert not where({"a.b.c": {"$nin": [1]}}, fields)
        assert not where({"a.b.c": {"$exists": False}}, fields)
        assert where({"a.b.d": {"$ne": 1}}, fields)
    assert where({"a.b.c.d.e": 1}, {"a.b.c.d.e": 1})


def test_half_a_character_in_a_condition_is_looked_for_as_it_is_kept() -> None:
    assert where({"\ud83d": {"$in": ["cut \ud83d"]}}, {r"\ud83d": "cut \ufffd"})


def test_a_condition_has_a_most_depth_and_size() -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(33):
        deep = {"$not": deep}
    with pytest.raises(InvalidInputError, match="deep"):
        make_filter(where=deep)
    wide: dict[str, Any] = {"$or": [{"a": n} for n in range(501)]}
    with pytest.raises(InvalidInputError, match="large"):
        make_filter(where=wide)


def test_the_largest_condition_is_carried_out() -> None:
    wide: dict[str, Any] = {"$or": [{"a": n} for n in range(480)]}
    for _ in range(15):
        wide = {"$and": [{"$not": wide}]}
    chain = {"$and": [{"a": {"$ne": n}} for n in range(1, 490)]}
    asyncio.run(check([make_record("x", metadata={"a": 7})], [make_filter(where=wide), make_filter(where=chain)]))


@pytest.mark.parametrize(
    "given_",
    [{"kind": "dream"}, {"kind": 5}, {"kind": [None]}, {"key": 5}, {"key_prefix": b""}, {"verified": "yes"},
     {"verified": 1},     {"since": "someday"}, {"until": True}, {"as_of": object()}],
)  # fmt: skip
def test_a_wrong_part_of_a_filter_is_refused(given_: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        make_filter(**given_)
