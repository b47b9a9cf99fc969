"""Memorist: `Memory.open`, `remember`, `recall` and `context`, as its README shows."""

from memorist import Draft, Kind
from memorist.sync import Memory as Memorist

PACKAGES = ("memorist",)
EMBEDS = False  # its own embedder is the one that the others are given


class Memory:
    def __init__(self, folder, embed=None):
        self.memory = Memorist.open(f"{folder}/memory.db")

    def add(self, rows):
        self.memory.remember(
            [
                Draft(
                    content=row["said"], kind=Kind.MESSAGE, id=row["id"], session=row["session"],
                    payload={"speaker": row["speaker"]}, happened_at=row["timestamp"],
                )
                for row in rows
            ]
        )  # fmt: skip

    def search(self, question, k, when):
        return [(hit.record.id, hit.score) for hit in self.memory.recall(question, limit=k, now=when)]

    def context(self, question, tokens, when):
        return self.memory.context(question, tokens=tokens, now=when).text

    def delete(self, id):
        self.memory.forget(id)

    def ids(self):
        return {record.id for record in self.memory.iterate()}

    def close(self):
        self.memory.close()
