"""The default embedder alone: every vector compared, the nearest first."""

from collections.abc import Sequence

import numpy as np
import shared
from numpy.typing import NDArray

from memorist.embedders import Role


class Index:
    """The rows' ids and vectors."""

    def __init__(self, rows: Sequence[shared.Row]) -> None:
        rows = shared.said(rows)
        self.ids = [row["id"] for row in rows]
        self._vectors = shared.EMBEDDER.embed_now([shared.text_of(row) for row in rows])

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the cosine of every row, in their order."""
        cosines: NDArray[np.float32] = self._vectors @ shared.EMBEDDER.embed_now([query], Role.QUERY)[0]
        return cosines


def build(rows: Sequence[shared.Row]) -> Index:
    """Return an index of the rows."""
    return Index(rows)


def search(index: Index, query: str, k: int) -> list[str]:
    """Return the ids of the best k."""
    return [index.ids[place] for place in np.argsort(-index.scores(query), kind="stable")[:k]]
