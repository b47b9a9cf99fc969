"""A session of the OpenAI Agents SDK in a memory."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

from agents.memory import SessionSettings

from memorist.adapters.entries import Entries, Entry
from memorist.errors import InvalidInputError
from memorist.memory import Memory

__all__ = ["Item", "MemoristSession"]

Item: TypeAlias = Any
"""One of the SDK's `TResponseInputItem`: a dictionary of the Responses API."""
_T = TypeVar("_T")
_VOICES = ("user", "assistant")


class MemoristSession:
    """The items of one conversation, kept verbatim; what user and assistant said is found by recall.

    ```python
    session = MemoristSession("monday", memory.scoped(user="alice"))
    await Runner.run(agent, "Where was I last week?", session=session)
    ```

    Args:
        session_id: the conversation; it becomes the label `session` of the records.
        memory: an open memory; closing it stays with whoever opened it.
        user: tells the user from the run's context, where the memory is everyone's. Each call then needs
            the run's `RunContextWrapper`, which the runner passes.
        session_settings: the SDK's own; `limit` is how many items a turn is given.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        user: Callable[[Any], str] | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._memory = memory.scoped(session=session_id)
        self._user = user
        self._current: ContextVar[Memory | None] = ContextVar("memorist_session", default=None)
        self._told: set[str] = set()

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[Item]:
        """Return the newest items, oldest first.

        Args:
            limit: how many at most; by default what the settings say, else all. Below zero means all.
            wrapper: the run's context.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._entries(wrapper).newest(None if limit is None or limit < 0 else limit)

    async def add_items(self, items: list[Item], *, wrapper: Any = None) -> None:
        """Add items in order: all of them or none. A caller's cancellation waits until that is settled."""
        entries = [_entry(item) for item in items if not self._is_told(item)]
        await _settled(self._entries(wrapper).append(entries))

    async def pop_item(self, *, wrapper: Any = None) -> Item | None:
        """Remove the newest item and return it, or None."""
        return await _settled(self._entries(wrapper).pop())

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Remove every item of this session."""
        await _settled(self._entries(wrapper).clear())

    def of(self, wrapper: Any = None) -> Memory:
        """Return the memory of this session, seen by the user of a run.

        Raises:
            InvalidInputError: the session tells the user from the run's context, and none is given.
        """
        if self._user is None:
            return self._memory
        if wrapper is not None:
            self._current.set(self._memory.scoped(user=self._user(wrapper.context)))
        if (memory := self._current.get()) is None:
            raise InvalidInputError("this session tells its user from the run's context; give the call its wrapper")
        return memory

    def _entries(self, wrapper: Any) -> Entries:
        return Entries(self.of(wrapper), "openai_agents")

    def _is_told(self, item: Item) -> bool:
        """Whether the item is what recall put in front of the model, which is not stored again."""
        return bool(self._told) and item.get("role") == "developer" and item.get("content") in self._told


def text_of(item: Item) -> str:
    """Return what an item says: its content, or the text parts of it; "" for a call or a result."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _entry(item: Item) -> Entry:
    if item.get("role") not in _VOICES:
        return Entry(item)
    return Entry(item, text_of(item), item["role"])


async def _settled(work: Awaitable[_T]) -> _T:
    """Wait until `work` has succeeded or failed, also when the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()  # so that it counts as retrieved
        raise cancelled
    return task.result()
