"""CrewAI's Memory without its model: scope, category and importance given, `depth="shallow"` (docs.crewai.com)."""

import os

os.environ.setdefault("OPENAI_API_KEY", "unused")  # it makes a client, of which nothing is asked
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai.memory.unified_memory import Memory as CrewMemory

PACKAGES = ("crewai==1.15.30",)
WANTS = "asks OpenAI for vectors: a key"


class Memory:
    def __init__(self, folder, embed=None):
        self.memory = CrewMemory(storage=folder, embedder=embed, llm="openai/gpt-4o-mini", consolidation_threshold=1.0)

    def add(self, rows):
        given = {"scope": "/talks", "categories": ["talk"], "importance": 0.5}
        for row in rows:
            self.memory.remember(row["text"], metadata={"row": row["id"]}, **given)

    def search(self, question, k, when):
        found = self.memory.recall(question, limit=k, depth="shallow")
        return [(match.record.metadata["row"], match.score) for match in found]

    def delete(self, id):
        [record] = [each for each in self.memory.list_records(limit=200_000) if each.metadata["row"] == id]
        self.memory.forget(record_ids=[record.id])

    def ids(self):
        return {each.metadata["row"] for each in self.memory.list_records(limit=200_000)}

    def close(self):
        self.memory.close()
