"""What is asked for by its key is found by its index, however many records there are."""

from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memorist.records.filters import Filter
from memorist.records.record import Kind
from memorist.stores.base import Staged
from memorist.stores.sqlite.conditions import sql_of
from memorist.testing.contract.base import ALICE, DIMENSIONS, FINGERPRINT, NOON, make_record, put
from opening import store_at

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", [{"key": "k.1"}, {"key_prefix": "k."}])
@pytest.mark.parametrize("order", ["at DESC, created_at DESC, id DESC", "key, created_at, id"])
async def test_a_key_of_a_kind_is_found_by_its_index(tmp_path: Path, name: dict[str, str], order: str) -> None:
    store = store_at(tmp_path / "memory.db")
    await store.open()
    await store.write(ALICE, [put(make_record("one", kind=Kind.TOPIC, key="k.1"))])
    await store.close()
    condition, bindings = sql_of(Filter(kinds=frozenset((Kind.TOPIC,)), **name), NOON)  # type: ignore[arg-type]
    query = f"SELECT * FROM records WHERE wall = 1 AND {condition} ORDER BY {order} LIMIT 1"
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    [first, *_] = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)]
    connection.close()
    assert "INDEX records_by_key (wall=? AND kind=? AND key" in first


async def test_records_are_found_by_their_ids_and_not_by_reading_the_wall(tmp_path: Path) -> None:
    store = store_at(tmp_path / "memory.db")
    await store.open()
    await store.write(ALICE, [put(make_record(f"r{number}")) for number in range(2000)])
    plans: list[str] = []
    await store._read(lambda connection: _explain(connection, plans, " records"), brief=True)
    assert len(await store.get(ALICE, [f"r{number}" for number in range(10)])) == 10
    await store.close()
    assert plans and all("records_by_id (wall=? AND id=?)" in plan for plan in plans)


async def test_a_reindex_walks_the_changes_and_finds_records_by_their_numbers(tmp_path: Path) -> None:
    store = store_at(tmp_path / "memory.db")
    await store.open()
    await store.bind(FINGERPRINT, DIMENSIONS)
    await store.write(ALICE, [put(make_record("one"))])
    plans: list[str] = []
    await store._write(lambda connection: _explain(connection, plans, " "))
    [(number, version, _)] = await store.to_reembed("another", 10)
    await store.stage("another", [Staged(ALICE, number, version, np.zeros(DIMENSIONS, np.float32), "")])
    await store.close()
    for table in ("r", "i", "indexed"):
        assert f"SEARCH {table} USING PRIMARY KEY (wall=? AND number=?)" in plans
    assert "SEARCH c USING INTEGER PRIMARY KEY (rowid>?)" in plans and not any("TEMP B-TREE" in plan for plan in plans)


def _explain(connection: apsw.Connection, plans: list[str], table: str) -> None:
    """From now on, add to `plans` how each statement of the connection reads a table."""

    def explain(cursor: apsw.Cursor, query: str, bindings: Any) -> bool:
        if query.startswith(("SELECT", "INSERT")) and table in query:
            steps = [str(row[-1]) for row in cursor.connection.execute(f"EXPLAIN QUERY PLAN {query}", bindings)]
            plans.extend(step for step in steps if table in step)
        return True

    connection.exec_trace = explain
