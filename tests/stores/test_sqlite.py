"""The SQLite store keeps the contract, on a file and in memory."""

from pathlib import Path

import pytest

from memorist.stores import Store
from memorist.stores.sqlite import SQLiteStore
from memorist.testing import StoreContract
from opening import store_at


class TestFile(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "memory.db"

    async def make_store(self) -> Store:
        return store_at(self.path)

    async def another(self, store: Store) -> Store:
        return store_at(self.path)


class TestInMemory(StoreContract):
    async def make_store(self) -> Store:
        return SQLiteStore(None)
