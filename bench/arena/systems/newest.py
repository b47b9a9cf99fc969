"""A floor: the newest messages, whatever was asked."""

PACKAGES = ()
EMBEDS = False
KEEPS = False  # in memory only


class Memory:
    def __init__(self, folder, embed=None):
        self.rows = []

    def add(self, rows):
        self.rows += rows

    def search(self, question, k, when):
        return [(row["id"], 0.0) for row in self.rows[::-1][:k]]

    def delete(self, id):
        self.rows = [row for row in self.rows if row["id"] != id]

    def ids(self):
        return {row["id"] for row in self.rows}

    def close(self):
        pass
