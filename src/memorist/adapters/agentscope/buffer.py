"""The short-term memory of an agent in the process: its messages in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from memorist.adapters.agentscope.messages import (
    SUMMARY,
    Index,
    Marks,
    added,
    checked_marks,
    checked_positions,
    chosen,
    read_state,
    renamed,
    summary_message,
)
from memorist.adapters.agentscope.types import MemoryShape, Msg

__all__ = ["InMemoryMemory", "MemoryBase"]


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


class InMemoryMemory(MemoryBase):
    """Keeps the messages of an agent in the process.

    Its methods take the arguments of AgentScope 1.0.0 to 1.0.9, and those of 1.0.10 and later: marks, and ids of
    messages to delete.
    """

    def __init__(self) -> None:
        super().__init__()
        self.content: list[Msg] = []
        self._marks: dict[str, list[str]] = {}
        self._compressed_summary = ""

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: Marks | bool = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add a message or several, all or none.

        Args:
            memories: the messages; None adds nothing.
            marks: labels for the added messages. A boolean in this place is `allow_duplicates`, as in AgentScope
                before 1.0.10.
            allow_duplicates: also add a message whose id is there already.

        Raises:
            TypeError: something else than a message is among them.
        """
        given, labels, allow_duplicates = added(memories, marks, allow_duplicates)
        known = set() if allow_duplicates else {message.id for message in self.content}
        for message in given:
            if allow_duplicates or message.id not in known:
                known.add(message.id)
                self.content.append(message)
                self._mark(message.id, labels)

    async def delete(self, index: Index | None = None, *, msg_ids: Iterable[str] | None = None, **kwargs: Any) -> int:
        """Delete messages, and return how many there were.

        Args:
            index: positions, counted from 0; or ids of messages, as AgentScope 1.0.10 and later has it.
            msg_ids: ids of messages; unknown ids are ignored.

        Raises:
            IndexError: there is no such place; nothing was deleted.
        """
        positions = checked_positions(index, msg_ids, [message.id for message in self.content])
        self._keep([message for position, message in enumerate(self.content) if position not in positions])
        return len(positions)

    async def delete_by_mark(self, mark: str | list[str], **kwargs: Any) -> int:
        """Delete the messages that have one of these marks, and return how many there were."""
        marks, before = checked_marks(mark), len(self.content)
        self._keep([message for message in self.content if not set(marks) & set(self._marks.get(message.id, ()))])
        return before - len(self.content)

    async def retrieve(self, *args: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError: a buffer has its messages in order, and does not search them."""
        raise NotImplementedError("The retrieve method is not implemented in InMemoryMemory class.")

    async def size(self) -> int:
        """Return how many messages there are."""
        return len(self.content)

    async def clear(self) -> None:
        """Delete every message."""
        self._keep([])

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """Return the messages in the order in which they were added.

        Args:
            mark: only those with this mark.
            exclude_mark: only those without this mark.
            prepend_summary: put the summary, if there is one, before them as one message.
        """
        found = [each for each in self.content if chosen(self._marks.get(each.id, ()), mark, exclude_mark)]
        if prepend_summary and self._compressed_summary:
            return [summary_message(self._compressed_summary), *found]
        return found

    async def update_compressed_summary(self, summary: str) -> None:
        """Set the summary of what is no longer among the messages."""
        self._compressed_summary = summary

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
        for id in {message.id: None for message in self.content if msg_ids is None or message.id in msg_ids}:
            old = self._marks.get(id, [])
            new = renamed(old, new_mark, old_mark)
            if new != old:
                changed += 1
                self._marks[id] = new
        return changed

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"content": [message, …]}``, with the marks and the summary if there are any."""
        state: dict[str, Any] = {"content": [deepcopy(message.to_dict()) for message in self.content]}
        if marks := {id: list(labels) for id, labels in self._marks.items() if labels}:
            state["marks"] = marks
        if self._compressed_summary:
            state[SUMMARY] = self._compressed_summary
        return state

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

    def _mark(self, id: str, labels: Sequence[str]) -> None:
        if labels:
            self._marks[id] = [*self._marks.get(id, []), *labels]

    def _keep(self, messages: list[Msg]) -> None:
        self.content = messages
        ids = {message.id for message in messages}
        self._marks = {id: labels for id, labels in self._marks.items() if id in ids}
