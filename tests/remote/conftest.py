"""The memory of these tests is at a server of their own, on this machine."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from clocks import MovedClock
from memorist.config import Settings
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.testing import HashEmbedder
from servers import running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out tests from elsewhere that open a memory of their own: they would ask no server."""
    items[:] = [
        item
        for item in items
        if not item.path.name.startswith("test_same_") or "url" in getattr(item, "fixturenames", ())
    ]


@pytest.fixture
async def stored(tmp_path: Path, clock: MovedClock) -> AsyncIterator[Memory]:
    """The memory that the server has."""
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder(), settings=Settings(clock=clock)) as memory:
        yield memory


@pytest.fixture
async def url(stored: Memory) -> AsyncIterator[str]:
    """A server that asks for no token here."""
    async with running(create_app(stored, open=True)) as url:
        yield url


@pytest.fixture
def reopen(url: str) -> Callable[..., Memory]:
    return lambda **scope: Memory.connect(url, **scope)
