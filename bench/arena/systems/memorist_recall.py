"""Memorist's `recall` alone, its hits put into the prompt as lines, as is done for every other system."""

from memorist import Draft, Kind
from memorist.sync import Memory as Memorist

PACKAGES = ("memorist",)
EMBEDS = False


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

    def close(self):
        self.memory.close()
