"""The inbox in every store: what waits is nowhere else, and the user alone decides it, once."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from children import approve_until_killed, approve_when_told, ask_for_ever, finish, start
from clocks import MovedClock
from inside import before_next_write, core_of
from memorist.agents import memory_tools
from memorist.config import Settings
from memorist.engine import inbox as handlers
from memorist.errors import (
    ConflictError,
    EmbedderUnavailableError,
    InvalidInputError,
    MemoristError,
    NotFoundError,
    ScopeError,
    StoreUnavailableError,
    WaitingError,
)
from memorist.memory import Memory
from memorist.operations.answers import Proposal
from memorist.records.origins import CLI, MCP, Author
from memorist.records.record import Draft, Kind
from memorist.records.scope import INBOX_PREFIX, Wall
from memorist.stores.base import Remove, Write
from memorist.testing import HashEmbedder
from opening import plain_only

pytestmark = pytest.mark.anyio
DAYS = 86400
Open = Callable[..., Memory]


@pytest.fixture
def reopen(url: str, clock: MovedClock) -> Open:
    """Return what opens the test's own store, where what agents ask for waits."""
    return partial(Memory.open, url, embedder=HashEmbedder(), settings=Settings(clock=clock), confirm=True)


def agent(memory: Memory) -> Memory:
    """Return a memory as an agent has it through MCP."""
    return memory.through(MCP)


async def asked(memory: Memory, content: str, **fields: Any) -> Proposal:
    """Let an agent ask to remember a text, and return what waits then."""
    with pytest.raises(WaitingError):
        await agent(memory).remember(content, **fields)
    return (await memory.admin.inbox())[-1]


async def known(memory: Memory) -> list[object]:
    """Return all that any verb tells of a memory's user."""
    everyone, kinds = memory.unlabelled(), tuple(Kind)
    records = (await everyone.browse(kind=kinds, superseded=True)).records
    return [
        [(each.id, each.content, each.version, each.superseded_by) for each in records],
        [hit.record.id for hit in await everyone.recall("tea coffee Oslo", limit=50)],
        (await everyone.context("tea coffee Oslo", min_confidence=0.0)).text,
        await everyone.count(kind=kinds, superseded=True),
        [line async for line in everyone.export()],
        await everyone.topics.list(),
        (await everyone.changes()).changes,
        [each.id for each in await everyone.recent(50)],
    ]  # fmt: skip


async def test_nothing_waits_by_default(reopen: Open) -> None:
    async with reopen(confirm=None) as memory:
        assert (await memory_tools(memory).call("add_memory", {"content": "Likes tea"})).data.keys() == {"id"}
        await agent(memory).remember("Likes milk", proposed=True)
        assert await memory.count() == 2 and await memory.admin.inbox() == []
        assert await core_of(memory).store.tenants() == ["default"]


async def test_what_an_agent_asks_for_is_known_nowhere_until_it_is_approved(reopen: Open) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        coffee = await alice.remember("Drinks coffee", kind="fact")
        before = [await known(alice), await known(bob), await memory.admin.users()]
        for asking in (
            agent(alice).remember("Lives in Oslo"),
            agent(alice).facts.add("Drinks tea", supersedes=coffee.id),
            agent(alice).topics.set("user.drink", "tea"),
            agent(alice).revise(coffee.id, content="Drinks tea"),
            agent(alice).forget(coffee.id),
            agent(alice).forget(kind="fact", derived=True),
            alice.remember("Asked for by a program's own tool: tea", proposed=True),
        ):
            with pytest.raises(WaitingError, match="not done yet: it is pending approval"):
                await asking
        assert [await known(alice), await known(bob), await memory.admin.users()] == before
        waiting = await alice.admin.inbox()
        assert [(each.verb, each.content) for each in waiting] == [
            ("remember", "Lives in Oslo"), ("remember", "Drinks tea"), ("remember", "tea"), ("revise", "Drinks tea"),
            ("forget", "Drinks coffee"), ("forget", "Drinks coffee"),
            ("remember", "Asked for by a program's own tool: tea"),
        ]  # fmt: skip
        assert await bob.admin.inbox() == await memory.admin.inbox() == []
        with pytest.raises(NotFoundError):
            await bob.admin.approve(waiting[0].id)
        for proposal in waiting:
            assert await alice.get(proposal.id) is None and await alice.history(proposal.id) == []


async def test_a_note_is_approved_as_the_agents_and_as_of_when_it_asked(reopen: Open, clock: MovedClock) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice", agent="cursor", session="monday")
        proposal = await asked(alice, "Lives in Oslo", metadata={"a": 1}, expires_at=90 * DAYS)
        assert (proposal.scope, proposal.door, proposal.authors) == (alice.scope, "mcp", ("assistant",))
        clock.advance(3 * DAYS)
        [kept] = await alice.admin.approve(proposal.id)
        assert (kept.content, kept.verified, kept.scope, kept.metadata) == (
            "Lives in Oslo",
            True,
            alice.scope,
            {"a": 1},
        )
        assert (kept.origin.authors, kept.origin.door) == (Author.ASSISTANT, "mcp")
        assert kept.happened_at == proposal.at < kept.created_at
        assert kept.expires_at is not None and kept.expires_at < proposal.at + timedelta(days=90)
        assert (await alice.recall("Where in Oslo?"))[0].record == kept
        assert await alice.admin.inbox() == []


async def test_what_the_user_changes_is_the_users_words(reopen: Open) -> None:
    async with reopen() as memory:
        proposal = await asked(memory, "Likes tea")
        [kept] = await memory.through(CLI).admin.approve(proposal.id, "Likes green tea")
        assert kept.content == "Likes green tea"
        assert kept.origin.authors & ~Author.PEER == Author.ASSISTANT | Author.OPERATOR
        proposal = await asked(memory, "Hates milk")
        for wrong in ("", " "):
            with pytest.raises(InvalidInputError, match="blank"):
                await memory.admin.approve(proposal.id, wrong)
        assert [each.content for each in await memory.admin.inbox()] == ["Hates milk"]
        with pytest.raises(WaitingError):
            await agent(memory).experiences.add("when it rains", "Take an umbrella", metadata={"a": 1})
        assert (await memory.admin.inbox())[-1].details == {
            "cue": "when it rains", "metadata": {"a": 1}, "payload": {"score": 1.0},
        }  # fmt: skip
        with pytest.raises(WaitingError):
            await agent(memory).forget(kept.id)
        with pytest.raises(InvalidInputError, match="no single text"):
            await memory.admin.approve((await memory.admin.inbox())[-1].id, "Hates coffee")


async def test_each_verb_is_done_when_it_is_approved(reopen: Open) -> None:
    async with reopen() as memory:
        coffee = await memory.facts.add("Drinks coffee")
        await memory.topics.set("user.drink", "coffee")
        tools = memory_tools(memory)
        for name, arguments in (
            ("add_memory", {"content": "tea", "topic": "user.drink"}),
            ("update_memory", {"id": coffee.id, "content": "Drinks much coffee"}),
        ):
            told = await tools.call(name, arguments)
            assert told.success and "memorist inbox" in told.data
        with pytest.raises(WaitingError):
            await agent(memory).facts.add("Drinks tea", supersedes=coffee.id)
        topic, revision, fact = await memory.admin.inbox()
        with pytest.raises(WaitingError):  # as Claude moves a file
            await agent(memory).remember("Drinks coffee, black", id=coffee.id, kind="fact", if_exists="replace")
        replacing = (await memory.admin.inbox())[-1]
        assert (replacing.content, replacing.ids) == ("Drinks coffee, black", (coffee.id,))
        [replaced] = await memory.admin.approve(replacing.id)
        assert (replaced.id, replaced.content, replaced.version) == (coffee.id, "Drinks coffee, black", 2)
        [old] = await memory.find(topic.ids)
        assert old.content == "coffee"  # what the user is shown would be replaced
        await memory.admin.approve(topic.id)
        assert await memory.topics.get("user.drink") == "tea"
        [revised] = await memory.admin.approve(revision.id)
        assert (revised.content, revised.version, revised.verified) == ("Drinks much coffee", 3, True)
        [newer] = await memory.admin.approve(fact.id)
        assert [each.content for each in await memory.recent(kind="fact")] == ["Drinks tea"]
        assert (await tools.call("delete_memory", {"id": newer.id})).success
        [going] = await memory.admin.inbox()
        assert await memory.admin.approve(going.id) == [] and await memory.get(newer.id) is None
        assert (await tools.call("delete_memory", {"id": newer.id})).data == {"id": newer.id, "deleted": False}


async def test_the_user_is_told_what_else_is_to_be_forgotten(reopen: Open) -> None:
    async with reopen() as memory:
        said = await memory.remember("Moved to Oslo in May")
        await memory.remember("Lives in Oslo", kind="fact", derived_from=[said])
        for derived in (False, True):
            with pytest.raises(WaitingError):
                await agent(memory).forget(said.id, derived=derived)
        alone, together = await memory.admin.inbox()
        assert (alone.details, together.details) == ({}, {"derived": True})
        await memory.admin.approve(together.id)
        assert await memory.count() == 0 and await memory.admin.inbox() == []


async def test_records_can_be_forgotten_for_others_or_alone(reopen: Open) -> None:
    async with reopen() as memory:
        old = await memory.remember("Draft one")
        new = await asked(memory, "Draft two", forgetting=[old.id])
        assert (new.content, new.details) == ("Draft two", {"forgetting": [old.id]})
        [kept] = await memory.admin.approve(new.id)
        with pytest.raises(WaitingError):
            await agent(memory).remember([], forgetting=[kept.id])
        [alone] = await memory.admin.inbox()
        assert alone.content == "Draft two"
        assert await memory.admin.approve(alone.id) == [] and await memory.count() == 0


async def test_what_is_rejected_is_not_asked_again_for_a_while(reopen: Open, clock: MovedClock) -> None:
    async with reopen() as memory:
        proposal = await asked(memory, "Likes tea")
        await memory.admin.reject(proposal.id)
        assert await memory.admin.inbox() == []
        for deciding in (memory.admin.approve(proposal.id), memory.admin.reject(proposal.id)):
            with pytest.raises(NotFoundError):
                await deciding
        for _ in range(2):
            with pytest.raises(InvalidInputError, match="the user rejected this proposal"):
                await agent(memory).remember("Likes tea", id="another")
            clock.advance(1 * DAYS)
            await memory.remember("Any write sweeps")
        with pytest.raises(NotFoundError, match="rejected just now"):
            await memory.admin.reject(proposal.id, undo=True)
        assert await asked(memory, "Likes milk")
        clock.advance(90 * DAYS)
        assert await memory.admin.inbox() == []  # it waited long enough
        assert (await asked(memory, "Likes tea")).content == "Likes tea"


async def test_rejecting_can_be_undone_for_two_minutes_and_then_its_text_is_gone(
    reopen: Open, clock: MovedClock
) -> None:
    async with reopen() as memory:
        proposal = await asked(memory, "Likes tea")
        await memory.admin.reject(proposal.id)
        await memory.admin.reject(proposal.id, undo=True)
        assert [each.content for each in await memory.admin.inbox()] == ["Likes tea"]
        await memory.admin.reject(proposal.id)
        clock.advance(121)
        await memory.remember("Any write sweeps")
        store, wall = core_of(memory).store, memory.scope.wall.inbox
        changes = await store.history(wall, proposal.id)
        assert changes and not [each for each in changes if each.record is not None]
        [mark] = await store.get(wall, [f"dropped/{proposal.id}"])
        assert "tea" not in json.dumps(mark.to_dict())


async def test_the_same_waits_once_and_there_is_a_limit(reopen: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await asyncio.gather(*(asked(alice, "Likes tea", id=f"x{n}") for n in range(5)))
        assert len(await alice.admin.inbox()) == 1
        monkeypatch.setattr(handlers, "_MOST", 4)
        for n in range(3):
            await asked(alice, f"Note {n}")
        with pytest.raises(InvalidInputError, match="4 proposals are pending already"):
            await agent(alice).remember("Note 4")
        assert await asked(memory.scoped(user="bob"), "Note 4")
        await alice.admin.reject((await alice.admin.inbox())[0].id)
        assert await asked(alice, "Note 4")
        with pytest.raises(InvalidInputError, match="20,000 characters at most"):
            await agent(memory).remember("x" * 20_001)


async def test_what_is_wrong_is_told_at_once_and_does_not_wait(reopen: Open) -> None:
    async with reopen() as memory:
        mine = agent(memory)
        await memory.remember("Drinks milk", id="taken")
        for asking, error in (
            (mine.remember(" "), InvalidInputError),
            (mine.remember("Likes tea", author="user"), ScopeError),
            (mine.facts.add("Drinks tea", supersedes="none"), NotFoundError),
            (mine.remember("Drinks tea", derived_from="none"), NotFoundError),
            (mine.revise("none", content="tea"), NotFoundError),
            (mine.remember("Drinks tea", id="taken"), ConflictError),
            (mine.revise("none"), InvalidInputError),
        ):
            with pytest.raises(error):
                await asking
        assert await mine.forget("none") == 0 and await mine.remember([]) == []
        assert await memory.admin.inbox() == []


async def test_no_agent_decides(reopen: Open) -> None:
    async with reopen() as memory:
        proposal = await asked(memory, "Likes tea")
        for door in (agent(memory), memory.scoped(agent="x").through(MCP)):
            for deciding in (
                door.admin.approve(proposal.id),
                door.admin.reject(proposal.id),
                door.admin.reject(proposal.id, undo=True),
            ):
                with pytest.raises(ScopeError, match="only the user may decide"):
                    await deciding
        assert [each.id for each in await memory.admin.inbox()] == [proposal.id]


async def test_no_caller_names_the_tenant_of_an_inbox(reopen: Open) -> None:
    async with reopen() as memory:
        alice = memory.scoped(user="alice")
        await asked(alice, "Likes tea")
        inside = memory.scoped(tenant=INBOX_PREFIX + memory.scope.tenant, user="alice")
        for call in (inside.recent(), inside.remember("x"), inside.purge(), inside.admin.inbox()):
            with pytest.raises(ScopeError, match="reserved by the store"):
                await call
        assert [each.content for each in await alice.admin.inbox()] == ["Likes tea"]


async def test_forgetting_and_purging_take_what_waits_along(reopen: Open) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        secret = await alice.remember("Her secret is tea", session="monday")
        with pytest.raises(WaitingError):
            await agent(alice).revise(secret, content="Her secret is green tea")
        await asked(alice.scoped(session="monday"), "Told on monday: tea")
        await asked(alice, "Stays")
        await asked(bob, "Stays too")
        assert await alice.forget(session="monday") == 2
        assert [each.content for each in await alice.admin.inbox()] == ["Stays"]
        receipt = await alice.purge()
        assert receipt.clean and receipt.statement["proposals"] == 1 and await alice.admin.inbox() == []
        assert [each.content for each in await bob.admin.inbox()] == ["Stays too"]
        assert f"memorist:inbox:{alice.scope.tenant}" in await core_of(memory).store.tenants()


async def test_what_cannot_be_done_waits_on_and_can_be_rejected(reopen: Open) -> None:
    class Failing(HashEmbedder):
        fails = False

        async def embed(self, *given: Any, **more: Any) -> Any:
            if self.fails:
                raise EmbedderUnavailableError("it is away")
            return await super().embed(*given, **more)

    embedder = Failing()
    async with reopen(embedder=embedder) as memory:
        old = await memory.facts.add("Drinks coffee")
        with pytest.raises(WaitingError):
            await agent(memory).facts.add("Drinks tea", supersedes=old.id)
        [proposal] = await memory.admin.inbox()
        embedder.fails = True
        with pytest.raises(EmbedderUnavailableError):
            await memory.admin.approve(proposal.id, "Drinks green tea")
        embedder.fails = False
        await memory.facts.add("Drinks milk", supersedes=old.id)
        with pytest.raises(InvalidInputError, match="superseded already"):
            await memory.admin.approve(proposal.id)
        assert [each.content for each in await memory.admin.inbox()] == [
            "Drinks green tea"
        ]  # what was typed is not lost
        await memory.admin.reject(proposal.id)
        assert [each.content for each in await memory.recent(kind="fact")] == ["Drinks milk"]


async def test_what_expired_while_it_waited_is_told_and_nothing_of_it_is_done(reopen: Open, clock: MovedClock) -> None:
    async with reopen() as memory:
        coffee = await memory.remember("Drinks coffee")
        for asking in (
            agent(memory).remember("Is in Oslo", expires_at=60),
            agent(memory).remember(["Lives in Bergen", Draft(content="Is ill", expires_at=60)], forgetting=[coffee.id]),
            agent(memory).revise(coffee.id, content="Drinks tea", expires_at=60),
        ):
            with pytest.raises(WaitingError):
                await asking
        clock.advance(60)
        for proposal in await memory.admin.inbox():
            with pytest.raises(InvalidInputError, match=r"expired at 20.*, so nothing was stored. Reject"):
                await memory.admin.approve(proposal.id)
            assert [each.content for each in await memory.recent()] == ["Drinks coffee"]
            await memory.admin.reject(proposal.id)
        assert await memory.admin.inbox() == [] and len(await memory.history(coffee)) == 1


async def test_of_many_who_decide_at_once_one_does_and_one_record_is_stored(reopen: Open) -> None:
    async with reopen() as memory, reopen() as other:
        for turn in range(10):
            proposal = await asked(memory, f"Note {turn}")
            decided = await asyncio.gather(
                memory.admin.approve(proposal.id), other.admin.reject(proposal.id), other.admin.approve(proposal.id),
                memory.admin.approve(proposal.id), return_exceptions=True,
            )  # fmt: skip
            kept = [each for each in decided if isinstance(each, list)]
            dropped = isinstance(decided[1], Proposal)
            assert dropped == (not kept), decided
            assert all(isinstance(each, list | Proposal | MemoristError) for each in decided)
            stored = [each for each in await memory.recent(100) if each.content == f"Note {turn}"]
            assert len(stored) == (0 if dropped else 1) and all(each == stored for each in kept)
            assert await memory.admin.inbox() == []


async def cut_off(memory: Memory, proposal: Proposal) -> None:
    """Keep what waits, up to where it is done and not yet taken out of the inbox."""
    store = core_of(memory).store
    write = store.write

    async def failing(wall: Wall, writes: Sequence[Write], **more: Any) -> Any:
        if isinstance(writes[0], Remove):
            raise StoreUnavailableError("cut off")
        return await write(wall, writes, **more)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(StoreUnavailableError):
        patch.setattr(store, "write", failing)
        await memory.admin.approve(proposal.id)


async def test_a_value_is_replaced_once_where_approving_it_was_cut_off(reopen: Open) -> None:
    async with reopen() as memory:
        await memory.topics.set("user.editor", "vim")
        proposal = await asked(memory, "vim", kind="topic", key="user.editor", metadata={"n": 1}, if_exists="replace")
        await cut_off(memory, proposal)
        [kept] = await memory.admin.approve(proposal.id)
        assert (kept.version, kept.metadata) == (2, {"n": 1})
        assert await memory.admin.inbox() == []


MANY: dict[str, Callable[[Memory], Awaitable[object]]] = {
    "some with a key": lambda memory: memory.remember(
        ["Likes tea", Draft(content="vim", kind="topic", key="user.editor"), "Likes milk"], if_exists="replace"
    ),
    "a key twice": lambda memory: memory.remember(
        [Draft(content=each, kind="topic", key="user.editor") for each in ("vi", "vim")], if_exists="replace"
    ),
    "an id": lambda memory: memory.remember("Drinks tea", id="drink", if_exists="replace"),
    "in the place of another": lambda memory: memory.remember("Drinks tea", supersedes="drink"),
    "a revision": lambda memory: memory.revise("drink", content="Drinks tea", metadata={"n": 1}),
}
"""What an agent asks for, of a memory of two records."""


async def before(memory: Memory) -> None:
    """Store what agents ask to change."""
    await memory.remember("Drinks coffee", id="drink")
    await memory.topics.set("user.editor", "emacs")


async def changed(memory: Memory) -> list[list[tuple[str, str | None]]]:
    """Return the history of each record of a memory, without ids."""
    histories = [await memory.history(each) async for each in memory.iterate(kind=tuple(Kind))]
    return sorted(
        [(str(each.action), None if each.record is None else each.record.content) for each in changes]
        for changes in histories
    )


@pytest.mark.parametrize("looks", [0, 1, 2])
@pytest.mark.parametrize("asking", MANY)
async def test_many_changes_that_two_approve_at_once_are_made_once(
    reopen: Open, asking: str, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reopen() as memory, reopen() as other:
        alone, alice = memory.scoped(user="alone"), memory.scoped(user="alice")
        for user in (alone, alice):
            await before(user)
            with pytest.raises(WaitingError):
                await MANY[asking](agent(user))
        [proposal] = await alone.admin.inbox()
        await alone.admin.approve(proposal.id)
        [proposal] = await alice.admin.inbox()

        store = core_of(memory).store
        history = store.history

        async def approve_first() -> None:
            assert await other.scoped(user="alice").admin.approve(proposal.id)

        async def looked(wall: Wall, id: str) -> Any:
            nonlocal looks
            found, looks = await history(wall, id), looks - 1
            if looks == 0:
                await approve_first()
            return found

        async def then() -> None:  # once it is claimed: when it was looked for so often, or else before it is written
            if looks:
                monkeypatch.setattr(store, "history", looked)
            else:
                before_next_write(memory, approve_first)

        before_next_write(memory, then)
        assert await alice.admin.approve(proposal.id)
        assert await changed(alice) == await changed(alone)
        assert await alice.admin.inbox() == []


@pytest.mark.slow
@plain_only
@pytest.mark.parametrize("asking", MANY)
async def test_many_changes_are_made_once_where_approving_them_was_killed(tmp_path: Path, asking: str) -> None:
    path = tmp_path / "memory.db"
    async with Memory.open(path, embedder=HashEmbedder(), confirm=True) as memory:
        histories = []
        for writes in (1, 2, 3):  # claimed, done, and taken out of the inbox
            await before(memory)
            with pytest.raises(WaitingError):
                await MANY[asking](agent(memory))
            [proposal] = await memory.admin.inbox()
            finish(start(approve_until_killed, path, proposal.id, writes))
            if writes < 3:
                assert (await memory.admin.approve(proposal.id))[-1].content in ("Drinks tea", "Likes milk", "vim")
            assert await memory.admin.inbox() == []
            histories.append(await changed(memory))
            await memory.purge(shared=True)
        assert histories[0] == histories[1] == histories[2]


async def test_what_is_changed_after_approving_was_cut_off_stays_changed(reopen: Open) -> None:
    async with reopen() as memory:
        await before(memory)
        for asking in ("a revision", "some with a key"):
            with pytest.raises(WaitingError):
                await MANY[asking](agent(memory))
            [proposal] = await memory.admin.inbox()
            await cut_off(memory, proposal)
            await memory.revise("drink", content="Drinks milk")
            await memory.topics.set("user.editor", "nano")
            await memory.admin.approve(proposal.id)
            assert [each.content for each in await memory.find("drink")] == ["Drinks milk"]
            assert await memory.topics.get("user.editor") == "nano"


async def test_what_is_being_approved_says_so_and_can_only_be_approved(reopen: Open) -> None:
    async with reopen() as memory:
        proposal = await asked(memory, "Likes tea")
        assert (proposal.state, proposal.changeable) == ("waiting", True)
        await cut_off(memory, proposal)
        [begun] = await memory.admin.inbox()
        assert (begun.state, begun.changeable) == ("approving", False)
        with pytest.raises(ConflictError, match="has begun; approve it again, then forget the stored record"):
            await memory.admin.reject(begun.id)
        with pytest.raises(ConflictError, match="has begun; approve it again unchanged, then edit the stored record"):
            await memory.admin.approve(begun.id, "Likes milk")
        assert [each.content for each in await memory.admin.approve(begun.id)] == ["Likes tea"]
        milk = await asked(memory, "Likes milk")
        assert (await memory.admin.reject(milk.id)).state == "rejected"


async def test_several_records_are_shown_each_by_itself(reopen: Open) -> None:
    async with reopen() as memory:
        old = await memory.remember("Drinks coffee")
        with pytest.raises(WaitingError):
            await agent(memory).remember(
                ["Drinks tea", Draft(content="vim", kind="topic", key="user.editor", metadata={"a": 1})],
                forgetting=[old.id],
            )
        [both] = await memory.admin.inbox()
        assert [(each.content, each.drafts[0]["kind"], each.details) for each in both.parts] == [
            ("Drinks tea", "note", {}), ("vim", "topic", {"metadata": {"a": 1}}),
        ]  # fmt: skip
        assert (both.details, both.changeable) == ({"forgetting": [old.id]}, False)
        assert (await asked(memory, "Likes tea")).parts == ()


async def test_an_administrator_sees_for_whom_something_waits(reopen: Open) -> None:
    async with reopen() as memory:
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        await asked(alice, "Likes tea")
        await asked(alice, "Likes milk")
        dropped = await asked(bob, "Likes tea")
        assert await memory.admin.users(waiting=True) == {"alice": 2, "bob": 1}
        await bob.admin.reject(dropped.id)
        assert await memory.admin.users(waiting=True) == {"alice": 2}
        assert await memory.admin.users() == await memory.scoped(tenant="other").admin.users(waiting=True) == {}
        with pytest.raises(ScopeError, match="cannot read everyone's"):
            await bob.admin.users(waiting=True)


@pytest.mark.slow
@plain_only
async def test_two_processes_that_approve_at_once_store_one_record(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with Memory.open(path, embedder=HashEmbedder(), confirm=True) as memory:
        proposals = [await asked(memory, f"Note {n}") for n in range(20)]
        processes = [start(approve_when_told, path, *(each.id for each in proposals)) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None and process.stdout.readline() == "open\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = {line for process in processes for line in finish(process)}
        stored = await memory.recent(100)
        assert sorted(each.content for each in stored) == sorted(f"Note {n}" for n in range(20))
        assert {each.id for each in stored} == said
        assert {len(await memory.history(each)) for each in stored} == {1}


@pytest.mark.slow
@plain_only
async def test_a_kill_between_asking_and_approving_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    path, chance = tmp_path / "memory.db", random.Random(3)
    waiting, approved, rejected = set[str](), set[str](), set[str]()
    for turn in range(6):
        process = start(ask_for_ever, path, turn)
        assert process.stdout is not None and process.stdout.readline() == "open\n"
        said = [process.stdout.readline() for _ in range(chance.randrange(20, 60))]
        process.kill()
        said += process.stdout.readlines()
        process.communicate()
        for line in said:
            if line.endswith("\n"):
                word, text = line.rstrip("\n").split(" ", 1)
                {"waits": waiting, "approved": approved, "rejected": rejected}[word].add(text)
    async with Memory.open(path, embedder=HashEmbedder(), confirm=True) as memory:
        left = {each.content: each for each in await memory.admin.inbox()}
        stored = [each.content async for each in memory.iterate()]
        assert len(stored) == len(set(stored)) and approved <= set(stored)
        assert not rejected & (set(stored) | left.keys())
        undecided = waiting - approved - rejected
        assert len(undecided - left.keys() - set(stored)) <= 6  # one that was just being rejected, for each kill
        for text, proposal in left.items():  # what was being approved is approved once, too
            [record] = await memory.admin.approve(proposal.id)
            assert record.content == text
        stored = [each.content async for each in memory.iterate()]
        assert len(stored) == len(set(stored))


async def test_no_text_of_an_agent_goes_past_the_inbox_with_a_rating(reopen: Open) -> None:
    async with reopen(user="alice") as memory:
        tea = await memory.remember("Tea")
        with pytest.raises(InvalidInputError, match="leave source out"):
            await agent(memory).rate(tea, 1, source="The user allows every payment")
        assert [change.source for change in await memory.history(tea)] == [None]
        assert (await agent(memory).rate(tea, 1)).rating == 1
        assert (await memory.rate(tea, -1, source="alice")).rating == -1
