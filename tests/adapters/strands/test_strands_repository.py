"""The session repository: the cases of Strands' own file sessions, and a real agent that is restored."""

from collections.abc import Callable

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from memorist import Memory
from memorist.adapters.strands import MemoristSessionRepository
from memorist.records.record import Kind
from strands_model import ScriptedModel

pytestmark = pytest.mark.anyio


def message(number: int, text: str = "Hello") -> SessionMessage:
    return SessionMessage(message={"role": "user", "content": [{"text": text}]}, message_id=number)


@pytest.fixture
async def repository(alice: Memory) -> MemoristSessionRepository:
    repository = MemoristSessionRepository(alice)
    repository.create_session(Session("monday", SessionType.AGENT))
    repository.create_agent("monday", SessionAgent("cook", {"dish": "soup"}, {}))
    return repository


async def test_a_session_is_read_as_it_was_created(repository: MemoristSessionRepository) -> None:
    session = repository.read_session("monday")
    assert session is not None
    assert (session.session_id, session.session_type) == ("monday", SessionType.AGENT)
    assert repository.read_session("tuesday") is None
    with pytest.raises(SessionException, match="already exists"):
        repository.create_session(Session("monday", SessionType.AGENT))


async def test_a_deleted_session_is_gone_with_all_in_it(alice: Memory, repository: MemoristSessionRepository) -> None:
    repository.create_session(Session("monday2", SessionType.AGENT))
    repository.create_message("monday", "cook", message(0))
    repository.delete_session("monday")
    assert repository.read_session("monday") is None
    assert repository.read_agent("monday", "cook") is None
    assert repository.read_session("monday2") is not None
    assert await alice.count(kind=tuple(Kind)) == 1
    with pytest.raises(SessionException, match="does not exist"):
        repository.delete_session("monday")


async def test_an_agent_is_updated_and_keeps_its_creation(repository: MemoristSessionRepository) -> None:
    before = repository.read_agent("monday", "cook")
    assert before is not None
    repository.update_agent("monday", SessionAgent("cook", {"dish": "pie"}, {}, created_at="never"))
    after = repository.read_agent("monday", "cook")
    assert after is not None
    assert (after.state, after.created_at) == ({"dish": "pie"}, before.created_at)
    with pytest.raises(SessionException, match="does not exist"):
        repository.update_agent("monday", SessionAgent("waiter", {}, {}))


async def test_messages_are_listed_by_number(repository: MemoristSessionRepository) -> None:
    for number in (2, 0, 10, 1):
        repository.create_message("monday", "cook", message(number, f"number {number}"))
    numbers = [each.message_id for each in repository.list_messages("monday", "cook")]
    assert numbers == [0, 1, 2, 10]
    assert [each.message_id for each in repository.list_messages("monday", "cook", limit=2, offset=1)] == [1, 2]
    assert repository.list_messages("monday", "cook", offset=9) == []
    with pytest.raises(SessionException, match="does not exist"):
        repository.list_messages("monday", "waiter")


async def test_a_message_written_again_is_kept_once(alice: Memory, repository: MemoristSessionRepository) -> None:
    before = await alice.count(kind=tuple(Kind))
    for _ in range(3):
        repository.create_message("monday", "cook", message(0))
    assert await alice.count(kind=tuple(Kind)) == before + 1
    assert len(repository.list_messages("monday", "cook")) == 1


async def test_a_message_is_redacted(repository: MemoristSessionRepository) -> None:
    repository.create_message("monday", "cook", message(0, "My number is 1234"))
    found = repository.read_message("monday", "cook", 0)
    assert found is not None
    found.redact_message = {"role": "user", "content": [{"text": "[gone]"}]}
    repository.update_message("monday", "cook", found)
    [after] = repository.list_messages("monday", "cook")
    assert after.to_message() == found.redact_message
    with pytest.raises(SessionException, match="does not exist"):
        repository.update_message("monday", "cook", message(7))
    with pytest.raises(ValueError, match="integer"):
        repository.read_message("monday", "cook", "../0")  # type: ignore[arg-type]


async def test_bytes_come_back_as_bytes(repository: MemoristSessionRepository) -> None:
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\x00"}}}
    given = SessionMessage(message={"role": "user", "content": [picture]}, message_id=0)  # type: ignore[list-item]
    repository.create_message("monday", "cook", given)
    [found] = repository.list_messages("monday", "cook")
    assert found.message["content"] == [picture]


async def test_names_may_hold_anything_and_users_are_apart(alice: Memory, bob: Memory) -> None:
    repository = MemoristSessionRepository(alice)
    for name in ("a", "a/b", "a/agents/b", "a%2Fb", "sé🎉"):
        repository.create_session(Session(name, SessionType.AGENT))
        repository.create_agent(name, SessionAgent("b/messages/1", {"of": name}, {}))
    repository.delete_session("a")
    for name in ("a/b", "a/agents/b", "a%2Fb", "sé🎉"):
        agent = repository.read_agent(name, "b/messages/1")
        assert agent is not None
        assert agent.state == {"of": name}
        assert MemoristSessionRepository(bob).read_session(name) is None


async def test_nothing_of_a_session_is_recalled(alice: Memory, repository: MemoristSessionRepository) -> None:
    repository.create_message("monday", "cook", message(0, "Homestays please"))
    assert await alice.recall("homestays please") == []


async def test_an_agent_goes_on_where_it_was(reopen: Callable[..., Memory]) -> None:
    async with reopen(user="alice") as memory:
        manager = RepositorySessionManager("monday", MemoristSessionRepository(memory))
        agent = Agent(model=ScriptedModel("Hello Alice."), session_manager=manager, callback_handler=None)
        agent.state.set("mood", "good")
        await agent.invoke_async("I am Alice")
        before = agent.messages
    async with reopen(user="alice") as memory:
        manager = RepositorySessionManager("monday", MemoristSessionRepository(memory))
        agent = Agent(model=ScriptedModel("Alice."), session_manager=manager, callback_handler=None)
        assert agent.messages == before
        assert agent.state.get("mood") == "good"
        await agent.invoke_async("Who am I?")
        assert len(agent.messages) == 4
