"""A floor: BM25 over words, with bm25s as its README shows (https://github.com/xhluca/bm25s)."""

import bm25s

PACKAGES = ("bm25s==0.3.16",)
EMBEDS = False
KEEPS = False


class Memory:
    def __init__(self, folder, embed=None):
        self.rows, self.index = {}, None

    def add(self, rows):
        self.rows |= {row["id"]: row for row in rows}
        self.index = None

    def search(self, question, k, when):
        if self.index is None:
            self.index = bm25s.BM25()
            texts = [row["text"] for row in self.rows.values()]
            self.index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
        asked = bm25s.tokenize([question], stopwords="en", show_progress=False)
        found, scores = self.index.retrieve(asked, list(self.rows), k=min(k, len(self.rows)), show_progress=False)
        return [(str(id), float(score)) for id, score in zip(found[0], scores[0], strict=True) if score > 0]

    def delete(self, id):
        del self.rows[id]
        self.index = None

    def ids(self):
        return set(self.rows)

    def close(self):
        pass
