"""The short-term memory of an agent on disk: the messages of one session, and a summary of the oldest."""

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, TypeVar

from memorist.adapters.agentscope.buffer import MemoryBase
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
from memorist.adapters.agentscope.models import as_chat_model
from memorist.adapters.agentscope.reading import blocks_of, said, searchable, words_of
from memorist.adapters.agentscope.types import Msg
from memorist.errors import InvalidInputError
from memorist.kinds import Message, estimate_tokens
from memorist.language import summarize
from memorist.memory import Memory

__all__ = ["DurableMemory"]

_T = TypeVar("_T")

SUMMARISED = "summarised"
"""The mark of messages that are part of the summary."""


class DurableMemory(MemoryBase):
    """Keeps the messages of one session on disk, with the interface of `InMemoryMemory`.

    With a budget of tokens, the oldest messages are summarised when the budget is exceeded, until the others take
    half of it. Summarised messages stay on disk with the mark "summarised".

    ```python
    memory = DurableMemory(opened.scoped(user="alice", session="monday"), tokens=8000, model=chat_model)
    agent = ReActAgent(..., memory=memory)
    ```

    Args:
        memory: an open memory whose scope has a session.
        tokens: the most tokens of all messages together; by default there is no limit.
        model: a chat model of this project or of AgentScope, which writes the summary; see
            `memorist.language.summarize` for the summary without one.
        count_tokens: returns how many tokens a text has; by default a quarter of its characters.

    Raises:
        InvalidInputError: the memory has no session, or the budget is not a positive number.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        tokens: int | None = None,
        model: Any = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> None:
        super().__init__()
        if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1):
            raise InvalidInputError(f"tokens must be a whole number above 0, not {tokens!r}")
        self._memory = memory
        self._talk = memory.conversation()
        self._tokens = tokens
        self._model = as_chat_model(model)
        self._count_tokens = count_tokens
        self._summarising = asyncio.Lock()

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: Marks | bool = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add a message or several, all or none, as `InMemoryMemory` does. They are on disk when this returns."""
        messages, labels, allow_duplicates = added(memories, marks, allow_duplicates)
        if messages:
            stored = [_stored(each, labels) for each in messages]
            await self._talk.append(stored, allow_duplicates=allow_duplicates)
            async with self._summarising:  # each summary goes on from the one before
                await self._summarise()

    async def delete(self, index: Index | None = None, *, msg_ids: Iterable[str] | None = None, **kwargs: Any) -> int:
        """Delete messages by position or id, as `InMemoryMemory` does."""
        found = await self._talk.all()
        positions = checked_positions(index, msg_ids, [_own_id(each) for each in found])
        return await self._delete([found[position] for position in positions])

    async def delete_by_mark(self, mark: str | list[str], **kwargs: Any) -> int:
        """Delete the messages that have one of these marks, and return how many there were."""
        marks = set(checked_marks(mark))
        return await self._delete([each for each in await self._talk.all() if marks & set(_marks(each))])

    async def retrieve(self, *args: Any, **kwargs: Any) -> None:
        """Raise NotImplementedError: a buffer does not search; `Memory.recall` does."""
        raise NotImplementedError("The retrieve method is not implemented in DurableMemory class.")

    async def size(self) -> int:
        """Return how many messages there are, summarised ones included."""
        return await self._talk.size()

    async def clear(self) -> None:
        """Delete every message and the summary."""
        await self._talk.clear()
        await self.update_compressed_summary("")

    async def get_memory(
        self, mark: str | None = None, exclude_mark: str | None = None, prepend_summary: bool = True, **kwargs: Any
    ) -> list[Msg]:
        """Return the messages that are not summarised, in the order in which they were added.

        Args:
            mark: only those with this mark.
            exclude_mark: only those without this mark.
            prepend_summary: put the summary, if there is one, before them as one message.
        """
        found = [each for each in await self._talk.all() if chosen(_marks(each), mark, exclude_mark)]
        if mark != SUMMARISED:
            found = [each for each in found if SUMMARISED not in _marks(each)]
        messages = [_message(each) for each in found]
        summary = await self._summary() if prepend_summary else ""
        return [summary_message(summary), *messages] if summary else messages

    async def update_compressed_summary(self, summary: str) -> None:
        """Set the summary of what is no longer among the messages."""
        if summary:
            await self._memory.topics.set(self._topic, summary)
        else:
            await self._memory.topics.delete(self._topic)

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Give messages a mark, or replace one, as `InMemoryMemory` does."""
        changed = 0
        for each in await self._talk.all():
            if msg_ids is None or _own_id(each) in msg_ids:
                old = _marks(each)
                new = renamed(old, new_mark, old_mark)
                if new != old:
                    await self._set_marks(each, new)
                    changed += 1
        return changed

    def state_dict(self) -> dict[str, Any]:
        """Return the state as `InMemoryMemory` does. Blocks while it reads the disk."""
        return _now(self._state())

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Replace all messages by those of a state. Blocks; they are on disk when this returns.

        Raises:
            KeyError: it has no "content", and `strict`; nothing was changed.
        """
        if (state := read_state(state_dict, strict)) is not None:
            _now(self._restore(*state))

    # --- messages on disk ------------------------------------------------------------------------------

    @property
    def _topic(self) -> str:
        scope = self._memory.scope
        return "/".join(["agentscope", "summary", *filter(None, [scope.agent, scope.session])])

    async def _summary(self) -> str:
        return await self._memory.topics.get(self._topic) or ""

    async def _delete(self, messages: Iterable[Message]) -> int:
        ids = [each.record.id for each in messages if each.record is not None]
        return await self._talk.delete(*ids) if ids else 0

    async def _set_marks(self, message: Message, marks: list[str]) -> None:
        if message.record is not None:
            await self._memory.revise(message.record.id, metadata={"marks": marks})

    async def _state(self) -> dict[str, Any]:
        found = await self._talk.all()
        state: dict[str, Any] = {"content": [_message(each).to_dict() for each in found]}
        if marks := {_own_id(each): labels for each in found if (labels := _marks(each))}:
            state["marks"] = marks
        if summary := await self._summary():
            state[SUMMARY] = summary
        return state

    async def _restore(self, messages: list[Msg], marks: dict[str, list[str]], summary: str) -> None:
        stored = [_stored(each, marks.get(each.id, [])).to_dict() for each in messages]
        await self._talk.restore({"version": 1, "messages": stored})
        await self.update_compressed_summary(summary)

    # --- the budget ------------------------------------------------------------------------------------

    async def _summarise(self) -> None:
        """Summarise the oldest messages if all together exceed the budget."""
        if self._tokens is None:
            return
        found = [each for each in await self._talk.all() if SUMMARISED not in _marks(each)]
        old = found[: self._cut(found)]
        if not old:
            return
        try:
            summary = await self._summary_of(old)
        except Exception as error:  # the edge to the model: the messages stay, and are tried again
            warnings.warn(f"Error summarising messages: {error}", stacklevel=3)
            return
        await self.update_compressed_summary(summary)
        for each in old:
            await self._set_marks(each, [*_marks(each), SUMMARISED])

    def _cut(self, messages: list[Message]) -> int:
        """Return how many of the oldest messages to summarise."""
        sizes = [self._count_tokens(words_of(_message(each))) for each in messages]
        if sum(sizes) <= (self._tokens or 0):
            return 0
        cut, left = 0, sum(sizes)
        while cut < len(messages) - 1 and (left > (self._tokens or 0) // 2 or _answers(messages[cut])):
            left -= sizes[cut]
            cut += 1
        return cut

    async def _summary_of(self, messages: list[Message]) -> str:
        """Return the summary so far with these messages in it."""
        spoken = [
            {"role": each.role, "name": each.name, "content": text, "happened_at": each.happened_at}
            for each in messages
            if (text := said(_message(each)) or words_of(_message(each)))
        ]
        previous = await self._summary()
        done = await summarize(
            spoken, model=self._model, previous=previous, keep_tokens=0, count_tokens=self._count_tokens
        )
        return done.text


def _stored(message: Msg, marks: list[str]) -> Message:
    return Message(
        content=searchable(message),  # the data has all of it
        role=message.role,
        name=message.name if message.name.strip() else None,
        id=message.id,
        metadata={"marks": marks} if marks else {},
        data=message.to_dict(),
    )


def _message(stored: Message) -> Msg:
    return Msg.from_dict(deepcopy(dict(stored.data or {})))


def _own_id(stored: Message) -> str:
    return str((stored.data or {}).get("id"))


def _marks(stored: Message) -> list[str]:
    return list(stored.metadata.get("marks", ()))


def _answers(stored: Message) -> bool:
    """Whether a message has results of tool calls; no model takes them without the calls before them."""
    return any(block.get("type") == "tool_result" for block in blocks_of(_message(stored)))


def _now(work: Coroutine[Any, Any, _T]) -> _T:
    """Run the coroutine in another thread's event loop, since the caller's may be running, and wait for it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
