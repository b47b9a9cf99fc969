"""Strands Agents' TestMemoryStore, its store for a start without a server, which matches words (strandsagents.com)."""

import asyncio

from strands.vended_memory_stores.test_memory_store import TestMemoryStore

PACKAGES = ("strands-agents==1.62.0",)
EMBEDS = False


class Memory:
    def __init__(self, folder, embed=None):
        self.store, self.loop = TestMemoryStore(name="arena", path=f"{folder}/store.json"), asyncio.new_event_loop()

    def add(self, rows):
        for row in rows:
            self.loop.run_until_complete(self.store.add(row["text"], {"row": row["id"]}))

    def search(self, question, k, when):
        found = self.loop.run_until_complete(self.store.search(question, {"max_search_results": k}))
        return [(each.metadata["row"], each.metadata["_relevanceScore"]) for each in found]

    def ids(self):
        return {each["metadata"]["row"] for each in self.loop.run_until_complete(self.store._read())}

    def close(self):
        self.loop.close()
