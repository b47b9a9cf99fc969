"""LangGraph's InMemoryStore with an index (https://docs.langchain.com/oss/python/langgraph/stores)."""

from langgraph.store.memory import InMemoryStore

PACKAGES = ("langgraph==1.2.22", "numpy==2.4.6")  # which it asks for where there is none
WANTS = "its index is given an embedder, in the documentation OpenAI's: a key"
KEEPS = False
SPACE = ("user", "memories")


class Memory:
    def __init__(self, folder, embed=None):
        self.store = InMemoryStore(index={"embed": embed, "dims": embed.dimensions})

    def add(self, rows):
        for row in rows:
            self.store.put(SPACE, row["id"], {"text": row["text"]})

    def search(self, question, k, when):
        return [(item.key, item.score) for item in self.store.search(SPACE, query=question, limit=k)]

    def delete(self, id):
        self.store.delete(SPACE, id)

    def ids(self):
        return {item.key for item in self.store.search(SPACE, limit=200_000)}

    def close(self):
        pass
