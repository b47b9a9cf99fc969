"""A memory store of Strands."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any

from strands.memory import (
    AddMessagesContext,
    MemoryEntry,
    MemoryInjectionConfig,
    MemoryStore,
    SearchOptions,
)
from strands.tools.tools import PythonAgentTool
from strands.types.content import Message
from strands.types.tools import AgentTool, ToolResult, ToolResultContent, ToolSpec, ToolUse

from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import answer
from memorist.agents import Toolbox, ToolSchema, frame, memory_tools, text_of, without_recalled
from memorist.agents.turns import across_sessions
from memorist.errors import InvalidInputError
from memorist.kinds.conversation import restated
from memorist.records.attribution import note_on
from memorist.records.origins import Author
from memorist.records.record import Draft, Hit, Kind
from memorist.records.times import iso

_NAMESPACE = uuid.UUID("6d656d6f-7269-5374-8000-737472616e64")
_MOST_RESULTS = 3
"""The most entries of a search by default, as in Strands' memory manager."""


class MemoristStore(MemoryStore):
    """Finds whatever `Memory.recall` finds, and keeps messages as they are, without a model call.

    ```python
    store = MemoristStore(memory.scoped(user="alice"), extraction=True)
    agent = Agent(memory_manager=MemoryManager(stores=[store]))
    ```

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL. What
            is kept is kept in its session, if it has one, and found from all.
        name: identifies the store among those of a memory manager.
        description: tells the model what is in it.
        max_search_results: the most entries that a search returns where the caller does not say.
        writable: whether the memory manager may write.
        extraction: when messages are kept, as Strands takes it; True keeps them every few turns.
        min_score: the least score of an entry, 0 to 1.
        tools: whether the model gets tools to update and delete what a search has found.
    """

    def __init__(
        self,
        memory: AnyMemory,
        *,
        name: str = "memorist",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = None,
        min_score: float = 0.0,
        tools: bool = False,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._memory = behind(memory, "strands")
        self._min_score = min_score
        self._tools = tools
        self._run = uuid.uuid4().hex

    async def initialize(self) -> None:
        """Begin a run: the sequence numbers of messages start anew with every agent."""
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the entries relevant to a query, best first; the metadata names the record and its score."""
        limit = (options or {}).get("max_search_results") or self.max_search_results or _MOST_RESULTS
        hits = await across_sessions(self._memory).recall(query, limit=limit, min_score=self._min_score)
        return [MemoryEntry(content=hit.record.content, metadata=_metadata(hit)) for hit in hits]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Store a note, and return its id; a note that is stored already keeps its id and is not stored again.

        Raises:
            InvalidInputError: the text is blank, or the metadata is not JSON.
        """
        id = _id(content, metadata or {})
        note = await self._memory.remember(
            content, kind=Kind.NOTE, id=id, metadata=metadata or {}, author=Author.ASSISTANT, if_exists="ignore"
        )
        return note.id

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> list[str]:
        """Store the texts of messages, and return their ids; a batch that is sent again is stored once.

        Messages without a text, such as tool calls, are left out. All are stored or none. One with a tracking id that
        is stored already and has another text now was edited: its record is revised.
        """
        numbers: Sequence[int | None] = (context and context.sequence_numbers) or [None] * len(messages)
        if len(numbers) != len(messages):
            raise InvalidInputError(f"there are {len(numbers)} sequence numbers for {len(messages)} messages")
        drafts = [
            self._draft(message, text, number)
            for message, number in zip(messages, numbers, strict=True)
            if (text := without_recalled(text_of(message["content"]))).strip()
        ]
        records = await self._memory.remember(drafts, if_exists="ignore")
        for record, draft in zip(records, drafts, strict=True):
            await restated(self._memory, record, draft)
        return [record.id for record in records]

    def get_tools(self) -> list[AgentTool]:
        """Return the tools update_memory and delete_memory; [] without `tools`, or where nothing may be written."""
        if not (self._tools and self.writable):
            return []
        box = memory_tools(self._memory, only=("update_memory", "delete_memory"))
        return [_tool(box, schema) for schema in box.schemas]

    def _draft(self, message: Message, text: str, number: int | None) -> Draft:
        token = message.get("tracking_id") or (None if number is None else [self._run, number, message["role"], text])
        id = None if token is None else _id(self._memory.scope.session, token)
        return Draft(content=text, kind=Kind.MESSAGE, id=id, payload={"role": message["role"], "form": "strands"})


def injection(max_entries: int = 5) -> MemoryInjectionConfig:
    """Return how a memory manager shows entries to the model: framed as data, with their dates and who said them.

    Args:
        max_entries: the most entries shown for a call of the model.
    """
    return {"max_entries": max_entries, "format": lambda context, **more: frame(map(_shown, context.entries))}


def _shown(entry: MemoryEntry) -> str:
    own = entry.metadata or {}
    marks = [str(own.get("at", ""))[:10], str(own.get("by", ""))]
    shown = ", ".join(mark for mark in marks if mark)
    return f"{shown}: {entry.content}" if shown else entry.content


def _tool(box: Toolbox, schema: ToolSchema) -> AgentTool:
    async def call(tool_use: ToolUse, **context: Any) -> ToolResult:
        done, text = await answer(box, schema.name, tool_use["input"])
        content: list[ToolResultContent] = [{"text": text}]
        return {"toolUseId": tool_use["toolUseId"], "status": "success" if done else "error", "content": content}

    inputs = {"json": dict(schema.parameters)}
    spec: ToolSpec = {"name": schema.name, "description": schema.description, "inputSchema": inputs}
    return PythonAgentTool(schema.name, spec, call)


def _id(*parts: Any) -> str:
    try:
        text = json.dumps(parts, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"metadata is not JSON: {error}") from error
    return uuid.uuid5(_NAMESPACE, hashlib.sha256(text.encode()).hexdigest()).hex


def _metadata(hit: Hit) -> dict[str, Any]:
    record = hit.record
    own: dict[str, Any] = {"id": record.id, "kind": str(record.kind), "score": hit.score, "at": iso(record.at)}
    if role := record.payload.get("speaker") or record.payload.get("role"):
        own["by"] = f"{role} {note_on(record)}".rstrip()
    if record.scope.session is not None:
        own["session"] = record.scope.session
    return {**record.metadata, **own}
