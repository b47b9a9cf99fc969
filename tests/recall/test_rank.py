import numpy as np
import pytest

from memorist.operations.requests import Recall
from memorist.recall import index as index_module
from memorist.recall import rank as rank_module
from memorist.recall import vectors as vectors_module
from memorist.recall.index import WallIndex
from memorist.recall.question import UNREAD
from memorist.recall.rank import Search, rank
from memorist.records.filters import Filter
from memorist.records.record import Kind
from memorist.stores.base import Entries, Entry


@pytest.mark.parametrize("block", [100, 1000])
@pytest.mark.parametrize("session", [None, "every seventh", "the last"])
@pytest.mark.parametrize("limit", [1, 5, 10, 50, 1000])
def test_the_nearest_are_among_those_that_a_dense_search_leaves(
    monkeypatch: pytest.MonkeyPatch, limit: int, session: str | None, block: int
) -> None:
    for module in (index_module, vectors_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", block)
    monkeypatch.setattr(rank_module, "_GROUP", 4)
    made = np.random.default_rng(0).normal(size=(700, 16))
    vectors = np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)
    sessions = ["every seventh" if row % 7 == 0 else "the last" if row > 660 else None for row in range(700)]
    index = WallIndex(16)
    index.update(Entries("g", 1, [
        Entry(row, f"n{row}", Kind.NOTE, None, sessions[row], None, 0, None, None, None, "tea", vectors[row])
        for row in range(700)
    ], []))  # fmt: skip
    request = Recall(query="x", limit=limit, mode="dense")

    for vector in vectors[::70]:
        ranked = rank(index, Search(request, Filter(session=session), limit, UNREAD, vector, 0))
        passing = [row for row in range(700) if session in (None, sessions[row])]
        nearest = sorted(passing, key=lambda row: -float(vectors[row] @ vector))[:limit]
        assert set(nearest) <= set(ranked.numbers.tolist()) <= set(passing)
        assert ranked.unsure == (block == 100)
