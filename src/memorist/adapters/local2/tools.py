"""The memory's tools: each answers a call with a text, in Python and on a bus."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from types import MethodType
from typing import Any, ClassVar

from memorist.adapters.local2.layout import SAVED, WHAT_TO_PASS, episodes_text, saved_text, topic_text
from memorist.adapters.local2.participant import TOOL_SCHEMA, Participant, tool_request, tool_result
from memorist.adapters.local2.service import MemoryService
from memorist.agents.tools import Toolbox, ToolSchema
from memorist.bus import Bus, Envelope
from memorist.errors import BusError, InvalidInputError

log = logging.getLogger("memorist.local2")


class MemoryTool(Participant):
    """One tool over a memory service.

    ```python
    tool = SaveTopicTool(service)
    await tool.call({"topic": "user.name", "content": "Richard"})  # "Memory saved: user.name"
    await tool.start(bus)  # from here on it answers on tool.request.save_topic
    ```
    """

    name: ClassVar[str]
    SCHEMA: ClassVar[dict[str, Any]]
    """The description of the tool for a model, in the form of OpenAI's "function" tools."""

    def __init_subclass__(cls) -> None:
        cls.SCHEMA = ToolSchema.of(MethodType(cls.use, cls), name=cls.name).openai

    def __init__(self, service: MemoryService | None = None) -> None:
        super().__init__(service)
        self._box = Toolbox([])
        self._box.add(self.use, name=self.name)

    use: Any
    """The tool itself: its arguments and docstring are the schema."""

    async def call(self, args: Mapping[str, Any] | str | None = None) -> str:
        """Carry out one call, and return its text; an error is a text, too.

        Arguments that the tool does not have are left out, and the text names them.

        Args:
            args: by name, or as the text of a JSON object.
        """
        known, unknown = self._parted(args)
        outcome = await self._box.call(self.name, known)
        text = str(outcome.data) if outcome.success else f"{self.name} failed: {outcome.error}"
        return f"{text}\n\n(Not understood, and ignored: {', '.join(unknown)}.)" if unknown else text

    def _parted(self, args: Any) -> tuple[Any, list[str]]:
        """Return the arguments that the tool has, and the names of the others."""
        if isinstance(args, str):
            with suppress(ValueError):  # the call reports it
                args = json.loads(args) if args.strip() else {}
        if not isinstance(args, Mapping):
            return args, []
        names = self.SCHEMA["function"]["parameters"]["properties"]
        return {name: args[name] for name in args if name in names}, [str(name) for name in args if name not in names]

    async def start(self, bus: Bus) -> None:
        """Answer requests on a bus from now on, and announce the schema once.

        Raises:
            BusError: the bus is closed.
        """

        async def answer(request: Envelope) -> None:
            await self._publish(bus, request, await self.call(request.payload.get("args")))

        await bus.subscribe(tool_request(self.name), answer)
        await bus.publish(Envelope(subject=TOOL_SCHEMA, **self._telling("schema", self.SCHEMA)))

    async def _publish(self, bus: Bus, request: Envelope, text: str) -> None:
        for result in (text, f"{self.name} failed: the result could not be sent"):
            try:
                answer = request.answered(subject=tool_result(self.name), **self._telling("result", result))
                await bus.publish(answer)
                return
            except (BusError, InvalidInputError) as error:  # too large, or no JSON: the caller waits for an answer
                log.warning("%s: %s", self.name, error)

    def _telling(self, kind: str, value: Any) -> dict[str, Any]:
        """Return the fields of a message of this tool, which tells a value of a kind."""
        return {"message_type": kind, "sender_id": self.name, "payload": {"tool": self.name, kind: value}}


class MemoryRecallTool(MemoryTool):
    """Two modes in one: a topic by its key, or episodes by meaning."""

    name = "memory_recall"

    async def use(self, topic: str | None = None, query: str | None = None) -> str:
        """Retrieve from memory. Two modes: (1) topic lookup — pass topic key to retrieve a stored preference,
        constraint, or project fact (e.g. topic='user.language_preference'); (2) similarity search — pass query
        string to search prior Q&A history for relevant past context. Use topic lookup when you know the key;
        use query search when looking for prior conversation context.

        Args:
            topic: Topic key for exact lookup (e.g. 'user.name', 'project.deadline').
            query: Free-text query for similarity search over past Q&A history.
        """
        if topic is not None and topic.strip():
            return await _recall_topic(self.service, topic)
        if query is not None and query.strip():
            return await _search(self.service, query)
        return WHAT_TO_PASS


class MemorySaveTool(MemoryTool):
    """Saves a topic; the older name."""

    name = "memory_save"

    async def use(self, topic: str, content: str) -> str:
        """Save a preference, constraint, or project fact to memory under a topic key for exact retrieval later.
        Use topic prefixes: user.* for user preferences and personal facts, project.* for project decisions and
        metadata, constraint.* for things to avoid or enforce. Example: memory_save(topic='user.name',
        content='Richard'). Overwrites any previous value for the same topic key.

        Args:
            topic: Topic key (e.g. 'user.name', 'project.deadline').
            content: The value to store.
        """
        return await _save_topic(self.service, topic, content)


class SaveTopicTool(MemoryTool):
    """Saves a topic."""

    name = "save_topic"

    async def use(self, topic: str, content: str) -> str:
        """Call this when the user asks you to remember a preference, a rule or a fact for good, in every later
        session. It is kept under its key, in the place of what was there.

        Args:
            topic: Its key: user.* for the user, project.* for the project, constraint.* for rules; e.g. 'user.name'.
            content: What to remember.
        """
        return await _save_topic(self.service, topic, content)


class RecallTopicTool(MemoryTool):
    """Looks a topic up."""

    name = "recall_topic"

    async def use(self, topic: str) -> str:
        """Call this to look up one standing fact whose key you know or can infer, such as a preference that the
        user asked you to remember.

        Args:
            topic: Its exact key, e.g. 'user.language_preference'.
        """
        if not topic.strip():
            return "Pass topic: an exact key, such as 'user.name'."
        return await _recall_topic(self.service, topic)


class SaveMemoryTool(MemoryTool):
    """Notes something down."""

    name = "save_memory"

    async def use(self, content: str) -> str:
        """Call this to note something important that came up in this conversation and that has no key of its own.
        It is found again by its meaning.

        Args:
            content: What to remember, in a sentence that can be understood alone.
        """
        noted = {"timestamp_utc": self.service.now().isoformat()}
        await asyncio.to_thread(self.service.write_episodic, content, noted)
        return SAVED


class SearchMemoryTool(MemoryTool):
    """Searches what was said and noted."""

    name = "search_memory"

    async def use(self, query: str) -> str:
        """Call this to recall something from past sessions by its meaning, when you know no exact key for it.

        Args:
            query: What you look for, in plain words.
        """
        if not query.strip():
            return "Pass query: what you look for, in plain words."
        return await _search(self.service, query)


TOOLS: tuple[type[MemoryTool], ...] = (SaveTopicTool, RecallTopicTool, SaveMemoryTool, SearchMemoryTool)
"""One purpose each: that is what small models call."""
DUAL_MODE_TOOLS: tuple[type[MemoryTool], ...] = (MemoryRecallTool, MemorySaveTool)


async def _save_topic(service: MemoryService, topic: str, content: str) -> str:
    await asyncio.to_thread(service.write_topic, topic, content)
    return saved_text(topic)


async def _recall_topic(service: MemoryService, topic: str) -> str:
    content = await asyncio.to_thread(service.recall_topic, topic)
    note = "" if content is None else await asyncio.to_thread(service.topic_note, topic)
    return topic_text(topic, content, note)


async def _search(service: MemoryService, query: str) -> str:
    return episodes_text(await asyncio.to_thread(service.episodes, query), service.now())
