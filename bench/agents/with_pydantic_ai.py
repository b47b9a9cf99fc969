"""Pydantic AI: MemoristCapability beside its message history, which is sent whole."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from scripted import ScriptedAgent

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
