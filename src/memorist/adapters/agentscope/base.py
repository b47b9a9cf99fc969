"""The base class of long-term memories: two methods for programs, and the same two as tools for agents."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from memorist.adapters.agentscope.types import LongTermMemoryShape, Msg, ToolResponse, answer
from memorist.system.docstrings import docstring_of

_Tool = TypeVar("_Tool", bound=Callable[..., Awaitable[ToolResponse]])


class LongTermMemoryBase(LongTermMemoryShape):
    """Base class of what an agent of AgentScope takes as `long_term_memory`.

    A program calls `record` and `retrieve`, for example after and before every reply. `record_to_memory` and
    `retrieve_from_memory` are tools that the agent calls by itself. A subclass implements those it needs.
    """

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> Any:
        """Record what is worth remembering of these messages.

        Args:
            msgs: the messages; None among them is skipped.
            **kwargs: further arguments of the memory behind it.
        """
        raise NotImplementedError("The `record` method is not implemented.")

    async def retrieve(self, msg: Msg | list[Msg] | None, **kwargs: Any) -> str:
        """Return what is relevant to this message, as a text for the agent's prompt.

        Args:
            msg: the message, or several.
            **kwargs: further arguments of the memory behind it.
        """
        raise NotImplementedError("The `retrieve` method is not implemented.")

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Use this to record important information that you may need later.

        What you record should be specific and concise: who, when, where, did what, why, how.

        Args:
            thinking: Your thinking and your reasons about what to record.
            content: What to remember, a list of strings.
        """
        raise NotImplementedError("The `record_to_memory` method is not implemented.")

    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Retrieve from memory what belongs to the given keywords.

        Args:
            keywords: What to search for in memory. Each should be specific and concise, for example a person's
                name, a date or a place.
        """
        raise NotImplementedError("The `retrieve_from_memory` method is not implemented.")


class RecordingMemory(LongTermMemoryBase):
    """A long-term memory that records each message once.

    An agent passes all its messages after every reply. The ids of the recorded ones are the memory's state, so
    that they are known in the next process, too, where the agent's state is loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self._recorded: dict[str, None] = {}

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"recorded": [id, …]}``."""
        return {"recorded": list(self._recorded)}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Restore what `state_dict` returned. A state of another class of memory has no ids."""
        self._recorded = dict.fromkeys(state_dict.get("recorded", ()))

    def _unrecorded(self, messages: list[Msg]) -> list[Msg]:
        """Return the messages that were not recorded yet, each once; all of them if none is new.

        A caller that passes only old messages wants them recorded again.
        """
        given = list({each.id: each for each in messages}.values())  # some agents give the question twice
        return [each for each in given if each.id not in self._recorded] or given

    def _note_recorded(self, messages: Iterable[Msg]) -> None:
        self._recorded.update(dict.fromkeys(each.id for each in messages))

    def _require_started(self) -> None:
        """Raise RuntimeError if the memory needs ``async with`` and was not entered."""


def telling(doing: str) -> Callable[[_Tool], _Tool]:
    """Answer an exception of a tool function with the text ``Error {doing}: …``: an agent calls the function.

    Without a docstring of its own, the function has that of the base class.
    """

    def telling_of(function: _Tool) -> _Tool:
        given = inspect.signature(function)

        @wraps(function)
        async def tool(self: RecordingMemory, *args: Any, **kwargs: Any) -> ToolResponse:
            self._require_started()
            try:
                given.bind(self, *args, **kwargs)
            except TypeError as error:  # "missing a required argument: 'thinking'"
                return answer(f"Error {doing}: {error}")
            try:
                return await function(self, *args, **kwargs)
            except Exception as error:
                return answer(f"Error {doing}: {error}")

        tool.__doc__ = docstring_of(function) or docstring_of(getattr(LongTermMemoryBase, function.__name__))
        return cast(_Tool, tool)

    return telling_of
