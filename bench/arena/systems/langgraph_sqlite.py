"""LangGraph's SqliteStore with an index, of langgraph-checkpoint-sqlite; it needs SQLite with loadable extensions."""

import sqlite3

from langgraph.store.sqlite import SqliteStore

PACKAGES = ("langgraph==1.2.22", "langgraph-checkpoint-sqlite==3.1.2")
WANTS = "its index is given an embedder, in the documentation OpenAI's: a key"
SPACE = ("user", "memories")


class Memory:
    def __init__(self, folder, embed=None):
        connection = sqlite3.connect(f"{folder}/store.db", check_same_thread=False, isolation_level=None)
        self.store = SqliteStore(connection, index={"embed": embed, "dims": embed.dimensions})
        self.store.setup()

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
        self.store.conn.close()
