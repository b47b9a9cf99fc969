from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from agentscope_script import Watched
from memorist.adapters.agentscope import ReMePersonalLongTermMemory
from memorist.memory import Memory
from memorist.testing import HashEmbedder

MARKERS = {"agentscope1": ("agentscope", 1), "agentscope2": ("agentscope", 2), "mem0": ("mem0ai", None)}


def pytest_configure(config: pytest.Config) -> None:
    for name, (package, major) in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: needs {package} {major or ''}")


def installed(package: str) -> int | None:
    try:
        return int(version(package).split(".")[0])
    except PackageNotFoundError:
        return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name, (package, major) in MARKERS.items():
            if item.get_closest_marker(name) is not None:
                found = installed(package)
                if found is None or major not in (None, found):
                    item.add_marker(pytest.mark.skip(reason=f"needs {package} {major or ''}, there is {found}"))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
async def personal(memory: Memory) -> AsyncIterator[Any]:
    async with ReMePersonalLongTermMemory(user_name="alice", memory=memory) as entered:
        entered.app = Watched(entered.app)
        await memory.scoped(user="alice").facts.add("Alice likes green tea")
        yield entered
