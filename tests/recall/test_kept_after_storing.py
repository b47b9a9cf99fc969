"""Whoever stores much leaves an index behind, so that the next process does not read every record at first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inside import core_of
from memorist.files.migration import migrate
from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.record import Draft
from memorist.records.scope import Wall
from memorist.stores.base import Entries
from memorist.testing import HashEmbedder
from opening import store_at

pytestmark = pytest.mark.anyio
MANY, ALICE = 60, Wall("default", "alice")


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("memorist.recall.persistence.KEPT_FROM", "memorist.engine.core.KEPT_FROM"):
        monkeypatch.setattr(place, MANY)


def opened(path: Path) -> Memory:
    return Memory.open(path, embedder=HashEmbedder(), user="alice")


def drafts(count: int = MANY) -> Sequence[Draft]:
    return [Draft(content=f"tea {number}", id=f"{number}") for number in range(count)]


async def read_anew(path: Path) -> int:
    """Return how many records the first recall of a memory reads, once it has found one."""
    async with opened(path) as memory:
        store, read = core_of(memory).store, 0
        entries = store.entries

        async def counted(*given: Any) -> Entries:
            nonlocal read
            found = await entries(*given)
            read += len(found.entries)
            return found

        store.entries = counted  # type: ignore[method-assign, assignment]
        [hit] = await memory.recall("tea 7", limit=1)
        assert hit.record.content == "tea 7"
        return read


async def test_an_index_is_kept_when_a_memory_closes_that_stored_much(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as memory:
        await memory.remember(drafts())
    assert await read_anew(path) == 0


async def test_none_is_kept_of_few_records(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as memory:
        await memory.remember(drafts(MANY - 1))
    assert await read_anew(path) == MANY - 1


async def test_an_index_is_kept_after_a_load(tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as memory:
        await memory.remember(drafts())
        lines = [line async for line in memory.export()]
    async with opened(tmp_path / "two.db") as memory:
        assert (await memory.load(lines)).added == MANY
    assert await read_anew(tmp_path / "two.db") == 0


async def test_an_index_is_kept_after_records_have_got_their_vectors(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as memory:
        await memory.ask(requests.Remember(records=tuple(drafts()), embed="later"))
    async with Memory.open(path, embedder=HashEmbedder()) as memory:
        await memory.admin.reindex(missing=True)
    assert await read_anew(path) == 0


async def test_an_index_is_kept_after_a_migration(tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as memory:
        await memory.remember(drafts())
    source, target = store_at(tmp_path / "one.db"), store_at(tmp_path / "two.db")
    for store in (source, target):
        await store.open()
    assert (await migrate(source, target)).differing == []
    assert target.segments is not None
    assert await target.segments.kept(ALICE) is not None
    for store in (source, target):
        await store.close()
    assert await read_anew(tmp_path / "two.db") == 0


async def test_what_changed_after_a_load_is_found_with_its_index(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as memory:
        await memory.remember(drafts())
    async with opened(path) as memory:
        await memory.forget("3")
        await memory.revise("4", content="milk")
    async with opened(path) as memory:
        assert [hit.record.id for hit in await memory.recall("milk", limit=1)] == ["4"]
        assert "3" not in {hit.record.id for hit in await memory.recall("tea", limit=100)}
