"""Microsoft Agent Framework: MemoristContextProvider beside its InMemoryHistoryProvider, which sends all."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_framework import Agent as FrameworkAgent
from agent_framework import AgentSession, BaseChatClient, ChatResponse, InMemoryHistoryProvider, Message
from scripted import Script, ScriptedAgent

from memorist import Memory
from memorist.adapters.agent_framework import MemoristContextProvider
from memorist.embedders import Embedder


class Client(BaseChatClient):
    script: Script

    async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> ChatResponse:
        return ChatResponse(messages=[Message("assistant", [self.script.reply("\n".join(m.text for m in messages))])])


class Agent(ScriptedAgent):
    """An agent with one provider for sessions that are kept, another for questions."""

    def __init__(self, kept: Any = None, asked: Any = None) -> None:
        super().__init__()
        client = Client()
        client.script = self.script
        self._all = AgentSession(session_id="all")
        self._agents: dict[bool, Any] = {
            keep: FrameworkAgent(client=client, context_providers=[each] if each else [])
            for keep, each in ((True, kept), (False, asked))
        }

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        await self._agents[keep].run(said, session=self._opened(session, keep))

    def _opened(self, session: str, keep: bool) -> AgentSession | None:
        return AgentSession(session_id=session)


class Own(Agent):
    """An agent with one session for all, of which questions get a copy."""

    def _opened(self, session: str, keep: bool) -> AgentSession | None:
        return self._all if keep else AgentSession.from_dict(self._all.to_dict())


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    alice = memory.scoped(user="alice")
    return {
        "none": Agent,
        "InMemoryHistoryProvider": lambda: Own(InMemoryHistoryProvider(), InMemoryHistoryProvider()),
        "Memorist": lambda: Agent(MemoristContextProvider(alice), MemoristContextProvider(alice, keep=False)),
    }
