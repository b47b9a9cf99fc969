"""The PostgreSQL store keeps the contract, against a real server, as a role that row-level security holds for."""

from typing import TYPE_CHECKING

import pytest

from memorist.stores import Store
from memorist.stores.postgres import PostgresStore, parse_url
from memorist.testing import StoreContract

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = pytest.mark.postgres


class TestPlainRole(StoreContract):
    @pytest.fixture(autouse=True)
    def place(self, server: "Server") -> None:
        self.options = parse_url(server.new_url(pool_size=4))

    async def make_store(self) -> Store:
        return PostgresStore(self.options)

    async def another(self, store: Store) -> Store:
        return PostgresStore(self.options)


class TestWholeTables(TestPlainRole):
    """Without partitions, row-level security and prepared statements; with an index for the nearest."""

    @pytest.fixture(autouse=True)
    def place(self, server: "Server") -> None:
        self.options = parse_url(
            server.new_url(partitions=0, rls="off", prepare_threshold="off", hnsw="on", purge="full", pool_size=2)
        )
