"""relabel: records get another label, noted in their history, and get the one before back."""

import asyncio

import pytest

from memorist import Memory
from memorist.errors import InvalidInputError, ScopeError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


async def test_the_records_of_a_label_get_another_one_and_the_earlier_back() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), user="alice", keep_traces="1d") as memory:
        old, other = memory.scoped(agent="/old"), memory.scoped(agent="other", user="alice")
        first = await old.remember("Tea at four", metadata={"a": 1}, key="tea", kind="topic")
        await old.remember(["One", "Two", "Three"], expires_at=1000)
        await other.remember("Coffee")
        assert await memory.relabel(agent="/old", to="new", limit=2, source="me") == 2
        assert await memory.relabel(agent="/old", to="new") == 2
        assert await memory.relabel(agent="/old", to="new") == 0
        moved = memory.scoped(agent="new")
        assert await moved.count() == 4
        assert [hit.record.content for hit in await moved.recall("Two", limit=1)] == ["Two"]
        changes = await moved.history(first.id)
        assert [each.record and each.record.scope.agent for each in changes] == ["/old", "new"]
        assert await old.history(first.id) == []
        later = await moved.remember("Later")
        assert await memory.relabel(agent="new", undo=True) == 4
        assert await old.count() == 4
        assert [each.id async for each in moved.iterate()] == [later.id]
        assert await memory.relabel(later.id, to=None) == 1
        assert await memory.relabel(first.id, "unknown", to="other") == 1


async def test_another_users_records_stay_and_a_label_sees_no_other() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        for each in (alice, bob):
            await each.remember("Tea", agent="a")
        assert await alice.relabel(agent="a", to="b") == 1
        assert await bob.count(agent="a") == 1
        with pytest.raises(ScopeError, match="unlabelled"):
            await alice.scoped(agent="b").relabel(agent="b", to="c")
        for given in ({"to": "x"}, {"agent": "b"}, {"agent": "b", "to": "x", "undo": True}, {"agent": "b", "to": " "}):
            with pytest.raises(InvalidInputError):
                await alice.relabel(**given)


async def test_what_waits_in_the_inbox_goes_along() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), user="alice", confirm=True) as memory:
        with pytest.raises(Exception, match="pending"):
            await memory.scoped(agent="a").remember("Tea", proposed=True)
        assert await memory.relabel(agent="a", to="b") == 0
        [waiting] = await memory.admin.inbox()
        assert [each.scope.agent for each in await memory.admin.approve(waiting.id)] == ["b"]


async def test_records_that_others_change_meanwhile_keep_both_changes() -> None:
    async with Memory.open(":memory:", embedder=HashEmbedder(), user="alice") as memory:
        records = await memory.remember([f"Number {n}" for n in range(30)], agent="a")
        await asyncio.gather(memory.relabel(agent="a", to="b"), *(memory.rate(each.id, 1) for each in records))
        found = await memory.find(records)
        assert {(each.scope.agent, each.rating, each.version) for each in found} == {("b", 1, 3)}
