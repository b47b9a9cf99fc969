import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import MovedClock
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

LANGUAGE = "user.language_preference"


async def test_a_topic_is_replaced_in_place(alice: Memory) -> None:
    first = await alice.topics.set(LANGUAGE, "Python", source="chat")
    second = await alice.topics.set(LANGUAGE, "Elixir", metadata={"sure": True})

    assert await alice.topics.get(LANGUAGE) == "Elixir"
    assert (second.id, second.version, second.metadata) == (first.id, 2, {"sure": True})
    assert await alice.topics.record(LANGUAGE) == second
    assert [each.record and each.record.content for each in await alice.history(first.id)] == ["Python", "Elixir"]


async def test_nothing_but_the_exact_name_finds_it(alice: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise AssertionError("a topic was embedded")

    monkeypatch.setattr(HashEmbedder, "embed", fail)
    await alice.topics.set(LANGUAGE, "Elixir")

    for name in ("user.language", LANGUAGE.upper(), f" {LANGUAGE}", f"{LANGUAGE} ", "user"):
        assert await alice.topics.get(name) is None
        assert await alice.topics.record(name) is None
        assert await alice.topics.delete(name) is False
    monkeypatch.undo()
    assert await alice.recall("Elixir user language preference") == []


async def test_topics_are_listed_by_prefix_in_order(alice: Memory) -> None:
    for topic in ("user.b", "project.x", "user.a", "user%", "userland"):
        await alice.topics.set(topic, topic.upper())

    assert await alice.topics.list("user.") == {"user.a": "USER.A", "user.b": "USER.B"}
    assert list(await alice.topics.list()) == ["project.x", "user%", "user.a", "user.b", "userland"]
    assert await alice.topics.list("nothing") == {}


async def test_delete_tells_whether_there_was_one(alice: Memory, bob: Memory) -> None:
    await alice.topics.set(LANGUAGE, "Elixir")

    assert await bob.topics.delete(LANGUAGE) is False
    assert await alice.topics.delete(LANGUAGE) is True
    assert await alice.topics.delete(LANGUAGE) is False
    assert await alice.topics.get(LANGUAGE) is None


async def test_users_have_topics_of_their_own(everyone: Memory, alice: Memory, bob: Memory) -> None:
    await alice.topics.set(LANGUAGE, "Elixir")
    await everyone.topics.set(LANGUAGE, "any")

    assert await bob.topics.get(LANGUAGE) is None
    assert await bob.topics.get(LANGUAGE, shared=True) == "any"
    assert await alice.topics.get(LANGUAGE, shared=True) == "Elixir"
    assert await bob.topics.list() == {}


async def test_a_topic_stands_in_every_session(alice: Memory) -> None:
    monday, tuesday = alice.scoped(session="monday"), alice.scoped(session="tuesday", agent="a")
    await monday.topics.set(LANGUAGE, "Elixir")

    assert await tuesday.topics.list() == await alice.topics.list() == {LANGUAGE: "Elixir"}
    await tuesday.topics.set(LANGUAGE, "Gleam")
    assert await monday.topics.get(LANGUAGE) == "Gleam"
    assert await monday.topics.delete(LANGUAGE) is True


async def test_a_topic_may_expire(alice: Memory, clock: MovedClock) -> None:
    await alice.topics.set("constraint.budget", "1000", expires_at=60)
    assert await alice.topics.get("constraint.budget") == "1000"
    clock.advance(61)
    assert await alice.topics.get("constraint.budget") is None
    await alice.topics.set("constraint.budget", "2000")
    assert await alice.topics.list() == {"constraint.budget": "2000"}


@pytest.mark.parametrize("wrong", ["", " ", None, 5])
async def test_names_and_values_say_something(alice: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^topic must"):
        await alice.topics.set(wrong, "value")
    with pytest.raises(InvalidInputError, match=r"^value must"):
        await alice.topics.set("topic", wrong)
    for verb in (alice.topics.get, alice.topics.record, alice.topics.delete):
        with pytest.raises(InvalidInputError, match=r"^topic must"):
            await verb(wrong)


async def test_it_outlives_the_process(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        await memory.topics.set(LANGUAGE, "Elixir")
    async with reopen(user="alice") as memory:
        assert await memory.topics.get(LANGUAGE) == "Elixir"


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3).filter(str.strip)


@settings(max_examples=40)
@given(st.lists(st.tuples(names, st.none() | names), max_size=12), st.text("ab.%_", max_size=2))
def test_it_is_a_dict(steps: list[tuple[str, str | None]], prefix: str) -> None:
    """Each step sets a topic, or (None) deletes it."""

    async def check() -> None:
        model: dict[str, str] = {}
        async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            for topic, value in steps:
                if value is None:
                    assert await memory.topics.delete(topic) is (model.pop(topic, None) is not None)
                else:
                    await memory.topics.set(topic, value)
                    model[topic] = value
                assert await memory.topics.get(topic) == model.get(topic)
            listed = await memory.topics.list()
            assert listed == model and list(listed) == sorted(model)
            assert await memory.topics.list(prefix) == {k: v for k, v in model.items() if k.startswith(prefix)}

    asyncio.run(check())
