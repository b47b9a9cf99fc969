"""LangChain 1.x agents: MemoryMiddleware beside LangGraph's InMemoryStore, searched before each model call."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, dynamic_prompt
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from scripted import Exchange, Script, ScriptedAgent, Thread

from memorist import Memory
from memorist.adapters.langgraph import MemoristSaver, MemoryMiddleware
from memorist.embedders import Embedder, Role


class Model(SimpleChatModel):
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return str(self.script.reply("\n".join(message.text for message in messages)))


class Embedding(Embeddings):
    """The embedder as LangChain takes it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = (await self._embedder.embed(texts)).tolist()
        return rows

    async def aembed_query(self, text: str) -> list[float]:
        row: list[float] = (await self._embedder.embed([text], Role.QUERY))[0].tolist()
        return row

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError


class Agent(ScriptedAgent):
    """An agent with one middleware for sessions that are kept, another for questions, and perhaps a store."""

    def __init__(
        self, kept: AgentMiddleware | None = None, asked: AgentMiddleware | None = None, store: Any = None
    ) -> None:
        super().__init__()
        self._store = store
        self._agents: dict[bool, Any] = {
            keep: create_agent(Model(script=self.script), middleware=[each] if each else [], store=store)
            for keep, each in ((True, kept), (False, asked))
        }

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        await self._agents[keep].ainvoke({"messages": [said]}, {"configurable": {"thread_id": session}})
        if keep and self._store:
            for text in (said, self.script.answer):
                await self._store.aput(("alice",), uuid4().hex, {"text": text})


def searching(limit: int) -> Any:
    """Return a middleware that tells what LangGraph's store finds for the last message."""

    @dynamic_prompt
    async def searched(request: ModelRequest) -> str:
        question = request.messages[-1].text
        items = await request.runtime.store.asearch(("alice",), query=question, limit=limit)
        return "\n".join(["What you know:", *(f"- {item.value['text']}" for item in items)])

    return searched


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    alice = memory.scoped(user="alice")

    def own(limit: int) -> Agent:
        index: Any = {"dims": embedder.dimensions, "embed": Embedding(embedder), "fields": ["text"]}
        return Agent(searching(limit), searching(limit), InMemoryStore(index=index))

    return {
        "none": Agent,
        "InMemoryStore": lambda: own(10),  # as many items as it returns by default
        "InMemoryStore, 15 items": lambda: own(15),  # about as many tokens as Memorist's 600
        "Memorist": lambda: Agent(MemoryMiddleware(alice), MemoryMiddleware(alice, keep=False)),
    }


class Checkpointed(Thread):
    """A thread in a checkpointer, with or without a middleware."""

    def __init__(self, saver: Any, *middleware: AgentMiddleware) -> None:
        model = Model(script=Script("That is good to know."))
        self._agent: Any = create_agent(model, middleware=middleware, checkpointer=saver)
        self._config: Any = {"configurable": {"thread_id": "long"}}

    async def fill(self, said: Sequence[Exchange]) -> None:
        messages = [make(text) for each in said for make, text in zip((HumanMessage, AIMessage), each, strict=True)]
        await self._agent.aupdate_state(self._config, {"messages": messages}, as_node="model")

    async def turn(self, said: str) -> None:
        await self._agent.ainvoke({"messages": [said]}, self._config)


async def threads(memories: Sequence[Memory], folder: Path, stack: AsyncExitStack) -> Mapping[str, Thread]:
    """Return a thread in each store, by the store's name; the framework's own first."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    savers = [
        await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / f"own{each}.db")))
        for each in range(2)
    ]
    alice = [memory.scoped(user="alice") for memory in memories]
    return {
        "AsyncSqliteSaver": Checkpointed(savers[0]),
        "AsyncSqliteSaver, MemoryMiddleware": Checkpointed(savers[1], MemoryMiddleware(alice[0])),
        "MemoristSaver": Checkpointed(MemoristSaver(alice[1])),
        "MemoristSaver, MemoryMiddleware": Checkpointed(MemoristSaver(alice[2]), MemoryMiddleware(alice[2])),
    }
