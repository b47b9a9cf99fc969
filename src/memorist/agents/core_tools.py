"""Ready tools with which a model reads and writes one memory."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from memorist.agents import texts
from memorist.agents.excerpts import MOST_RESULTS, MOST_TOKENS, check_most, marked, share
from memorist.agents.tools import Toolbox
from memorist.agents.turns import across_sessions
from memorist.errors import InvalidInputError
from memorist.framing.frame import neutralise
from memorist.memory import Memory
from memorist.records.attribution import note_on
from memorist.records.origins import Author
from memorist.records.record import Record

_SOURCE = "agent"
_AUTHOR = Author.ASSISTANT


def memory_tools(memory: Memory, *, only: Collection[str] | None = None) -> Toolbox:
    """Return the tools search_memories, add_memory, update_memory, delete_memory and get_context.

    ```python
    tools = memory_tools(memory.scoped(user="alice"))
    reply = await client.messages.create(tools=[each.anthropic for each in tools.schemas], ...)
    result = await tools.call("add_memory", {"content": "Alice moved to Oslo in May 2024"})
    ```

    The tools work in the scope of the memory, in all its sessions; a model cannot name another one. Where the memory
    was opened with `confirm`, what they would change waits for the user's yes; see `Admin.inbox`.

    Args:
        memory: what the tools read and write.
        only: the names of the tools wanted, such as ``{"search_memories"}`` for a memory that is only read.

    Raises:
        InvalidInputError: there is no tool of a name in `only`.
    """
    functions = _CoreTools(memory)
    names = [text.name for text in texts.CORE]
    if only is not None and (unknown := set(only) - set(names)):
        raise InvalidInputError(f"there is no tool {min(unknown)!r}; available: {', '.join(names)}")
    box = Toolbox(())
    for text in texts.CORE:
        if only is None or text.name in only:
            box.add(getattr(functions, text.name), description=text.description, arguments=text.arguments)
    return box


def proposing(memory: Memory) -> Memory:
    """Return the same memory for an agent: where it was opened with `confirm`, what would be changed waits."""
    return memory.through(replace(memory.door, proposes=True))


class _CoreTools:
    def __init__(self, memory: Memory) -> None:
        self._memory = proposing(across_sessions(memory))

    async def search_memories(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        hits = await self._memory.recall(query, limit=check_most("limit", limit, MOST_RESULTS))
        most = share(len(hits))
        return [_shown(hit.record.read_in(self._memory.zone), most) | {"score": round(hit.score, 2)} for hit in hits]

    async def add_memory(self, content: str, topic: str | None = None) -> dict[str, Any]:
        if topic is not None:
            return {"id": (await self._memory.topics.set(topic, content, source=_SOURCE, author=_AUTHOR)).id}
        return {"id": (await self._memory.notes.add(content, source=_SOURCE, author=_AUTHOR)).id}

    async def update_memory(self, id: str, content: str) -> dict[str, Any]:
        return {"id": (await self._memory.revise(id, content=content, source=_SOURCE, author=_AUTHOR)).id}

    async def delete_memory(self, id: str) -> dict[str, Any]:
        return {"id": id, "deleted": await self._memory.forget(id, source=_SOURCE) > 0}

    async def get_context(self, query: str, tokens: int = 600) -> str:
        return (await self._memory.context(query, tokens=check_most("tokens", tokens, MOST_TOKENS))).text


def _shown(record: Record, most: int) -> dict[str, Any]:
    """Return the parts of a record that a model needs: id, date, who said it, text."""
    who = record.payload.get("speaker") or record.payload.get("role")
    note = note_on(record)
    text = note + marked(record.content, most, "; for what answers a question, use get_context")
    shown = {"id": record.id, "date": f"{record.at:%Y-%m-%d}", "who": who, "text": neutralise(text)}
    return {name: value for name, value in shown.items() if value is not None}
