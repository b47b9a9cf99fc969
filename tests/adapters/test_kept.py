"""What each framework has stored with an older version is read by this one."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kept import KEPT, VERSIONS, Kept, restored, unpacked, written
from memorist import Memory
from memorist.config import Settings

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("kind", KEPT, ids=lambda each: each.__name__)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_file_opens_with_all_its_content(version: str, kind: type[Kept], tmp_path: Path) -> None:
    pytest.importorskip(kind.needs)
    path = unpacked(f"{version}.db", tmp_path / "memory.db")
    async with Memory.open(path, embedder="hash", settings=Settings(clock=written)) as memory:
        assert await kind().read(memory) == kind.expected


@pytest.mark.postgres
@pytest.mark.parametrize("version", VERSIONS)
async def test_postgresql_opens_with_all_its_content(
    version: str, kind: type[Kept], server: "Server", tmp_path: Path
) -> None:
    pytest.importorskip(kind.needs)
    url = restored(version, server, tmp_path)
    async with Memory.open(url, embedder="hash", settings=Settings(clock=written)) as memory:
        assert await kind().read(memory) == kind.expected


async def test_an_older_export_is_loaded_with_all_its_content(kind: type[Kept], tmp_path: Path) -> None:
    pytest.importorskip(kind.needs)
    lines = unpacked("39ec06a.jsonl", tmp_path / "export.jsonl").read_text().splitlines()
    async with Memory.open(tmp_path / "memory.db", embedder="hash", settings=Settings(clock=written)) as memory:
        assert (await memory.load(lines)).bad == []
        assert await kind().read(memory) == kind.expected
