"""mem0, told to store texts as they are, `infer=False` (https://docs.mem0.ai/open-source/python-quickstart)."""

import os

PACKAGES = ("mem0ai==2.2.1",)
WANTS = "asks OpenAI for vectors: a key"


class Memory:
    def __init__(self, folder, embed=None):
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": folder}  # both are read on import
        from mem0 import Memory as Mem0
        from mem0.embeddings.base import EmbeddingBase

        class Embeddings(EmbeddingBase):
            def embed(self, text, memory_action=None):
                return embed([text], query=memory_action == "search")[0]

        nobody = {"provider": "openai", "config": {"api_key": "unused"}}  # no call is made
        store = {"path": f"{folder}/qdrant", "embedding_model_dims": embed.dimensions, "on_disk": True}
        config = {"llm": nobody, "embedder": nobody, "vector_store": {"provider": "qdrant", "config": store}}
        self.memory = Mem0.from_config({**config, "history_db_path": f"{folder}/history.db"})
        self.memory.embedding_model = Embeddings()

    def add(self, rows):
        for row in rows:
            self.memory.add(row["text"], user_id="u", infer=False, metadata={"row": row["id"]})

    def search(self, question, k, when):
        hits = self.memory.search(question, top_k=k, filters={"user_id": "u"})["results"]
        return [(hit["metadata"]["row"], hit["score"]) for hit in hits]

    def delete(self, id):
        self.memory.delete({each["metadata"]["row"]: each["id"] for each in self._all()}[id])

    def ids(self):
        return {each["metadata"]["row"] for each in self._all()}

    def _all(self):
        return self.memory.get_all(filters={"user_id": "u"}, top_k=200_000)["results"]

    def close(self):
        self.memory.vector_store.client.close()
