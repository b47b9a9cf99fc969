"""Plain BM25 by bm25s: Snowball stems, English stop words, k1 1.5 and b 0.75, the library's defaults."""

from collections.abc import Sequence
from typing import Any

import bm25s
import numpy as np
import shared
import Stemmer
from numpy.typing import NDArray

_STEMMER = Stemmer.Stemmer("english")


class Index:
    """The rows' ids, and BM25 over their texts."""

    def __init__(self, rows: Sequence[shared.Row]) -> None:
        rows = shared.said(rows)
        self.ids = [row["id"] for row in rows]
        self._bm25 = bm25s.BM25()
        self._bm25.index(_tokens([shared.text_of(row) for row in rows]), show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of every row, in their order."""
        known = [token for token in _tokens([query])[0] if token in self._bm25.vocab_dict]
        scores: Any = self._bm25.get_scores(known) if known else np.zeros(len(self.ids), np.float32)
        return np.asarray(scores, np.float32)


def build(rows: Sequence[shared.Row]) -> Index:
    """Return an index of the rows."""
    return Index(rows)


def search(index: Index, query: str, k: int) -> list[str]:
    """Return the ids of the best k."""
    return [index.ids[place] for place in np.argsort(-index.scores(query), kind="stable")[:k]]


def _tokens(texts: list[str]) -> list[list[str]]:
    return bm25s.tokenize(texts, stopwords="en", stemmer=_STEMMER, return_ids=False, show_progress=False)  # type: ignore[no-any-return]
