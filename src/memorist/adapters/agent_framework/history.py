"""Agent Framework's conversation history."""

from collections.abc import Sequence
from typing import Any

from agent_framework import HistoryProvider, Message

from memorist.adapters.entries import SessionEntries, SessionEntry
from memorist.adapters.turns import behind
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.twin import Twin


class MemoristHistoryProvider(HistoryProvider):
    """Keeps the messages of each session whole and in order; recall does not find them.

    ```python
    agent = Agent(client=client, context_providers=[MemoristHistoryProvider(memory.scoped(user="alice"))])
    ```

    Args:
        memory: an open memory, asynchronous or blocking; it is not closed here.
        source_id: names the provider among those of an agent; each keeps a history of its own.
        limit: the most messages that a run is given, the newest; by default all.
        **options: as in Agent Framework's `HistoryProvider`.
    """

    def __init__(
        self, memory: Memory | Twin, source_id: str = "memorist_history", *, limit: int | None = None, **options: Any
    ) -> None:
        super().__init__(source_id, **options)
        self._memory = behind(memory, "agent_framework")
        self._limit = limit

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        return [Message.from_dict(each) for each in await self._entries(session_id).newest(self._limit)]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Add messages to a session: all of them or none.

        Raises:
            InvalidInputError: a message cannot be written as JSON.
        """
        await self._entries(session_id).append([SessionEntry(each.to_dict()) for each in messages])

    async def clear(self, session_id: str) -> int:
        """Remove every message of a session, and return how many there were."""
        return await self._entries(session_id).clear()

    def _entries(self, session_id: str | None) -> SessionEntries:
        if session_id is None:
            raise InvalidInputError("a history belongs to a session; give the run one: agent.create_session()")
        return SessionEntries(self._memory.scoped(session=session_id), f"agent_framework/{self.source_id}")
