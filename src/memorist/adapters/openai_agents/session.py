"""A session of the OpenAI Agents SDK in a memory."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from agents.memory import SessionSettings
from agents.run import CallModelData, ModelInputData

from memorist.adapters.entries import SessionEntries, SessionEntry
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import of_user
from memorist.agents import before_turn, text_of, without_recalled
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.stores.threads import settled

Item: TypeAlias = Any
"""One of the SDK's `TResponseInputItem`: a dictionary of the Responses API."""
_VOICES = ("user", "assistant")


class MemoristSession:
    """The items of one conversation, kept verbatim; what user and assistant said is found by recall.

    ```python
    session = MemoristSession("monday", memory.scoped(user="alice"))
    await Runner.run(agent, "Where was I last week?", session=session)
    ```

    Args:
        session_id: the conversation; it becomes the label `session` of the records.
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL.
        user: returns the user for a run's context, where the memory is everyone's. Each call then needs
            the run's `RunContextWrapper`, which the runner passes.
        session_settings: the SDK's own, or its fields; `limit` is the most items that a turn is given.
        tokens: the most tokens of what `add_context` adds.
        min_confidence: as in `Memory.context`, for `add_context`.
    """

    def __init__(
        self,
        session_id: str,
        memory: AnyMemory,
        *,
        user: Callable[[Any], str | None] | None = None,
        session_settings: SessionSettings | Mapping[str, Any] | None = None,
        tokens: int = 600,
        min_confidence: float | None = None,
    ) -> None:
        self.session_id = session_id
        given = session_settings or {}
        own = given if isinstance(given, SessionSettings) else SessionSettings(**given)
        self.session_settings: SessionSettings | None = own
        self._memory = behind(memory, "openai_agents")
        self._user = user
        self._current: ContextVar[Memory | None] = ContextVar("memorist_session", default=None)
        self._options: dict[str, Any] = {"tokens": tokens, "min_confidence": min_confidence}

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
        """Add items in order: all of them or none. A cancellation of the caller takes effect after the write."""
        entries = [_entry(item) for item in items if not _is_told(item)]
        await settled(self._entries(wrapper).append(entries))

    async def pop_item(self, *, wrapper: Any = None) -> Item | None:
        """Remove the newest item and return it, or None."""
        return await settled(self._entries(wrapper).pop())

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Remove every item of this session."""
        await settled(self._entries(wrapper).clear())

    async def add_context(self, history: list[Item], new: list[Item]) -> list[Item]:
        """Return the items of a turn, with what was recalled from all of the user's memory before the new ones.

        For the runner: ``RunConfig(session_input_callback=session.add_context)``. The context becomes a developer
        message of this turn only; it is not stored. If the store fails, the turn runs without the context.
        """
        return [*history, *await self._told(self._current.get() or self._of(None), [*history, *new]), *new]

    async def add_to_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input of a model call with what `add_context` adds, before the last message of the user.

        For the runner: ``RunConfig(call_model_input_filter=session.add_to_input)``. It takes a fraction of the time of
        a `session_input_callback`, for which the SDK copies and compares the whole session in each turn.
        """
        given = data.model_data
        asked = [place for place, each in enumerate(given.input) if each.get("role") == "user"][-1:]
        memory = self._memory if self._user is None else of_user(self._memory, self._user, data.context)
        place = asked[0] if asked else len(given.input)
        told = await self._told(memory, given.input)
        return ModelInputData([*given.input[:place], *told, *given.input[place:]], given.instructions)

    async def _told(self, memory: Memory, items: Sequence[Item]) -> list[Item]:
        told = await before_turn(memory, [each for each in items if "role" in each], **self._options)
        return [{"role": "developer", "content": told.text}] if told.text else []

    def _of(self, wrapper: Any) -> Memory:
        if self._user is None:
            return self._memory
        if wrapper is None:
            raise InvalidInputError(
                "this session reads its user from the run's context; pass the context wrapper to the call"
            )
        memory = of_user(self._memory, self._user, wrapper.context)
        self._current.set(memory)  # for `add_context`, which the runner calls next
        return memory

    def _entries(self, wrapper: Any) -> SessionEntries:
        return SessionEntries(self._of(wrapper).scoped(session=self.session_id), "openai_agents")


def _is_told(item: Item) -> bool:
    """Whether the item is what `add_context` put in front of the model, which is not stored."""
    text = text_of(item.get("content")) if item.get("role") == "developer" else ""
    return bool(text.strip()) and not without_recalled(text).strip()


def _entry(item: Item) -> SessionEntry:
    if item.get("role") not in _VOICES:
        return SessionEntry(item)
    return SessionEntry(item, without_recalled(text_of(item.get("content"))), item["role"])
