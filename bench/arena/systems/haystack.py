"""Haystack's InMemoryDocumentStore: BM25 by default, or by vectors (https://docs.haystack.deepset.ai/docs)."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore

PACKAGES = ("haystack-ai==3.4.0",)
KEEPS = False


class Memory:
    def __init__(self, folder, embed=None):
        self.store, self.embed = InMemoryDocumentStore(), embed
        self.finder = (InMemoryEmbeddingRetriever if embed else InMemoryBM25Retriever)(self.store)

    def add(self, rows):
        vectors = self.embed([row["text"] for row in rows]) if self.embed else [None] * len(rows)
        pairs = zip(rows, vectors, strict=True)
        self.store.write_documents([Document(id=row["id"], content=row["text"], embedding=each) for row, each in pairs])

    def search(self, question, k, when):
        asked = {"query_embedding": self.embed([question], query=True)[0]} if self.embed else {"query": question}
        return [(each.id, each.score) for each in self.finder.run(**asked, top_k=k)["documents"]]

    def delete(self, id):
        self.store.delete_documents([id])

    def ids(self):
        return {each.id for each in self.store.filter_documents()}

    def close(self):
        pass
