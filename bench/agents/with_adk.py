"""Google ADK: its `preload_memory` tool on MemoristMemoryService, and on its own InMemoryMemoryService."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.memory import BaseMemoryService, InMemoryMemoryService
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools import preload_memory
from google.genai.types import Content, Part
from scripted import Exchange, Script, ScriptedAgent, Thread

from memorist import Memory
from memorist.adapters.adk import MemoristMemoryService, MemoristSessionService
from memorist.embedders import Embedder

APP = "bench"


class Model(BaseLlm):
    script: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part.text or "" for content in llm_request.contents for part in content.parts or ()]
        answer = self.script.reply("\n".join([str(llm_request.config.system_instruction or ""), *parts]))
        yield LlmResponse(content=Content(role="model", parts=[Part(text=answer)]))


class Agent(ScriptedAgent):
    """An agent whose sessions are added to a memory service when they end."""

    def __init__(self, memories: BaseMemoryService | None = None) -> None:
        super().__init__()
        self._memories, self._sessions = memories, InMemorySessionService()
        agent = LlmAgent(
            name="agent",
            model=Model(model="scripted", script=self.script),
            tools=[preload_memory] if memories else [],
        )
        self._runner = Runner(app_name=APP, agent=agent, session_service=self._sessions, memory_service=memories)

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        whose = {"app_name": APP, "user_id": "alice", "session_id": session}
        if await self._sessions.get_session(**whose) is None:
            await self._sessions.create_session(**whose)
        message = Content(role="user", parts=[Part(text=said)])
        async for _ in self._runner.run_async(user_id="alice", session_id=session, new_message=message):
            pass

    async def end(self, session: str) -> None:
        whole = await self._sessions.get_session(app_name=APP, user_id="alice", session_id=session)
        if self._memories and whole:
            await self._memories.add_session_to_memory(whole)


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    return {
        "none": Agent,
        "InMemoryMemoryService": lambda: Agent(InMemoryMemoryService()),  # type: ignore[no-untyped-call]
        "Memorist": lambda: Agent(MemoristMemoryService(memory)),
    }


class Kept(Thread):
    """A thread in a session service, with or without a memory service that is given the session after each turn."""

    def __init__(self, sessions: BaseSessionService, memories: BaseMemoryService | None = None) -> None:
        self._sessions, self._memories = sessions, memories
        model = Model(model="scripted", script=Script("That is good to know."))
        own: dict[str, Any] = {"tools": [preload_memory], "after_agent_callback": _remember} if memories else {}
        agent = LlmAgent(name="agent", model=model, **own)
        self._runner = Runner(app_name=APP, agent=agent, session_service=sessions, memory_service=memories)
        self._whose = {"app_name": APP, "user_id": "alice", "session_id": "long"}

    async def fill(self, said: Sequence[Exchange]) -> None:
        session = await self._sessions.get_session(**self._whose)
        session = session or await self._sessions.create_session(**self._whose)
        for texts in said:
            for author, text in zip(("user", "agent"), texts, strict=True):
                role = "user" if author == "user" else "model"
                event = Event(author=author, content=Content(role=role, parts=[Part(text=text)]))
                await self._sessions.append_event(session, event)

    async def turn(self, said: str) -> None:
        message = Content(role="user", parts=[Part(text=said)])
        async for _ in self._runner.run_async(user_id="alice", session_id="long", new_message=message):
            pass


async def _remember(callback_context: Any) -> None:
    await callback_context.add_session_to_memory()


async def threads(memories: Sequence[Memory], folder: Path, stack: AsyncExitStack) -> Mapping[str, Thread]:
    """Return a thread in each store, by the store's name; the framework's own first."""
    first, second, third = memories
    return {
        "SqliteSessionService": Kept(SqliteSessionService(str(folder / "own.db"))),
        "MemoristSessionService": Kept(MemoristSessionService(first)),
        "SqliteSessionService, MemoristMemoryService": Kept(
            SqliteSessionService(str(folder / "with.db")), MemoristMemoryService(third)
        ),
        "MemoristSessionService, MemoristMemoryService": Kept(
            MemoristSessionService(second), MemoristMemoryService(second)
        ),
    }
