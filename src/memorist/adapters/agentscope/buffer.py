"""The short-term memory of an agent in the process: its messages in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

from memorist.adapters.agentscope.messages import (
    SUMMARY,
    Index,
    Marks,
    checked_marks,
    checked_positions,
    chosen,
    read_state,
    renamed,
    summary_message,
)
from memorist.adapters.agentscope.reading import one_or_more
from memorist.adapters.agentscope.types import MemoryShape, Msg

_NO_MESSAGES = "The memories should be a list of Msg or a single Msg, but got {}."


class MemoryBase(MemoryShape, ABC):
    """What a short-term memory can do."""

    @abstractmethod
    async def add(self, *args: Any, **kwargs: Any) -> None:
        """Add items to the memory."""

    @abstractmethod
    async def delete(self, *args: Any, **kwargs: Any) -> Any:
        """Delete items from the memory."""

    @abstractmethod
    async def retrieve(self, *args: Any, **kwargs: Any) -> Any:
        """Retrieve items from the memory."""

    @abstractmethod
    async def size(self) -> int:
        """Return how many items the memory has."""

    @abstractmethod
    async def clear(self) -> None:
        """Delete everything."""

    @abstractmethod
    async def get_memory(self, *args: Any, **kwargs: Any) -> list[Msg]:
        """Return the messages of the memory."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the state of the memory as plain values."""

    @abstractmethod
    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Restore what `state_dict` returned."""


class Held(NamedTuple):
    """A message in a buffer, its marks, and what the buffer knows it by."""

    message: Msg
    marks: list[str]
    handle: Any


class Buffer(MemoryBase):
    """What every buffer does with the messages that it holds.

    Its methods take the arguments of AgentScope 1.0.0 to 1.0.9, and those of 1.0.10 and later: marks, and ids of
    messages to delete.
    """

    _hidden: ClassVar[str | None] = None
    """The mark of messages that are returned only where it is asked for."""

    @abstractmethod
    async def _held(self) -> list[Held]:
        """Return the messages in the order in which they were added."""

    @abstractmethod
    async def _add(self, messages: list[Msg], marks: list[str], allow_duplicates: bool) -> None:
        """Add messages, all or none."""

    @abstractmethod
    async def _drop(self, chosen: Sequence[Held]) -> int:
        """Delete messages, and return how many there were."""

    @abstractmethod
    async def _set_marks(self, held: Held, marks: list[str]) -> None:
        """Give a message these marks instead of its own."""

    @abstractmethod
    async def _summary(self) -> str:
        """Return the summary; "" where there is none."""

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: Marks | bool = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add a message or several, all or none.

        Args:
            memories: the messages; with None nothing is added.
            marks: labels for the added messages. A boolean in this place is `allow_duplicates`, as in AgentScope
                before 1.0.10.
            allow_duplicates: also add a message whose id is there already.

        Raises:
            TypeError: something else than a message is among them.
        """
        if isinstance(marks, bool):
            allow_duplicates, marks = marks, None
        given, labels = one_or_more(memories, _NO_MESSAGES), checked_marks(marks)
        if given:
            await self._add(given, labels, allow_duplicates)

    async def delete(self, index: Index | None = None, *, msg_ids: Iterable[str] | None = None, **kwargs: Any) -> int:
        """Delete messages, and return how many there were.

        Args:
            index: positions, counted from 0; or ids of messages, as AgentScope 1.0.10 and later has it.
            msg_ids: ids of messages; unknown ids are ignored.

        Raises:
            IndexError: a position is out of range; nothing was deleted.
        """
        held = await self._held()
        positions = checked_positions(index, msg_ids, [each.message.id for each in held])
        return await self._drop([held[position] for position in positions])

    async def delete_by_mark(self, mark: str | list[str], **kwargs: Any) -> int:
        """Delete the messages that have one of these marks, and return how many there were."""
        marks = set(checked_marks(mark))
        return await self._drop([each for each in await self._held() if marks & set(each.marks)])

    async def retrieve(self, *args: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError: a buffer has its messages in order, and does not search them."""
        raise NotImplementedError(f"The retrieve method is not implemented in {type(self).__name__} class.")

    async def size(self) -> int:
        """Return how many messages there are."""
        return len(await self._held())

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """Return the messages in the order in which they were added.

        Args:
            mark: only those with this mark.
            exclude_mark: only those without this mark.
            prepend_summary: put the summary, if there is one, before them as one message.
        """
        held = [each for each in await self._held() if mark == self._hidden or self._hidden not in each.marks]
        found = [each.message for each in held if chosen(each.marks, mark, exclude_mark)]
        summary = await self._summary() if prepend_summary else ""
        return [summary_message(summary), *found] if summary else found

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Give messages a mark, or replace one, and return how many have changed.

        Args:
            new_mark: the mark to give; None removes the old one.
            old_mark: change only messages with this mark, and remove it.
            msg_ids: change only messages with these ids.
        """
        changed = 0
        for each in await self._held():
            new = renamed(each.marks, new_mark, old_mark)
            if new != each.marks and (msg_ids is None or each.message.id in msg_ids):
                await self._set_marks(each, new)
                changed += 1
        return changed


class InMemoryMemory(Buffer):
    """Keeps the messages of an agent in the process."""

    def __init__(self) -> None:
        super().__init__()
        self.content: list[Msg] = []
        self._marks: dict[str, list[str]] = {}
        self._compressed_summary = ""

    async def clear(self) -> None:
        """Delete every message."""
        self.content, self._marks = [], {}

    async def update_compressed_summary(self, summary: str) -> None:
        """Set the summary of the messages that were removed."""
        self._compressed_summary = summary

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"content": [message, …]}``, with the summary if there is one; ``[message, marks]`` has marks.

        AgentScope's own memory reads the same state, marks included.
        """
        return state_of(self._all(), self._compressed_summary)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Replace all messages by those of a state.

        Args:
            state_dict: what `state_dict` returned, here or in AgentScope itself; it is not changed.
            strict: raise for a state without messages; otherwise such a state changes nothing.

        Raises:
            KeyError: it has no "content"; nothing was changed.
        """
        if (state := read_state(state_dict, strict)) is not None:
            self.content, self._marks, self._compressed_summary = state

    def _all(self) -> list[Held]:
        # Messages of one id share their marks.
        return [Held(each, self._marks.setdefault(each.id, []), place) for place, each in enumerate(self.content)]

    async def _held(self) -> list[Held]:
        return self._all()

    async def _add(self, messages: list[Msg], marks: list[str], allow_duplicates: bool) -> None:
        known = set() if allow_duplicates else {message.id for message in self.content}
        for message in messages:
            if allow_duplicates or message.id not in known:
                known.add(message.id)
                self.content.append(message)
                self._marks.setdefault(message.id, []).extend(marks)

    async def _drop(self, chosen: Sequence[Held]) -> int:
        gone = {each.handle for each in chosen}
        self.content = [message for place, message in enumerate(self.content) if place not in gone]
        left = {message.id for message in self.content}
        self._marks = {id: labels for id, labels in self._marks.items() if id in left}
        return len(gone)

    async def _set_marks(self, held: Held, marks: list[str]) -> None:
        held.marks[:] = marks

    async def _summary(self) -> str:
        return self._compressed_summary


def state_of(held: Sequence[Held], summary: str) -> dict[str, Any]:
    """Return the state of a buffer: its messages, one with marks as a pair, and the summary if there is one."""
    plain = [(deepcopy(each.message.to_dict()), list(each.marks)) for each in held]
    state: dict[str, Any] = {"content": [[message, marks] if marks else message for message, marks in plain]}
    return {**state, SUMMARY: summary} if summary else state
