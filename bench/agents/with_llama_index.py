"""LlamaIndex: MemoristMemoryBlock beside its VectorMemoryBlock, in its Memory with a short-term queue of 300 tokens."""

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import BaseMemoryBlock, VectorMemoryBlock
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery, VectorStoreQueryResult
from pydantic import Field
from scripted import ScriptedAgent

from memorist import Memory
from memorist.adapters.llama_index import MemoristMemoryBlock
from memorist.embedders import Embedder, Role


class Model(CustomLLM):
    script: Any

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.script.reply(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class Embedding(BaseEmbedding):
    """The embedder as LlamaIndex takes it."""

    embedder: Any

    async def _aget_query_embedding(self, query: str) -> list[float]:
        row: list[float] = (await self.embedder.embed([query], Role.QUERY))[0].tolist()
        return row

    async def _aget_text_embedding(self, text: str) -> list[float]:
        row: list[float] = (await self.embedder.embed([text]))[0].tolist()
        return row

    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    def _get_text_embedding(self, text: str) -> list[float]:
        raise NotImplementedError


class TextStore(SimpleVectorStore):
    """LlamaIndex's own store with the texts, which its memory block wants."""

    stores_text: bool = True
    texts: dict[str, Any] = Field(default_factory=dict)

    def add(self, nodes: Any, **kwargs: Any) -> list[str]:
        self.texts.update({node.node_id: node for node in nodes})
        return super().add(nodes, **kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        found = super().query(query, **kwargs)
        nodes: list[BaseNode] = [self.texts[id] for id in found.ids or ()]
        return VectorStoreQueryResult(nodes=nodes, similarities=found.similarities, ids=found.ids)


class Agent(ScriptedAgent):
    """A chat engine on one Memory; LlamaIndex's own block finds only what its session holds, so there is only one."""

    def __init__(self, block: BaseMemoryBlock[str] | None = None) -> None:
        super().__init__()
        chat = ChatMemory.from_defaults(
            session_id="all", memory_blocks=[block] if block else [],
            token_limit=3000, chat_history_token_ratio=0.1, token_flush_size=100,
        )  # fmt: skip
        self._engine = SimpleChatEngine.from_defaults(llm=Model(script=self.script), memory=chat)

    async def turn(self, session: str, said: str, *, keep: bool) -> None:
        await self._engine.achat(said)


def agents(memory: Memory, embedder: Embedder) -> Mapping[str, Callable[[], ScriptedAgent]]:
    """Return what makes an agent with each memory, by the memory's name."""
    embed = Embedding(embedder=embedder)
    return {
        "none": Agent,
        "VectorMemoryBlock": lambda: Agent(VectorMemoryBlock(vector_store=TextStore(), embed_model=embed)),
        "Memorist": lambda: Agent(MemoristMemoryBlock(memory=memory.scoped(user="alice"))),
    }
