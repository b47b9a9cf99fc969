"""Personal memory: what users say about themselves."""

from typing import Any

from memorist.adapters.agentscope.flows import PERSONAL_ACKNOWLEDGEMENT
from memorist.adapters.agentscope.reading import said
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, acknowledged, items_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer

__all__ = ["ReMePersonalLongTermMemory"]


class ReMePersonalLongTermMemory(ReMeLongTermMemoryBase):
    """What users say about themselves, as facts: each stands alone, and gives way to one that contradicts it."""

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record important personal information about the user to long-term memory.

        Use this for preferences, habits, likes and dislikes, and facts of the user's life that may matter in
        a later conversation.

        Args:
            thinking: Why this is worth recording and what it may be good for later.
            content: The facts, each a clear sentence that stands alone: who, what, when, where, why. For
                example ["User prefers homestays in Hangzhou", "User likes visiting West Lake in the morning"].
        """
        self._require_started()
        try:
            messages = acknowledged(thinking, items_of(content), PERSONAL_ACKNOWLEDGEMENT)
            result = await self._run("summary_personal_memory", kwargs, trajectories=[{"messages": messages}])
            kept = (result.get("metadata") or {}).get("memory_list") or []
            done = f"Successfully recorded {len(kept)} memory/memories to personal memory."
            return answer(done if kept else "Memory recording completed.", {"result": result})
        except Exception as error:  # the edge to the agent, which is told in words
            return answer(f"Error recording memory: {error}")

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 3, **kwargs: Any) -> ToolResponse:
        """Search long-term memory for what is known about the user.

        Call this BEFORE you answer questions about the user's preferences, past or personal details, instead
        of guessing.

        Args:
            keywords: What to search for, several short and specific texts. For example ["travel preferences",
                "Hangzhou"] or ["work habits", "morning routine"].
            limit: The most memories to return for each keyword.
        """
        self._require_started()
        try:
            found = await self._search("retrieve_personal_memory", kwargs, keywords, limit)
            return answer("\n\n".join(found) or "No memories found for the given keywords.")
        except Exception as error:  # the edge to the agent
            return answer(f"Error retrieving memory: {error}")

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> None:
        """Record what the user says about themselves in these messages; those recorded before are left out.

        Args:
            msgs: the messages; None among them is passed over. A failure of the engine is a warning.
            **kwargs: further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        new = self._to_record(msgs)
        messages = [{"role": each.role, "content": text} for each in new if (text := said(each))]
        await self._learn("summary_personal_memory", kwargs, {"messages": messages}, new, "memory")

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 3, **kwargs: Any) -> str:
        """Return what is known about the user that matters to this message, a line for each memory.

        Args:
            msg: the message; of several, the last. None finds nothing. A failure of the engine is a warning.
            limit: the most memories.
            **kwargs: further arguments of the flow.

        Raises:
            TypeError: there is something else than messages.
            RuntimeError: used before ``async with``.
        """
        return await self._answer("retrieve_personal_memory", kwargs, msg, limit, "memory")
