"""One program in each framework: an agent with a scripted model and our adapters, to which many users talk.

Run as a script, this file is a process of its own that says something to such an agent, and may be killed meanwhile.
"""

import asyncio
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false")

from memorist import Memory
from memorist.agents import before_turn, text_of
from memorist.records.times import iso

EAGER: dict[str, Any] = {"min_confidence": 0}


class Program(ABC):
    """An agent in one framework.

    Attributes:
        needs: the module without which the framework is not installed.
        turns: how many turns make a long thread; each has a cost of the framework's own.
        together: whether the framework takes several turns on one session at once.
        halved: whether it takes half of a character itself.
        answer: what the model answers; it may raise.
        prompt: what the model was told last.
    """

    needs: str
    turns = 30
    together = False
    halved = True

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.prompt = ""
        self.answer: Callable[[], str] = lambda: "Noted."
        self.made: dict[Any, Any] = {}
        self.begin()

    def begin(self) -> None:
        """Make what all users share."""

    @abstractmethod
    async def say(self, user: str, session: str, text: str) -> str:
        """Run a turn, and return what the model was told."""

    @abstractmethod
    async def heard(self, user: str, session: str) -> list[str]:
        """Return the texts of a session, as the framework reads them."""

    @abstractmethod
    async def forget(self, user: str, session: str) -> None:
        """Delete a session everywhere."""

    def of(self, user: str, session: str | None = None) -> Memory:
        return self.memory.scoped(user=user, session=session)

    def reply(self, prompt: Any) -> str:
        self.prompt = str(prompt)
        return self.answer()

    def scripted(self, model: Any) -> Any:
        """Return a scripted model of the tests that asks this program for its answers."""
        program = self

        class Answers(list[Any]):
            def pop(self, *position: Any) -> Any:
                return program.reply(model.inputs[-1])

        model.answers = Answers()
        return model


class LangGraph(Program):
    needs = "langchain.agents"

    def agent(self, user: str) -> Any:
        from langchain.agents import create_agent
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, ChatResult

        from memorist.adapters.langgraph import MemoristSaver, MemoryMiddleware

        program = self

        class Model(BaseChatModel):
            _llm_type = "scripted"

            def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
                return ChatResult(generations=[ChatGeneration(message=AIMessage(program.reply(messages)))])

        self.saver = MemoristSaver(self.of(user), forget_threads=True)
        middleware = [MemoryMiddleware(self.of(user), **EAGER)]
        return self.made.setdefault(user, create_agent(Model(), middleware=middleware, checkpointer=self.saver))

    async def say(self, user: str, session: str, text: str) -> str:
        thread = {"configurable": {"thread_id": session}}
        # By default LangGraph asks the model while the message is still being written.
        await self.agent(user).ainvoke({"messages": [text]}, thread, durability="sync")
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        state = await self.agent(user).aget_state({"configurable": {"thread_id": session}})
        return [each.text for each in state.values.get("messages", ())]

    async def forget(self, user: str, session: str) -> None:
        self.agent(user)
        await self.saver.adelete_thread(session)


class OpenAIAgents(Program):
    needs = "agents.memory"
    together = True

    def begin(self) -> None:
        from agents import Agent

        from openai_model import ScriptedModel

        self.agent = Agent(name="guide", model=self.scripted(ScriptedModel()))

    def session(self, user: str, session: str) -> Any:
        from memorist.adapters.openai_agents import MemoristSession

        return MemoristSession(session, self.of(user), **EAGER)

    async def say(self, user: str, session: str, text: str) -> str:
        from agents import RunConfig, Runner

        held = self.session(user, session)
        options = RunConfig(session_input_callback=held.add_context, tracing_disabled=True)
        await Runner.run(self.agent, text, session=held, run_config=options)
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        return [text_of(each["content"]) for each in await self.session(user, session).get_items()]

    async def forget(self, user: str, session: str) -> None:
        await self.session(user, session).clear_session()


class Adk(Program):
    needs = "google.adk"
    together = True

    def begin(self) -> None:
        from google.adk.agents import LlmAgent
        from google.adk.runners import Runner
        from google.adk.tools import preload_memory

        from adk_model import ScriptedModel
        from memorist.adapters.adk import MemoristMemoryService, MemoristSessionService

        self.sessions = MemoristSessionService(self.memory, forget_entries=True)
        self.entries = MemoristMemoryService(self.memory)
        agent = LlmAgent(name="guide", model=self.scripted(ScriptedModel(answers=[])), tools=[preload_memory])
        self.runner = Runner(
            app_name="app", agent=agent, session_service=self.sessions, memory_service=self.entries,
            auto_create_session=True,
        )  # fmt: skip

    async def say(self, user: str, session: str, text: str) -> str:
        from google.genai.types import Content, Part

        said = Content(role="user", parts=[Part(text=text)])
        async for _ in self.runner.run_async(user_id=user, session_id=session, new_message=said):
            pass
        await self.entries.add_session_to_memory(await self.read(user, session))
        return self.prompt

    async def read(self, user: str, session: str) -> Any:
        return await self.sessions.get_session(app_name="app", user_id=user, session_id=session)

    async def heard(self, user: str, session: str) -> list[str]:
        held = await self.read(user, session)
        return [each.content.parts[0].text for each in (held.events if held else ()) if each.content]

    async def forget(self, user: str, session: str) -> None:
        await self.sessions.delete_session(app_name="app", user_id=user, session_id=session)


class PydanticAI(Program):
    needs = "pydantic_ai.conversation_store"

    def begin(self) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.messages import ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel

        from memorist.adapters.pydantic_ai import MemoristCapability

        capability = MemoristCapability(self.memory, user=lambda context: context.deps, options=EAGER)
        model = FunctionModel(lambda messages, info: ModelResponse([TextPart(self.reply(messages))]))
        self.agent = Agent(model, deps_type=str, capabilities=[capability])

    def store(self, user: str) -> Any:
        from memorist.adapters.pydantic_ai import MemoristConversationStore

        return MemoristConversationStore(self.of(user))

    async def say(self, user: str, session: str, text: str) -> str:
        from pydantic_ai.conversation import Conversation

        store = self.store(user)
        conversation = await store.load(session) or Conversation(conversation_id=session)
        await store.save(await self.agent.run(text, conversation=conversation, deps=user))
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        return [each.content for each in await self.of(user).conversation(session).all()]

    async def forget(self, user: str, session: str) -> None:
        store = self.store(user)
        if record := await store.read_record(session):
            await store.delete_record(session, expected_revision=record.revision)
        await self.of(user).conversation(session).clear()


class AgentFramework(Program):
    needs = "agent_framework"
    together = True

    def history(self, user: str) -> Any:
        from memorist.adapters.agent_framework import MemoristHistoryProvider

        return MemoristHistoryProvider(self.of(user))

    async def say(self, user: str, session: str, text: str) -> str:
        from agent_framework import Agent

        from agent_framework_client import ScriptedClient
        from memorist.adapters.agent_framework import MemoristContextProvider

        providers = [self.history(user), MemoristContextProvider(self.of(user), **EAGER)]
        agent = Agent(client=self.scripted(ScriptedClient()), context_providers=providers)
        await agent.run(text, session=agent.create_session(session_id=session))
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        return [each.content for each in await self.of(user).conversation(session).all()]

    async def forget(self, user: str, session: str) -> None:
        await self.history(user).clear(session)
        await self.of(user).conversation(session).clear()

    def reply(self, prompt: Any) -> str:
        return super().reply([each.text for each in prompt])


class Strands(Program):
    needs = "strands"

    def manager(self, user: str, session: str) -> Any:
        from strands.session.repository_session_manager import RepositorySessionManager

        from memorist.adapters.strands import MemoristSessionRepository

        return RepositorySessionManager(session, MemoristSessionRepository(self.of(user)))

    async def say(self, user: str, session: str, text: str) -> str:
        from strands import Agent
        from strands.memory import MemoryManager

        from memorist.adapters.strands import MemoristStore
        from strands_model import ScriptedModel

        if (user, session) not in self.made:
            memories = MemoryManager(stores=[MemoristStore(self.of(user, session), extraction=True)])
            agent = Agent(
                model=self.scripted(ScriptedModel()), agent_id="guide", memory_manager=memories,
                session_manager=self.manager(user, session), callback_handler=None,
            )  # fmt: skip
            self.made[user, session] = agent, memories
        agent, memories = self.made[user, session]
        await agent.invoke_async(text)
        await memories.flush()
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        repository = self.manager(user, session).session_repository
        if repository.read_agent(session, "guide") is None:
            return []
        return [text_of(each.message["content"]) for each in repository.list_messages(session, "guide")]

    async def forget(self, user: str, session: str) -> None:
        self.manager(user, session).session_repository.delete_session(session)
        await self.of(user).conversation(session).clear()
        self.made.pop((user, session), None)


WHO: ContextVar[str | None] = ContextVar("who", default=None)


class CrewAI(Program):
    needs = "crewai"
    halved = False
    turns = 4

    def begin(self) -> None:
        from crewai_model import ScriptedModel
        from memorist.adapters.crewai import MemoristMemory, MemoristStorage

        self.held = MemoristMemory(storage=MemoristStorage(self.memory, user=WHO.get))
        self.model = self.scripted(ScriptedModel(model="scripted", answers=[]))

    async def say(self, user: str, session: str, text: str) -> str:
        from crewai import Agent, Crew, Task

        WHO.set(user)
        self.held.remember(text, scope=f"/{session}")
        guide = Agent(
            role="guide", goal="Answer", backstory="You listen.", llm=self.model
        )  # it takes one task at a time
        task = Task(description=text, expected_output="An answer", agent=guide)
        await asyncio.to_thread(Crew(agents=[guide], tasks=[task], memory=self.held).kickoff)
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        WHO.set(user)
        return [each.content for each in reversed(self.held.list_records(f"/{session}"))]

    async def forget(self, user: str, session: str) -> None:
        WHO.set(user)
        self.held.reset("/")  # a crew's own outputs are in no session

    def reply(self, prompt: Any) -> str:
        return "Final Answer: " + super().reply(prompt)


class LlamaIndex(Program):
    needs = "llama_index.core"
    halved = False

    def engine(self, user: str, session: str) -> Any:
        from llama_index.core.chat_engine import SimpleChatEngine
        from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata

        from memorist.adapters.llama_index import MemoristChatMemory, MemoristMemoryBlock

        program = self

        class Model(CustomLLM):  # type: ignore[misc, unused-ignore]
            @property
            def metadata(self) -> LLMMetadata:
                return LLMMetadata()

            def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
                return CompletionResponse(text=program.reply(prompt))

            def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
                raise NotImplementedError

        if (user, session) not in self.made:
            block = MemoristMemoryBlock(memory=self.of(user), tokenizer_fn=str.split, options=EAGER)
            chat = MemoristChatMemory.from_defaults(session_id=session, memory_blocks=[block], tokenizer_fn=str.split)
            self.made[user, session] = SimpleChatEngine.from_defaults(llm=Model(), memory=chat)
        return self.made[user, session]

    async def say(self, user: str, session: str, text: str) -> str:
        await self.engine(user, session).achat(text)
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        return [each.content for each in await self.of(user).conversation(session).all()]

    async def forget(self, user: str, session: str) -> None:
        self.made.pop((user, session), None)
        await self.of(user).conversation(session).clear()


class Claude(Program):
    """What the Agent SDK does around its program, which needs a network: a context, and the transcript of each side."""

    needs = "claude_agent_sdk"
    together = True

    def store(self, user: str) -> Any:
        from memorist.adapters.claude import MemoristSessionStore

        return MemoristSessionStore(self.of(user), keep=True)

    async def say(self, user: str, session: str, text: str) -> str:
        told = await before_turn(self.of(user), text, **EAGER)
        for role in ("user", "assistant"):
            said = text if role == "user" else self.reply([told.text, text])
            message = {"role": role, "content": [{"type": "text", "text": said}]}
            entry = {"type": role, "uuid": uuid4().hex, "timestamp": iso(self.memory.clock()), "message": message}
            await self.store(user).append({"project_key": "p", "session_id": session}, [entry])
        return self.prompt

    async def heard(self, user: str, session: str) -> list[str]:
        entries = await self.store(user).load({"project_key": "p", "session_id": session})
        return [text_of(each["message"]["content"]) for each in entries or ()]

    async def forget(self, user: str, session: str) -> None:
        await self.store(user).delete({"project_key": "p", "session_id": session})


PROGRAMS: tuple[type[Program], ...] = (
    LangGraph, OpenAIAgents, Adk, PydanticAI, AgentFramework, Strands, CrewAI, LlamaIndex, Claude,
)  # fmt: skip


async def _talk(name: str, path: str, user: str, session: str, *texts: str) -> None:
    """Say texts one after another; before the model answers "die", the process ends as if it were killed."""
    from memorist.testing import HashEmbedder

    async with Memory.open(path, embedder=HashEmbedder()) as memory:
        program = next(each for each in PROGRAMS if each.__name__ == name)(memory)
        for text in texts:
            if "die" in text:
                program.answer = lambda: os._exit(9)
            await program.say(user, session, text)


if __name__ == "__main__":
    asyncio.run(_talk(*sys.argv[1:]))
