"""LlamaIndex's VectorMemory, each message by itself (https://developers.llamaindex.ai/python/framework/)."""

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import VectorMemory

PACKAGES = ("llama-index-core==0.14.25",)
WANTS = "asks OpenAI for vectors: a key"
KEEPS = False


class Memory:
    def __init__(self, folder, embed=None):
        class Embedding(BaseEmbedding):
            def _get_text_embedding(self, text):
                return embed([text])[0]

            def _get_query_embedding(self, query):
                return embed([query], query=True)[0]

            async def _aget_query_embedding(self, query):
                return self._get_query_embedding(query)

        self.memory = VectorMemory.from_defaults(embed_model=Embedding(), retriever_kwargs={"similarity_top_k": 60})
        self.rows = {}

    def add(self, rows):
        for row in rows:
            self.rows[row["text"]] = row["id"]
            self.memory.put(ChatMessage(role="user", content=row["text"]))

    def search(self, question, k, when):
        return [(self.rows[said.content], 0.0) for said in self.memory.get(question) if said.content in self.rows][:k]

    def close(self):
        pass
