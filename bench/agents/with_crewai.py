"""CrewAI: MemoristMemory beside its own Memory in LanceDB; turns are remembered one by one, without its model calls."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import Agent as CrewAgent
from crewai import BaseLLM, Crew, Task
from crewai import Memory as CrewMemory
from scripted import Script, ScriptedAgent

from memorist import Memory
from memorist.adapters.crewai import MemoristMemory, MemoristStorage, embedder
from memorist.embedders import Embedder


class Model(BaseLLM):
    script: Any = None

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        texts = [messages] if isinstance(messages, str) else [str(message["content"]) for message in messages]
        return "Final Answer: " + str(self.script.reply("\n".join(texts)))


class Agent(ScriptedAgent):
    """A crew of one agent for each question."""

    def __init__(self, memory: Any = None) -> None:
        super().__init__()
        self._memory = memory
        self._guide = CrewAgent(
            role="guide", goal="Answer", backstory="You listen.", llm=Model(model="scripted", script=self.script)
        )

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        if not keep:
            task = Task(description=said, expected_output="An answer", agent=self._guide)
            await asyncio.to_thread(Crew(agents=[self._guide], tasks=[task], memory=self._memory or False).kickoff)
        elif self._memory:
            for text in (said, self.script.answer):
                whole = {"scope": "/talks", "categories": ["talk"], "importance": 0.5}
                await asyncio.to_thread(self._memory.remember, text, **whole)


def agents(memory: Memory, embedder_: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""

    def own() -> Agent:
        folder = tempfile.mkdtemp()
        silent: Any = Model(model="scripted", script=Script())  # whose blank answers CrewAI replaces by its defaults
        return Agent(CrewMemory(storage=folder, embedder=embedder(), llm=silent))

    return {
        "none": Agent,
        "Memory": own,
        "Memorist": lambda: Agent(MemoristMemory(storage=MemoristStorage(memory.scoped(user="alice")))),
    }
