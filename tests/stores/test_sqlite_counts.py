"""Records are counted as they come and go: the counts are what reading every record would count."""

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from clocks import MovedClock
from memorist.memory import Memory
from memorist.records.record import Draft
from opening import connect_to, undo_latest

Open = Callable[..., Memory]
pytestmark = pytest.mark.anyio
KINDS = ("note", "message", "fact", "state")


async def check_counts(memory: Memory, *users: str) -> None:
    """Compare what is counted with what is read."""
    held = {}
    for user in users:
        scoped = memory.scoped(user=user)
        for superseded in (False, True):
            for kinds in (*[[kind] for kind in KINDS], list(KINDS)):
                page = await scoped.browse(kind=kinds, superseded=superseded, limit=1000)
                assert await scoped.count(kind=kinds, superseded=superseded) == len(page.records), (user, kinds)
        if await scoped.count(kind=list(KINDS), superseded=True):
            held[user] = len((await scoped.browse(limit=1000)).records)
    assert await memory.admin.users() == held


async def test_counts_are_those_of_the_records_whatever_happens(reopen: Open, clock: MovedClock) -> None:
    chance = random.Random(3)
    users = ("alice", "bob")
    async with reopen() as memory:
        ids: dict[str, list[str]] = {user: [] for user in users}
        for turn in range(120):
            user = chance.choice(users)
            scoped, known = memory.scoped(user=user), ids[user]
            match chance.randrange(6) if len(known) > 5 else 0:
                case 0 | 1:
                    expires = 30.0 if chance.random() < 0.2 else None
                    draft = Draft(content=f"tea {turn}", kind=chance.choice(KINDS), expires_at=expires)
                    record = await scoped.remember(draft)
                    if expires is None:
                        known.append(record.id)
                case 2:
                    old = known.pop(chance.randrange(len(known)))
                    known.append((await scoped.remember(Draft(content="new", supersedes=old))).id)
                case 3:
                    await scoped.forget(known.pop(chance.randrange(len(known))))
                case 4:
                    await scoped.revise(chance.choice(known), content=f"milk {turn}")
                case 5:
                    clock.advance(20)
            if turn % 20 == 0:
                await check_counts(memory, *users)
        clock.advance(100)
        await check_counts(memory, *users)  # expired, and not swept yet
        await memory.admin.sweep()
        await check_counts(memory, *users)
    async with reopen() as memory:
        assert await memory.admin.check() == []
        await memory.purge(user="alice")
        await check_counts(memory, *users)


async def test_a_check_tells_of_a_count_that_is_wrong(reopen: Open, tmp_path: Path) -> None:
    async with reopen() as memory:
        await memory.remember("Tea")
    with contextlib.closing(connect_to(tmp_path / "memory.db")) as connection:
        connection.execute("UPDATE counts SET records = 7")
    async with reopen() as memory:
        assert await memory.admin.check() == ["the counts of records are wrong"]


async def test_what_was_derived_is_found_by_its_source_as_it_changes(reopen: Open) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        for scoped in (alice, bob):  # the same ids behind two walls
            await scoped.remember([Draft(content="Tea", id="tea"), Draft(content="Milk", id="milk")])
        await alice.remember(Draft(content="Drinks tea", id="drinks", derived_from=["tea"]))
        await bob.remember(Draft(content="Drinks nothing", id="drinks", derived_from=["milk"]))

        assert [each.id for each in (await alice.derived("tea")).alone] == ["drinks"]
        assert (await bob.derived("tea")).alone == ()
        await alice.remember(Draft(content="Both", id="drinks", derived_from=["tea", "milk"]), if_exists="replace")
        assert [each.id for each in (await alice.derived("milk")).partly] == ["drinks"]
        assert await alice.forget("tea", derived=True) == 1
        assert [each.id for each in (await alice.derived("milk")).alone] == ["drinks"]
        await alice.forget("drinks")
        assert (await alice.derived("milk")).alone == ()
        assert [each.id for each in (await bob.derived("milk")).alone] == ["drinks"]


async def test_an_older_file_is_counted_when_it_is_opened(reopen: Open, tmp_path: Path) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        [tea, _] = await alice.remember(["Tea", "Milk"])
        await alice.remember(Draft(content="Drinks tea", derived_from=[tea.id]))
        await alice.forget("nothing")
    with contextlib.closing(connect_to(tmp_path / "memory.db")) as connection:
        undo_latest(connection)
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        assert await alice.count() == 3
        assert len((await alice.derived(tea.id)).alone) == 1
        assert await memory.admin.check() == []
