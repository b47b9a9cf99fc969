"""One wall's vectors in memory: whole while they are few, as one-byte codes once they are many."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK_ROWS", "VectorTable"]

BLOCK_ROWS = 32_768
"""Rows in a block. One block is scanned whole in 2 ms; from the second on, codes are faster (bench/vectors)."""
_STEPS = 127


class VectorTable:
    """Unit vectors by row, scanned in full.

    Up to `BLOCK_ROWS` rows are kept as float32, and `scores` is exact. Beyond, each is kept as int8 with a
    scale of its own, a quarter of the size, and `scores` is off by at most `error`: the true score of a row
    lies within `error` of what `scores` says, by the Cauchy-Schwarz inequality, whatever the vectors are.
    So whoever rescores every row that may still belong to the best has the best, not nearly the best.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.rows = 0
        self._exact: NDArray[np.float32] = np.zeros((256, dimensions), np.float32)
        self._codes: list[NDArray[np.int8]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._residual = 0.0

    @property
    def exact(self) -> bool:
        """Whether the vectors are held whole."""
        return not self._codes

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held: list[NDArray[Any]] = [self._exact, *self._codes, *self._scales]
        return sum(each.nbytes for each in held)

    def put(self, row: int, vector: NDArray[np.float32] | None) -> None:
        """Set a row, at most one past the last. None is the zero vector, similar to nothing."""
        if vector is None:
            vector = np.zeros(self.dimensions, np.float32)
        if self.exact and row >= BLOCK_ROWS:
            self._encode_all()
        self.rows = max(self.rows, row + 1)
        if self.exact:
            if row >= len(self._exact):
                grown = np.zeros((min(2 * len(self._exact), BLOCK_ROWS), self.dimensions), np.float32)
                grown[: len(self._exact)] = self._exact
                self._exact = grown
            self._exact[row] = vector
        else:
            self._encode(row, vector[None])

    def _encode_all(self) -> None:
        whole, self._exact = self._exact[: self.rows], np.zeros((0, self.dimensions), np.float32)
        self._codes.append(np.zeros((BLOCK_ROWS, self.dimensions), np.int8))
        self._scales.append(np.zeros(BLOCK_ROWS, np.float32))
        self._encode(0, whole)

    def _encode(self, start: int, vectors: NDArray[np.float32]) -> None:
        """Encode consecutive rows of one block."""
        block, offset = divmod(start, BLOCK_ROWS)
        if block == len(self._codes):
            self._codes.append(np.zeros((BLOCK_ROWS, self.dimensions), np.int8))
            self._scales.append(np.zeros(BLOCK_ROWS, np.float32))
        codes, scales, residual = _quantize(vectors)
        self._codes[block][offset : offset + len(vectors)] = codes
        self._scales[block][offset : offset + len(vectors)] = scales
        self._residual = max(self._residual, residual)

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of the query, a unit vector, with every row; shape (rows,)."""
        # SimSIMD has what NumPy lacks: a kernel for one-byte integers, and one for floats that does not start
        # threads, which on a busy machine cost ten times what they save.
        from simsimd import cdist

        if self.exact:
            exact: NDArray[Any] = np.asarray(cdist(query[None], self._exact[: self.rows], metric="dot"))
            return exact[0].astype(np.float32)
        codes, scale, _ = _quantize(query[None])
        scores = np.empty(self.rows, np.float32)
        for block, (rows, scales) in enumerate(zip(self._codes, self._scales, strict=True)):
            start = block * BLOCK_ROWS
            count = min(self.rows - start, BLOCK_ROWS)
            products: Any = np.asarray(cdist(codes, rows[:count], metric="dot"))[0]
            np.multiply(products, scales[:count] * scale[0], out=scores[start : start + count], casting="unsafe")
        return scores

    def error(self, query: NDArray[np.float32]) -> float:
        """Return how far `scores` of this query can be off; 0 while the vectors are held whole."""
        if self.exact:
            return 0.0
        _, _, lost = _quantize(query[None])
        return lost + self._residual * (1 + lost) + 1e-5

    def take(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return a copy of these rows, as well as they are known; shape (len(rows), dimensions)."""
        if self.exact:
            exact: NDArray[np.float32] = self._exact[rows]
            return exact
        taken = np.empty((len(rows), self.dimensions), np.float32)
        for place, row in enumerate(rows):
            block, offset = divmod(int(row), BLOCK_ROWS)
            taken[place] = self._codes[block][offset] * self._scales[block][offset]
        return taken


def _quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], float]:
    """Return codes, a scale for each row, and the greatest length of what was rounded off."""
    scales = (np.abs(vectors).max(axis=1) / _STEPS).astype(np.float32)
    safe = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
    codes = np.rint(vectors / safe).astype(np.int8)
    lost = vectors - codes * safe
    return codes, scales, math.sqrt(float(np.einsum("ij,ij->i", lost, lost).max(initial=0.0)))
