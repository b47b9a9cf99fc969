"""What an agent's tool would change is asked of the user at once, where the client can show a question."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitRequestFormParams, ElicitResult

from memorist.memory import Memory
from memorist.serve.mcp import Gate
from memorist.serve.mcp import create_app as create_mcp
from servers import running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def confirming(reopen: Any) -> AsyncIterator[Memory]:
    async with reopen(confirm=True) as memory:
        yield memory


class Person:
    """Answers questions, and keeps what was asked."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.answer = ElicitResult(action=action, content=content or None)
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return self.answer


@pytest.fixture
def asking(confirming: Memory) -> Connect:
    @asynccontextmanager
    async def connect(person: Person | None, *, elicit: bool = True, **more: Any) -> AsyncIterator[Client]:
        app = create_mcp(Gate(memory=confirming, user="alice", open=True), elicit=elicit, **more)
        async with (
            app.router.lifespan_context(app),
            running(app) as url,
            Client(f"{url}/mcp", elicitation_callback=person) as client,
        ):
            yield client

    return connect


async def test_a_yes_keeps_a_no_drops_and_no_answer_lets_it_wait(asking: Connect, confirming: Memory) -> None:
    alice = confirming.scoped(user="alice")
    person = Person(keep=True)
    async with asking(person) as client:
        assert not (await client.call_tool("add_memory", {"content": "Likes tea"})).is_error
        assert person.asked == ["Remember this?\n\nLikes tea"]
        [kept] = await alice.recent()
        assert kept.content == "Likes tea" and kept.verified and kept.origin.authors.names == ["assistant"]
        await client.call_tool("update_memory", {"id": kept.id, "content": "Likes coffee"})
        assert person.asked[1:] == ["Change a memory to this?\n\nLikes coffee"]
        for refusal in (ElicitResult(action="decline"), ElicitResult(action="accept", content={"keep": False})):
            person.answer = refusal
            refused = await client.call_tool("add_memory", {"content": f"Likes {refusal.action}"})
            assert refused.is_error and "said no" in refused.content[0].text  # type: ignore[union-attr]
            again = await client.call_tool("add_memory", {"content": f"Likes {refusal.action}"})
            assert again.is_error and "rejected" in again.content[0].text  # type: ignore[union-attr]
        assert len(person.asked) == 4 and await alice.admin.inbox() == []
        person.answer = ElicitResult(action="cancel")
        waiting = await client.call_tool("add_memory", {"content": "Likes milk"})
        assert "pending approval" in waiting.content[0].text  # type: ignore[union-attr]
        assert [each.content for each in await alice.admin.inbox()] == ["Likes milk"]
        person.answer = ElicitResult(action="accept", content={"keep": True})
        deleted = await client.call_tool("delete_memory", {"id": kept.id})
        assert "true" in deleted.content[0].text  # type: ignore[union-attr]
    assert await alice.count() == 0


@pytest.mark.parametrize(("more", "elicit"), [({"person": None}, True), ({"person": Person(keep=True)}, False)])
async def test_where_nobody_can_be_asked_it_waits_in_the_inbox(
    asking: Connect, confirming: Memory, more: Any, elicit: bool
) -> None:
    async with asking(more["person"], elicit=elicit) as client:
        told = await client.call_tool("add_memory", {"content": "Likes tea"})
    assert "pending approval" in told.content[0].text  # type: ignore[union-attr]
    assert await confirming.scoped(user="alice").count() == 0
    assert len(await confirming.scoped(user="alice").admin.inbox()) == 1


async def test_every_tool_asks_and_answers_in_its_own_form(asking: Connect, confirming: Memory) -> None:
    async with asking(Person(keep=True), tools="all") as client:
        saved = await client.call_tool("save_topic", {"topic": "user.drink", "value": "tea"})
        assert saved.structured_content["key"] == "user.drink" and saved.structured_content["content"] == "tea"
        gone = await client.call_tool("delete_memory", {"id": saved.structured_content["id"]})
        assert gone.structured_content == {"id": saved.structured_content["id"], "deleted": True}
