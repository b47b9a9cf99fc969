"""What every long-term memory has: two methods for programs, and the same two as tools for agents."""

from collections.abc import Iterable, Mapping
from typing import Any

from memorist.adapters.agentscope.types import LongTermMemoryShape, Msg, ToolResponse

__all__ = ["LongTermMemoryBase", "RecordingMemory"]


class LongTermMemoryBase(LongTermMemoryShape):
    """A long-term memory: what an agent of AgentScope takes as `long_term_memory`.

    `record` and `retrieve` are for programs: before and after every reply, for example. `record_to_memory` and
    `retrieve_from_memory` are tools that the agent calls when it wants to. A subclass has those it needs.
    """

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> Any:
        """Record what is worth remembering of these messages.

        Args:
            msgs: the messages; None among them is passed over.
            **kwargs: further arguments of the memory behind it.
        """
        raise NotImplementedError("The `record` method is not implemented.")

    async def retrieve(self, msg: Msg | list[Msg] | None, **kwargs: Any) -> str:
        """Return what matters to this message, as a text for the agent's prompt.

        Args:
            msg: the message, or several.
            **kwargs: further arguments of the memory behind it.
        """
        raise NotImplementedError("The `retrieve` method is not implemented.")

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record important information that you may need later.

        The content should be specific and short: who, when, where, what, why, how.

        Args:
            thinking: Your reasons for recording it.
            content: What to remember, as a list of strings.
        """
        raise NotImplementedError("The `record_to_memory` method is not implemented.")

    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Retrieve what you have recorded, by keywords.

        Args:
            keywords: What to search for, each a short and specific text: a person's name, a date, a place.
        """
        raise NotImplementedError("The `retrieve_from_memory` method is not implemented.")


class RecordingMemory(LongTermMemoryBase):
    """A long-term memory that knows which messages it has recorded.

    An agent hands over all it remembers after every reply; each message is to be recorded once. What was
    recorded is the memory's state, so that it is known in the next process where the agent's state is loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self._recorded: dict[str, None] = {}

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"recorded": [id, …]}``."""
        return {"recorded": list(self._recorded)}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Take over what `state_dict` returned. A state without it, of a memory that was none of ours, is none."""
        self._recorded = dict.fromkeys(state_dict.get("recorded", ()))

    def _unrecorded(self, messages: list[Msg]) -> list[Msg]:
        """Return the messages that were not recorded yet, each once; all of them where none is new.

        A caller who records nothing but old messages does so on purpose.
        """
        given = list({each.id: each for each in messages}.values())  # some agents give the question twice
        return [each for each in given if each.id not in self._recorded] or given

    def _note_recorded(self, messages: Iterable[Msg]) -> None:
        self._recorded.update(dict.fromkeys(each.id for each in messages))
