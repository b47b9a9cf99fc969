"""The contract of a LangGraph store, on ours and on LangGraph's own beside it."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base")

from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from langgraph_contract import LangGraphStoreContract
from memorist import sync
from memorist.adapters.langgraph import MemoristStore
from memorist.testing import HashEmbedder


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Embed as the memory does."""
    return asyncio.run(HashEmbedder().embed(list(texts))).tolist()  # type: ignore[no-any-return]


class TestMemoristStore(LangGraphStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[BaseStore]:
        with sync.Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
            yield MemoristStore(memory)


class TestMemoristStoreByUser(LangGraphStoreContract):
    """What belongs to no user is one scope; the labels at the user's position are walls."""

    @pytest.fixture
    def store(self) -> Iterator[BaseStore]:
        with sync.Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            yield MemoristStore(memory, user_at=9)


class TestInMemoryStore(LangGraphStoreContract):
    test_putting_again_keeps_when_it_was_created: Any = None  # it is created anew
    test_reading_makes_no_namespace: Any = None
    test_a_namespace_goes_with_its_last_item: Any = None
    test_a_bad_label_is_refused_in_a_batch_too: Any = None
    test_true_is_not_one: Any = None  # as in Python
    test_an_item_put_without_index_loses_the_one_it_had: Any = None

    @pytest.fixture
    def store(self) -> BaseStore:
        return InMemoryStore(index={"dims": 64, "embed": embed, "fields": ["$"]})


class TestSqliteStore(LangGraphStoreContract):
    """Without its index, which needs a Python whose sqlite3 loads extensions."""

    test_an_item_comes_back_as_it_was_put: Any = None  # its times have no zone
    test_putting_again_keeps_when_it_was_created: Any = None
    test_any_text_names_a_field: Any = None
    test_a_filter_goes_into_a_field: Any = None
    test_true_is_not_one: Any = None
    test_the_nearest_comes_first: Any = None  # no index
    test_a_changed_text_is_found_as_it_is_now: Any = None
    test_what_is_not_indexed_is_stored_and_has_no_score: Any = None
    test_an_expired_item_is_not_found: Any = None  # a read by key still finds it

    @pytest.fixture
    def store(self) -> Iterator[BaseStore]:
        sqlite = pytest.importorskip("langgraph.store.sqlite")

        class Both(sqlite.SqliteStore):  # type: ignore[misc, name-defined]
            async def abatch(self, ops: Iterable[Op]) -> list[Result]:
                return self.batch(list(ops))  # type: ignore[no-any-return]

        with Both.from_conn_string(":memory:", ttl={"omit_expired": True}) as store:
            store.setup()
            yield store
