"""Strands Agents: its memory manager on MemoristStore, and on its TestMemoryStore, which searches by words."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from scripted import Script, ScriptedAgent
from strands import Agent as StrandsAgent
from strands.memory import MemoryManager
from strands.models.model import Model as StrandsModel
from strands.vended_memory_stores.test_memory_store import TestMemoryStore

from memorist import Memory
from memorist.adapters.strands import MemoristStore
from memorist.embedders import Embedder


class Model(StrandsModel):
    update_config: Any = None
    get_config: Any = None
    structured_output: Any = None

    def __init__(self, script: Script) -> None:
        self._script = script

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        prompt = "\n".join(part.get("text", "") for message in messages for part in message["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": self._script.reply(prompt)}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class Agent(ScriptedAgent):
    """A new agent for each session, with stores made for it: those that keep, and those that are only asked."""

    def __init__(self, store: Callable[[bool], Any] | None = None) -> None:
        super().__init__()
        self._store, self._session = store, ""

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        if session != self._session:
            self._session, self._opened = session, self._store(keep) if self._store else None
            self._manager = MemoryManager(stores=[self._opened]) if self._opened else None
            self._agent: Any = StrandsAgent(
                model=Model(self.script), memory_manager=self._manager, callback_handler=None
            )
        await self._agent.invoke_async(said)
        if keep and isinstance(self._opened, TestMemoryStore):
            for text in (said, self.script.answer):
                await self._opened.add(text)

    async def end(self, session: str) -> None:
        if self._manager:
            await self._manager.flush()


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    alice = memory.scoped(user="alice")

    def own() -> Agent:
        store = TestMemoryStore(name="own", persist=False)
        return Agent(lambda keep: store)

    return {
        "none": Agent,
        "TestMemoryStore": own,
        "Memorist": lambda: Agent(lambda keep: MemoristStore(alice, extraction=keep)),
    }
