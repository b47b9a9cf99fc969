"""An example of a memory of your own: the messages that share most words with the question, in a file of lines."""

import json
from pathlib import Path

PACKAGES = ()  # what pip installs, each with its version: ("mine==1.2",)
EMBEDS = False  # it takes no embedder


class Memory:
    def __init__(self, folder, embed=None):
        self.file = Path(folder) / "rows.jsonl"
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self.rows = {row["id"]: row for row in map(json.loads, lines)}

    def add(self, rows):
        self.rows |= {row["id"]: row for row in rows}
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def search(self, question, k, when):
        asked = set(question.casefold().split())
        shared = {id: len(asked & set(row["text"].casefold().split())) for id, row in self.rows.items()}
        return sorted(((id, count) for id, count in shared.items() if count), key=lambda pair: -pair[1])[:k]

    def delete(self, id):
        del self.rows[id]
        self.file.write_text("".join(json.dumps(row) + "\n" for row in self.rows.values()), encoding="utf-8")

    def ids(self):
        return set(self.rows)

    def close(self):
        pass
