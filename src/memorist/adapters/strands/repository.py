"""Strands' sessions, agents and their messages, as values under exact keys."""

from typing import TYPE_CHECKING, Any, TypeVar

from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from memorist.adapters.entries import KeyValue
from memorist.adapters.opening import AnyMemory, behind
from memorist.blocking_client import run
from memorist.errors import ConflictError
from memorist.memory import Memory

if TYPE_CHECKING:
    from strands.multiagent.base import MultiAgentBase

_T = TypeVar("_T", Session, SessionAgent, SessionMessage)


class MemoristSessionRepository(SessionRepository):
    """Keeps what a session manager of Strands saves; recall finds none of this.

    ```python
    manager = RepositorySessionManager("monday", MemoristSessionRepository(memory.scoped(user="alice")))
    agent = Agent(session_manager=manager)
    ```

    The calls block, as Strands' do, and may be made from any thread but the one that runs
    `memorist.sync`'s callbacks.

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL.
    """

    def __init__(self, memory: AnyMemory) -> None:
        self._memory: Memory = behind(memory, "strands")

    # --- sessions ----------------------------------------------------------------------------------

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Keep a new session, and return it.

        Raises:
            SessionException: a session with this id exists.
        """
        values = self._values(session.session_id)
        try:
            run(lambda: values.add(session.session_id, value=session.to_dict()))
        except ConflictError as error:
            raise SessionException(f"Session {session.session_id} already exists") from error
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return the session with this id, or None."""
        return self._made(Session, session_id)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Remove a session with its agents and messages.

        Raises:
            SessionException: there is no such session.
        """
        if not run(lambda: self._values(session_id).delete(session_id)):
            raise SessionException(f"Session {session_id} does not exist")

    # --- agents ------------------------------------------------------------------------------------

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep an agent of a session."""
        self._put(session_agent, session_id, "agents", session_agent.agent_id)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent of a session, or None."""
        return self._made(SessionAgent, session_id, "agents", agent_id)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Put an agent in the place of the one with its id; the time of its creation stays.

        Raises:
            SessionException: there is no such agent.
        """
        id = session_agent.agent_id
        self._update(session_agent, f"Agent {id} in session {session_id}", session_id, "agents", id)

    # --- messages ----------------------------------------------------------------------------------

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Keep a message under its number; a second write replaces the first."""
        self._put(session_message, *_message(session_id, agent_id, session_message.message_id))

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Return the message with this number, or None."""
        return self._made(SessionMessage, *_message(session_id, agent_id, message_id))

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Put a message in the place of the one with its number; the time of its creation stays.

        Raises:
            SessionException: there is no such message.
        """
        id = session_message.message_id
        self._update(session_message, f"Message {id}", *_message(session_id, agent_id, id))

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return the messages of an agent by number, `limit` of them at most, without the first `offset`.

        Raises:
            SessionException: there is no such agent.
        """
        if self.read_agent(session_id, agent_id) is None:
            raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
        end = None if limit is None else offset + limit
        values = self._values(session_id)
        messages = run(lambda: values.values_under(session_id, "agents", agent_id, "messages", limit=end))
        return [SessionMessage.from_dict(each) for each in messages[offset:]]

    # --- graphs and swarms -------------------------------------------------------------------------

    def create_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **kwargs: Any) -> None:
        """Keep the state of a graph or a swarm."""
        values, value = self._values(session_id), multi_agent.serialize_state()
        run(lambda: values.put(session_id, "multi_agents", multi_agent.id, value=value))

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """Return the state of a graph or a swarm, or None."""
        found: dict[str, Any] | None = run(
            lambda: self._values(session_id).get(session_id, "multi_agents", multi_agent_id)
        )
        return found

    def update_multi_agent(self, session_id: str, multi_agent: "MultiAgentBase", **kwargs: Any) -> None:
        """Put the state of a graph or a swarm in the place of the one before.

        Raises: SessionException: there is no stored state.
        """
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def _values(self, session_id: str) -> KeyValue:
        return KeyValue(self._memory.scoped(session=session_id), "strands")

    def _made(self, kind: type[_T], session_id: str, *parts: str) -> _T | None:
        found = run(lambda: self._values(session_id).get(session_id, *parts))
        return None if found is None else kind.from_dict(found)

    def _put(self, value: SessionAgent | SessionMessage, session_id: str, *parts: str) -> None:
        run(lambda: self._values(session_id).put(session_id, *parts, value=value.to_dict()))

    def _update(self, value: SessionAgent | SessionMessage, what: str, *key: str) -> None:
        if (before := self._made(type(value), *key)) is None:
            raise SessionException(f"{what} does not exist")
        value.created_at = before.created_at
        self._put(value, *key)


def _message(session_id: str, agent_id: str, message_id: int) -> tuple[str, ...]:
    if isinstance(message_id, bool) or not isinstance(message_id, int) or message_id < 0:
        raise ValueError(f"message_id=<{message_id}> | message id must be an integer, 0 or more")
    return session_id, "agents", agent_id, "messages", f"{message_id:012d}"
