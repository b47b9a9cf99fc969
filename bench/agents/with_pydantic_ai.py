"""Pydantic AI: MemoristCapability beside its message history, which is sent whole."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from scripted import Exchange, ScriptedAgent, Thread

from memorist import Memory
from memorist.adapters.pydantic_ai import MemoristCapability
from memorist.embedders import Embedder


class Agent(ScriptedAgent):
    """An agent with one capability for sessions that are kept, another for questions, or its history."""

    def __init__(self, kept: Any = None, asked: Any = None, *, history: bool = False) -> None:
        super().__init__()
        self._history: list[ModelMessage] | None = [] if history else None
        self._agents: dict[bool, Any] = {
            keep: PydanticAgent(FunctionModel(self._reply), capabilities=[each] if each else [])
            for keep, each in ((True, kept), (False, asked))
        }

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        done = await self._agents[keep].run(said, conversation_id=session, message_history=self._history)
        if keep and self._history is not None:
            self._history = done.all_messages()

    def _reply(self, messages: Sequence[ModelMessage], info: Any) -> ModelResponse:
        texts = [text for message in messages for part in message.parts for text in _texts(part)]
        return ModelResponse([TextPart(self.script.reply("\n".join(texts)))])


def _texts(part: Any) -> list[str]:
    if isinstance(part.content, str):
        return [part.content]
    return [each if isinstance(each, str) else each.content for each in part.content]


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    alice = memory.scoped(user="alice")
    return {
        "none": Agent,
        "message history": lambda: Agent(history=True),
        "Memorist": lambda: Agent(MemoristCapability(alice), MemoristCapability(alice, keep=False)),
    }


class Table(Thread):
    """A thread as rows of messages in JSON, which is how Pydantic AI's documentation keeps one in SQLite."""

    def __init__(self, file: Path, *capabilities: Any) -> None:
        answer = ModelResponse([TextPart("That is good to know.")])
        self._agent: Any = PydanticAgent(FunctionModel(lambda messages, info: answer), capabilities=capabilities)
        self._rows = sqlite3.connect(file)
        self._rows.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, list TEXT)")

    async def fill(self, said: Sequence[Exchange]) -> None:
        for pair in map(_messages, said):
            self._keep(ModelMessagesTypeAdapter.dump_json(pair))

    async def turn(self, said: str) -> None:
        history: list[ModelMessage] = []
        for (row,) in self._rows.execute("SELECT list FROM messages ORDER BY id"):
            history += ModelMessagesTypeAdapter.validate_json(row)
        result = await self._agent.run(said, conversation_id="long", message_history=history)
        self._keep(result.new_messages_json())

    def _keep(self, messages: bytes) -> None:
        with self._rows:
            self._rows.execute("INSERT INTO messages (list) VALUES (?)", [messages])


class Stored(Thread):
    """A thread in a `ConversationStore`, with or without the capability."""

    def __init__(self, store: Any, *capabilities: Any) -> None:
        answer = ModelResponse([TextPart("That is good to know.")])
        self._agent: Any = PydanticAgent(FunctionModel(lambda messages, info: answer), capabilities=capabilities)
        self._store = store

    async def fill(self, said: Sequence[Exchange]) -> None:
        from pydantic_ai.conversation import Conversation

        conversation = await self._store.load("long") or Conversation(conversation_id="long")
        conversation.messages.extend(message for each in said for message in _messages(each))
        await self._store.save(conversation)

    async def turn(self, said: str) -> None:
        result = await self._agent.run(said, conversation=await self._store.load("long"))
        await self._store.save(result)


def _messages(said: Exchange) -> list[ModelMessage]:
    return [ModelRequest([UserPromptPart(said[0])]), ModelResponse([TextPart(said[1])])]


async def threads(memories: Sequence[Memory], folder: Path, stack: AsyncExitStack) -> Mapping[str, Thread]:
    """Return a thread in each store, by the store's name; the one of the framework's documentation first."""
    first, second, third = (memory.scoped(user="alice") for memory in memories)
    found: dict[str, Thread] = {
        "a table of messages": Table(folder / "own.db"),
        "a table of messages, MemoristCapability": Table(folder / "with.db", MemoristCapability(first)),
    }
    try:
        from memorist.adapters.pydantic_ai import MemoristConversationStore
    except ImportError:  # the harness wants a Pydantic AI without stores of conversations
        return found
    found["MemoristConversationStore"] = Stored(MemoristConversationStore(second))
    found["MemoristConversationStore, MemoristCapability"] = Stored(
        MemoristConversationStore(third), MemoristCapability(third)
    )
    return found
