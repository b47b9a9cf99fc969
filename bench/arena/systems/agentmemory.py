"""agentmemory, a layer on Chroma (https://github.com/elizaOS/agentmemory); its default embedder is downloaded."""

import os

PACKAGES = ("agentmemory==0.4.8", "pluggy==1.6.0")  # which it imports and does not ask for
EMBEDS = False  # a search takes a text alone and embeds it by itself


class Memory:
    def __init__(self, folder, embed=None):
        os.environ["STORAGE_PATH"] = folder
        import agentmemory

        self.memory = agentmemory

    def add(self, rows):
        for row in rows:
            self.memory.create_memory("rows", row["text"], {"session": row["session"]}, id=row["id"])

    def search(self, question, k, when):
        return [(each["id"], -each["distance"]) for each in self.memory.search_memory("rows", question, n_results=k)]

    def delete(self, id):
        self.memory.delete_memory("rows", id)

    def ids(self):
        return {each["id"] for each in self.memory.get_memories("rows", n_results=200_000)}

    def close(self):
        pass
