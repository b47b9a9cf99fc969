"""A new database in each kind of store."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres_server import Server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's own database is."""
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    server: Server = request.getfixturevalue("server")
    return server.new_url()
