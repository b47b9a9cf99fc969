"""What `check` says of a file that is in use."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from memorist.memory import Memory
from memorist.testing import HashEmbedder
from opening import connect_to

pytestmark = pytest.mark.anyio


async def test_a_sound_file_stays_sound_through_writes_between_checks(tmp_path: Path) -> None:
    chance = random.Random(2)

    def text() -> str:
        return " ".join("".join(chance.choices("abcdefgh", k=chance.randint(2, 6))) for _ in range(12))

    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        for count in range(3, 48, 4):  # so that segments of the text index are merged between two checks
            for _ in range(count):
                await memory.remember(text())
            assert await memory.admin.check() == [], count


async def test_damage_is_found_however_often_it_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with Memory.open(path, embedder=HashEmbedder()) as memory:
        await memory.remember(["Tea", "Coffee"])
        assert await memory.admin.check() == []
        with closing(connect_to(path)) as connection:
            connection.execute("DELETE FROM words_data WHERE id > 1000")
        found = await memory.admin.check()
        assert found and "words" in found[0]
        assert await memory.admin.check() == found
