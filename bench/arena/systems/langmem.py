"""LangMem's two tools on LangGraph's store (https://langchain-ai.github.io/langmem/guides/memory_tools/)."""

import json

from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

PACKAGES = ("langmem==0.0.30", "numpy==2.4.6")  # which its store asks for where there is none
WANTS = "its store is given an embedder, in the documentation OpenAI's: a key"
KEEPS = False
SPACE = ("memories",)


class Memory:
    def __init__(self, folder, embed=None):
        self.store = InMemoryStore(index={"embed": embed, "dims": embed.dimensions})
        self.manage = create_manage_memory_tool(SPACE, store=self.store)
        self.find = create_search_memory_tool(SPACE, store=self.store)
        self.rows = {}

    def add(self, rows):
        for row in rows:
            said = self.manage.invoke({"action": "create", "content": row["text"]})
            self.rows[said.split()[-1]] = row["id"]

    def search(self, question, k, when):
        found = json.loads(self.find.invoke({"query": question, "limit": k}))
        return [(self.rows[item["key"]], item["score"] or 0.0) for item in found]

    def delete(self, id):
        [key] = [key for key, row in self.rows.items() if row == id]
        self.manage.invoke({"action": "delete", "id": key})

    def ids(self):
        return {self.rows[item.key] for item in self.store.search(SPACE, limit=200_000)}

    def close(self):
        pass
