"""What every provider of Promptise's kind promises: ids, copies, scores, and walls between users."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from memorist.adapters.promptise import (
    MemoristProvider,
    MemoryIsolationError,
    MemoryProvider,
    MemoryResult,
    MemoryScope,
    owner_key,
)

pytestmark = pytest.mark.anyio

Make = Callable[[MemoryScope], MemoryProvider]
SHARED, PER_USER = MemoryScope.SHARED, MemoryScope.PER_USER


def texts(found: list[MemoryResult]) -> list[str]:
    return sorted(each.content for each in found)


# --- the types ---------------------------------------------------------------------------------------------


def test_the_types() -> None:
    assert (MemoryScope.SHARED, MemoryScope.PER_USER) == ("shared", "per_user")
    assert issubclass(MemoryIsolationError, RuntimeError)
    scores = [MemoryResult("a text", score, "1").score for score in (-1, 0.25, 7, float("nan"), float("inf"), 1)]
    assert scores == [0.0, 0.25, 1.0, 0.0, 1.0, 1.0]
    assert MemoryResult("a text", "0.5", "1").score == 0.5  # type: ignore[arg-type]
    assert MemoryResult("a text", 1.0, "1").metadata == {}
    with pytest.raises(AttributeError):
        MemoryResult("a text", 1.0, "1").score = 0.5  # type: ignore[misc]


def test_whatever_has_the_methods_is_a_provider() -> None:
    class Mine:
        scope = SHARED

        async def search(self, query: str, **rest: Any) -> list[MemoryResult]:
            return []

        async def add(self, content: str, **rest: Any) -> str:
            return ""

        async def delete(self, memory_id: str, **rest: Any) -> bool:
            return False

        async def purge_user(self, user_id: str) -> int:
            return 0

        async def close(self) -> None: ...

    assert isinstance(Mine(), MemoryProvider)
    assert not isinstance(object(), MemoryProvider)


# --- every provider ----------------------------------------------------------------------------------------


async def test_what_was_added_is_found_until_it_is_deleted(make: Make) -> None:
    provider = make(SHARED)
    assert isinstance(provider, MemoryProvider)
    assert await provider.search("dark mode") == []
    id = await provider.add("User prefers dark mode", metadata={"source": "chat"})
    other = await provider.add("User speaks Elixir")
    assert id != other

    first, *_ = await provider.search("dark mode")
    assert (first.content, first.memory_id, first.metadata) == ("User prefers dark mode", id, {"source": "chat"})
    assert 0.0 < first.score <= 1.0

    assert await provider.delete(id) is True
    assert await provider.delete(id) is False
    assert await provider.delete("none") is False
    assert "User prefers dark mode" not in texts(await provider.search("dark mode"))


async def test_a_search_has_its_limit(make: Make) -> None:
    provider = make(SHARED)
    for n in range(8):
        await provider.add(f"dark mode number {n}")
    assert len(await provider.search("dark mode")) == 5
    found = await provider.search("dark mode", limit=3)
    assert len(found) == 3
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert await provider.search("dark mode", limit=0) == await provider.search("dark mode", limit=-1) == []
    assert await provider.search("") == await provider.search("  \n") == []


async def test_metadata_is_copied_in_and_out(make: Make) -> None:
    provider = make(PER_USER)
    given = {"tag": "one"}
    await provider.add("dark mode", metadata=given, user_id="alice")
    given["tag"] = "changed"
    [found] = await provider.search("dark mode", user_id="alice")
    found.metadata["tag"] = "changed, too"
    [again] = await provider.search("dark mode", user_id="alice")
    assert again.metadata == {"tag": "one"}
    await provider.add("dark mode", user_id="bob")
    [bare] = await provider.search("dark mode", user_id="bob")
    assert bare.metadata == {}  # no key of the provider's own


async def test_a_scope_may_be_a_text_and_a_wrong_one_is_refused(make: Make) -> None:
    assert make("per_user").scope is PER_USER  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="per-user"):
        make("per-user")  # type: ignore[arg-type]


async def test_a_shared_provider_does_not_look_at_users(make: Make) -> None:
    provider = make(SHARED)
    id = await provider.add("dark mode", user_id="alice")
    assert texts(await provider.search("dark mode", user_id="bob")) == ["dark mode"]
    assert texts(await provider.search("dark mode", user_id="")) == ["dark mode"]
    assert await provider.purge_user("alice") == await provider.purge_user("") == 0
    assert await provider.delete(id, user_id="bob") is True


@pytest.mark.parametrize("user", [None, ""])
async def test_without_a_user_a_call_is_refused(make: Make, user: str | None) -> None:
    provider = make(PER_USER)
    name = type(provider).__name__
    for method, call in (
        ("search", provider.search("", user_id=user)),
        ("add", provider.add("dark mode", user_id=user)),
        ("delete", provider.delete("none", user_id=user)),
    ):
        with pytest.raises(MemoryIsolationError) as error:
            await call
        assert str(error.value) == f"{name}.{method} requires a user_id when scope=PER_USER"
    assert await provider.purge_user("") == 0


async def test_no_user_sees_or_touches_anothers(make: Make) -> None:
    provider = make(PER_USER)
    users = ["alice", "bob", "alice ", "al ice", "al%20ice", "Alice", "default", "shared", "*", "ä"]
    if isinstance(provider, MemoristProvider):
        users.remove("alice ")  # no name has white space around it in a Memorist store
        with pytest.raises(ValueError, match="white space"):
            await provider.add("dark mode", user_id="alice ")
    ids = {user: await provider.add(f"dark mode of <{user}>", user_id=user) for user in users}

    for user in users:
        assert texts(await provider.search("dark mode of", limit=99, user_id=user)) == [f"dark mode of <{user}>"]
        for other in users:
            if other != user:
                assert await provider.delete(ids[other], user_id=user) is False
    assert await provider.search("dark mode", user_id="nobody") == []
    assert await provider.purge_user("nobody") == 0
    assert await provider.purge_user("alice") == 1
    assert await provider.search("dark mode", user_id="alice") == []
    for user in users[1:]:
        assert len(await provider.search("dark mode", user_id=user)) == 1
        assert await provider.delete(ids[user], user_id=user) is True


async def test_entries_are_listed_by_their_metadata(make: Make) -> None:
    provider: Any = make(PER_USER)
    for n, kind in enumerate(("lesson", "failure", "lesson")):
        await provider.add(f"note {n}", metadata={"type": kind, "n": n}, user_id="alice")
    await provider.add("of bob", metadata={"type": "lesson"}, user_id="bob")

    found = await provider.list_entries(user_id="alice", metadata={"type": "lesson"})
    assert sorted(texts(found)) == ["note 0", "note 2"]
    assert {each.score for each in found} == {1.0}
    assert sorted(each.metadata["n"] for each in found) == [0, 2]
    assert len(await provider.list_entries(user_id="alice")) == 3
    assert len(await provider.list_entries(user_id="alice", limit=2)) == 2
    assert await provider.list_entries(user_id="alice", limit=0) == []
    assert await provider.list_entries(user_id="alice", metadata={"type": "none"}) == []
    with pytest.raises(MemoryIsolationError, match=r"list_entries requires a user_id when scope=PER_USER"):
        await provider.list_entries()
    assert texts(await make(MemoryScope.SHARED).list_entries()) == []  # type: ignore[attr-defined]


async def test_a_tenants_user_is_nobody_elses(make: Make) -> None:
    provider = make(PER_USER)
    for user in ("alice", owner_key("alice", "acme"), owner_key("alice", "other")):
        await provider.add(f"dark mode of {user}", user_id=user)
    assert await provider.purge_user("alice", tenant_id="acme") == 1
    assert texts(await provider.search("dark mode", user_id="alice")) == ["dark mode of alice"]
    assert texts(await provider.search("dark mode", user_id="other::alice")) == ["dark mode of other::alice"]
    for user, tenant in (("a::b", "acme"), ("alice", "a:b"), ("alice", " ")):
        with pytest.raises(ValueError, match="must"):
            await provider.purge_user(user, tenant_id=tenant)


async def test_a_purge_takes_everything_of_a_user_and_counts_it(make: Make) -> None:
    provider = make(PER_USER)
    for n in range(30):
        await provider.add(f"dark mode {n}", user_id="alice")
    await provider.add("dark mode", user_id="bob")
    assert await provider.purge_user("alice") == 30
    assert await provider.search("dark mode", user_id="alice") == []
    assert len(await provider.search("dark mode", user_id="bob")) == 1
    assert await provider.purge_user("alice") == 0


@pytest.mark.parametrize("seed", range(3))
async def test_users_at_once_are_as_if_each_were_alone(make: Make, seed: int) -> None:
    """Any mix of calls of any users, all under way together: each sees exactly what they did themselves."""
    provider = make(PER_USER)
    others: list[str] = []

    async def live(user: str, random: random.Random) -> None:
        mine: dict[str, str] = {}
        for step in range(12):
            what = random.choice(["add", "add", "add", "search", "delete", "steal", "purge"])
            if what == "add":
                text = f"note {step} of {user}"
                mine[await provider.add(text, user_id=user)] = text
            elif what == "delete" and mine:
                id = random.choice(sorted(mine))
                assert await provider.delete(id, user_id=user) is True
                del mine[id]
            elif what == "steal" and (strange := [each for each in others if each not in mine]):
                assert await provider.delete(random.choice(strange), user_id=user) is False
            elif what == "purge" and step == 8:
                assert await provider.purge_user(user) == len(mine)
                mine.clear()
            others.extend(mine)
            found = await provider.search(f"of {user}", limit=99, user_id=user)
            assert {each.memory_id: each.content for each in found} == mine

    await asyncio.gather(*(live(f"user-{n}-", random.Random(10 * seed + n)) for n in range(5)))
