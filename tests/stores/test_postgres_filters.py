"""Filters on fields mean in PostgreSQL what they mean in Python, whatever numbers and texts are compared."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memorist.records.filters import make_filter
from memorist.records.times import now
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.testing.contract.base import ALICE, make_record, put

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = pytest.mark.postgres

EDGES = [2**53, 2**53 + 1, 2**56, 2**56 + 1, 2**63 - 1, -(2**63), 0, 1, 10**18, 10**16, 9007199254740993]
WHOLE = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
FLOATS = st.sampled_from([float(edge) for edge in EDGES] + [2.0**63, 1e300, -1e22, 0.1, 1.0, -0.0]) | st.floats(
    allow_nan=False, allow_infinity=False
)
BEYOND = st.sampled_from([2**63, 2**70, -(2**80), 10**308, 10**400, -(10**400)])
TEXTS = st.text(st.sampled_from("ab\0\1\2é🙂 \\'\"1"), max_size=3)
PLAIN = st.none() | st.booleans() | WHOLE | FLOATS | TEXTS
STORED = PLAIN | BEYOND | st.lists(PLAIN | BEYOND, max_size=3) | st.dictionaries(TEXTS, PLAIN, max_size=1)
ORDERED = st.builds(
    lambda operator, value: {"x": {operator: value}},
    st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
    WHOLE | FLOATS | TEXTS | st.sampled_from([float("inf"), float("-inf")]),
)
EQUAL = st.builds(lambda value: {"x": value}, PLAIN) | st.builds(
    lambda operator, values: {"x": {operator: values}}, st.sampled_from(["$in", "$nin"]), st.lists(PLAIN, max_size=4)
)


@pytest.fixture(scope="module")
def url(server: "Server") -> str:
    return server.new_url(pool_size=2, purge="delete")


@example(stored=[10**308, 2**1024 - 2**970 - 1, 2**1024 - 2**970], filters=[{"x": {"$gte": float("inf")}}])
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(stored=st.lists(STORED, min_size=5, max_size=12), filters=st.lists(ORDERED | EQUAL, min_size=5, max_size=12))
def test_any_value_against_any_filter(url: str, stored: list[Any], filters: list[dict[str, Any]]) -> None:
    asyncio.run(_check(url, stored, filters))


async def _check(url: str, stored: list[Any], filters: list[dict[str, Any]]) -> None:
    records = [make_record(str(n), metadata={"x": value}) for n, value in enumerate(stored)]
    store = PostgresStore(parse_url(url))
    await store.open()
    try:
        await store.purge(ALICE)
        await store.write(ALICE, [put(record, vector=None) for record in records])
        assert await store.get(ALICE, [record.id for record in records]) == records
        for where in filters:
            chosen = make_filter(where=where)
            numbers = (await store.matching(ALICE, chosen)).tolist()
            found = {record.id for record in (await store.fetch(ALICE, numbers)).values()}
            assert found == {record.id for record in records if chosen.matches(record, now())}, where
    finally:
        await store.close()
