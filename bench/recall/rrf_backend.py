"""BM25 and the default embedder, fused by reciprocal rank with the usual constant of 60."""

from collections.abc import Sequence

import bm25_backend
import embedder_backend
import numpy as np
import shared
from numpy.typing import NDArray

CONSTANT = 60

Index = tuple[bm25_backend.Index, embedder_backend.Index]


def build(rows: Sequence[shared.Row]) -> Index:
    """Return an index of the rows."""
    return bm25_backend.Index(rows), embedder_backend.Index(rows)


def search(index: Index, query: str, k: int) -> list[str]:
    """Return the ids of the best k. A row without a word of the query has no place in BM25's list."""
    words, meaning = index
    scores = words.scores(query)
    fused = _reciprocal_ranks(meaning.scores(query)) + _reciprocal_ranks(scores) * (scores > 0)
    return [words.ids[place] for place in np.argsort(-fused, kind="stable")[:k]]


def _reciprocal_ranks(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    fused: NDArray[np.float64] = 1 / (CONSTANT + ranks)
    return fused
