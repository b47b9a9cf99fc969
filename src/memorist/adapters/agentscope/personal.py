"""Personal memory: what users say about themselves."""

from typing import Any

from memorist.adapters.agentscope.base import telling
from memorist.adapters.agentscope.flows import PERSONAL_ACKNOWLEDGEMENT
from memorist.adapters.agentscope.reading import said
from memorist.adapters.agentscope.reme import ReMeLongTermMemoryBase, acknowledged, items_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer


class ReMePersonalLongTermMemory(ReMeLongTermMemoryBase):
    """Keeps what users say about themselves, as facts. A newer fact replaces one that it contradicts.

    `retrieve` returns a line for each.
    """

    _kind, _what = "personal", "memory"

    @telling("recording memory")
    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Record important information about the user to long-term memory, for later conversations.

        Use this to save personal information, preferences, habits and facts about the user that you may need
        later. It lets you give answers that are personal and fit the situation.

        When to record:
        - The user tells you a preference, such as "I prefer homestays when I travel".
        - The user mentions a habit or a routine, such as "I start work at 9 AM".
        - The user says what they like or dislike, such as "I enjoy green tea".
        - The user tells you a fact about themselves, such as "I work as a software engineer".

        What to record: be specific and structured. Say who, when, where, what, why and how where it matters.

        Args:
            thinking: Your reasons why this is worth recording, and how it may be useful later.
            content: The facts to remember, a list of strings, each a clear statement that stands alone. For
                example ["User prefers homestays in Hangzhou", "User likes visiting West Lake in the morning"].
        """
        messages = acknowledged(thinking, items_of(content), PERSONAL_ACKNOWLEDGEMENT)
        result = await self._run("summary_personal_memory", kwargs, trajectories=[{"messages": messages}])
        kept = (result.get("metadata") or {}).get("memory_list") or []
        done = f"Successfully recorded {len(kept)} memory/memories to personal memory."
        return answer(done if kept else "Memory recording completed.", {"result": result})

    @telling("retrieving memory")
    async def retrieve_from_memory(self, keywords: list[str], **kwargs: Any) -> ToolResponse:
        """Search long-term memory for information about the user, and retrieve what is relevant.

        Call this BEFORE you answer questions about the user's preferences, their past or personal details, so
        that your answer rests on what was recorded and not on a guess.

        Use this when:
        - The user asks "what do I like?", "what are my preferences?" or "what do you know about me?".
        - The user asks about what they did, their habits or preferences they have told you.
        - The user refers to something they told you in an earlier conversation.
        - You need to fit an answer to the user's history.

        Args:
            keywords: What to search for in memory. Be specific, and give several keywords for better results. For
                example ["travel preferences", "Hangzhou"], ["work habits", "morning routine"] or ["food
                preferences", "tea"].
        """
        return answer(await self._search(kwargs, keywords) or "No memories found for the given keywords.")

    def _trajectory(self, new: list[Msg], options: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [{"role": each.role, "content": text} for each in new if (text := said(each))]}
