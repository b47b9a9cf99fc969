"""A user's memory of an older version, with an index kept beside its records, in the hands of this one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from everyday import FILLING, NOTES, notes_in
from kept import unpacked
from memorist import Memory
from memorist.imports import export, load

pytestmark = pytest.mark.anyio
VERSIONS = ("cda135f1", "de2db48a")


@pytest.fixture(params=VERSIONS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(f"everyday-{request.param}.db", tmp_path / "memory.db")


@pytest.fixture
async def memory(path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(path, embedder="hash") as memory:
        yield memory


async def test_it_is_sound_and_found_with_what_was_said_and_rated(memory: Memory) -> None:
    assert await memory.admin.check() == []
    alice = memory.scoped(user="alice")
    [cabin, *_] = await alice.recall("Where is the cabin by the lake?")
    assert (cabin.record.content, cabin.record.rating) == ("The cabin by the lake has no heating", 0.75)
    messages = await alice.conversation("monday").all()
    assert [(each.role, each.content) for each in messages] == [
        ("user", "I moved to Oslo in January"), ("assistant", "How do you like it?"),
    ]  # fmt: skip
    assert await alice.topics.get("user.name") == "Alice"
    assert await alice.count() == FILLING + 6 + len(NOTES)
    assert [
        hit.record.content for hit in await alice.recall("This will be forgotten", limit=3) if "forg" in str(hit)
    ] == []
    [bobs] = [each async for each in memory.scoped(user="bob").iterate()]
    assert bobs.content == "Bob's own note about the lake"


async def test_what_was_imported_is_known_again(memory: Memory, tmp_path: Path) -> None:
    alice = memory.scoped(user="alice")
    before = await alice.count()
    report = await load(alice, notes_in(tmp_path))
    assert (report.added, report.revised, report.existing) == (0, 0, len(NOTES) + 2)
    report = await load(alice, tmp_path / "vault" / "a" / "notes.md")
    assert (report.added, report.revised, report.existing) == (0, 0, 1)
    assert await alice.count() == before


async def test_what_is_forgotten_and_purged_leaves_no_bytes(path: Path) -> None:
    async with Memory.open(path, embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        [cabin, *_] = await alice.recall("Where is the cabin by the lake?")
        await alice.forget(cabin.record.id)
        assert all("cabin" not in hit.record.content for hit in await alice.recall("Where is the cabin by the lake?"))
        assert (await alice.purge()).purged > FILLING
        assert await alice.count() == 0 and await memory.scoped(user="bob").count() == 1
        assert await memory.admin.check() == []
    held = path.read_bytes()  # the copy that the upgrade made is the operator's to remove
    assert b"heating" not in held and b"I moved to Oslo" not in held and b"Bob's own note" in held


async def test_it_is_exported_and_loaded_whole(memory: Memory, tmp_path: Path) -> None:
    alice = memory.scoped(user="alice")
    await export(alice, tmp_path / "alice.json", to="memorist")
    async with Memory.open(tmp_path / "new.db", embedder="hash") as new:
        report = await load(new, tmp_path / "alice.json", trusted=True)
        assert report.bad == []
        assert await new.scoped(user="alice").count() == await alice.count()
        [best, *_] = await new.scoped(user="alice").recall("Where is the cabin by the lake?")
        assert best.record.content == "The cabin by the lake has no heating"


async def test_a_proposal_waits_for_the_users_yes(tmp_path: Path) -> None:
    async with Memory.open(unpacked("everyday-de2db48a.db", tmp_path / "memory.db"), embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        [proposal] = await alice.admin.inbox()
        assert "A proposed note about the garden" in str(proposal)
        assert all("garden" not in each.content for each in await alice.recent(limit=20))
        await alice.admin.approve(proposal.id)
        assert (await alice.recent(limit=1))[0].content == "A proposed note about the garden"
