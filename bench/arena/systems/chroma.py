"""Chroma, persistent (https://docs.trychroma.com/docs/overview/getting-started); its default embedder is downloaded."""

import chromadb
from chromadb.config import Settings

PACKAGES = ("chromadb==1.5.9",)


class Memory:
    def __init__(self, folder, embed=None):
        self.embed = embed
        client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        given = {"embedding_function": None} if embed else {}
        self.rows = client.get_or_create_collection("rows", **given)

    def add(self, rows):
        texts = [row["text"] for row in rows]
        given = {"embeddings": self.embed(texts)} if self.embed else {}
        self.rows.add(ids=[row["id"] for row in rows], documents=texts, **given)

    def search(self, question, k, when):
        asked = {"query_embeddings": self.embed([question], query=True)} if self.embed else {"query_texts": [question]}
        found = self.rows.query(**asked, n_results=k)
        return [(id, -far) for id, far in zip(found["ids"][0], found["distances"][0], strict=True)]

    def delete(self, id):
        self.rows.delete(ids=[id])

    def ids(self):
        return set(self.rows.get(include=[])["ids"])

    def close(self):
        pass
