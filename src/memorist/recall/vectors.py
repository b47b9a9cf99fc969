"""One wall's vectors: whole while they are few, as one-byte codes once they are many."""

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.errors import EmbedderMismatchError
from memorist.recall.mapped_codes import MappedCodes

BLOCK_ROWS = 32_768
"""Rows in a block. One block is scanned whole in 2 ms; from the second on, codes are faster (bench/vectors)."""
_STEPS = 127
_AT_ONCE = 4096
_SHARED_BLOCKS = 8
"""From so many blocks of codes on, threads share a scan: it takes more than 8 ms."""
_THREADS = min(os.cpu_count() or 1, 4)
_HELD_BLOCKS = 4
"""The blocks of codes that are always in this process's own memory."""


class VectorTable:
    """Unit vectors by row, scanned in full.

    Up to `BLOCK_ROWS` rows are kept as float32, and `scores` is exact. Beyond, each is kept as int8 with a
    scale of its own, a quarter of the size, and `scores` is off by at most `error`: the true score of a row
    lies within `error` of what `scores` says, by the Cauchy-Schwarz inequality, whatever the vectors are.
    So rescoring every row that may still belong to the best yields exactly the best rows.

    Args:
        dimensions: of the vectors.
        folder: the folder for a file without a name that holds the codes beyond the first blocks; None keeps all in
            memory.
    """

    def __init__(self, dimensions: int, folder: Path | None = None) -> None:
        self.dimensions = dimensions
        self._mapped = None if folder is None else MappedCodes(folder)
        self.rows = 0
        self._exact: NDArray[np.float32] = np.zeros((256, dimensions), np.float32)
        self.exact = True
        """Whether the vectors are held whole."""
        self._codes: list[NDArray[np.int8]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._residual = 0.0

    @property
    def nbytes(self) -> int:
        """Bytes held in this process's own memory."""
        held: list[NDArray[Any]] = [self._exact, *self._codes, *self._scales]
        return sum(each.nbytes for each in held if each.flags.writeable)

    def put(self, row: int, vector: NDArray[np.float32] | None) -> None:
        """Set a row that is there. None is the zero vector, similar to nothing."""
        vector = np.zeros(self.dimensions, np.float32) if vector is None else self._checked(vector)
        if self.exact:
            self._exact[row] = vector
        else:
            self._encode(row, vector[None])

    def _checked(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a vector of the store, if it is as long as the embedder's are."""
        if len(vector) != self.dimensions:
            raise EmbedderMismatchError(
                f"the store holds a vector of {len(vector)} numbers, and the embedder gives {self.dimensions}; "
                "run: memorist reindex"
            )
        return vector

    def extend(self, vectors: Sequence[NDArray[np.float32] | None]) -> None:
        """Add rows after the last."""
        added = np.zeros((len(vectors), self.dimensions), np.float32)
        for row, vector in zip(added, vectors, strict=True):
            if vector is not None:
                row[:] = self._checked(vector)
        self._extend(added)

    def reserve(self, rows: int) -> None:
        """Make room for so many rows, so that later additions need no copy."""
        if self.exact and (room := min(rows, BLOCK_ROWS)) > len(self._exact):
            grown = np.empty((room, self.dimensions), np.float32)
            grown[: len(self._exact)] = self._exact
            self._exact = grown

    def _extend(self, added: NDArray[np.float32]) -> None:
        first, self.rows = self.rows, self.rows + len(added)
        if self.exact and self.rows > BLOCK_ROWS:
            self._begin_coding(first)
        if not self.exact:
            self._encode(first, added)
            return
        if self.rows > len(self._exact):
            self.reserve(max(2 * len(self._exact), self.rows))
        self._exact[first : self.rows] = added

    def _begin_coding(self, rows: int) -> None:
        whole, self._exact = self._exact[:rows], np.zeros((0, self.dimensions), np.float32)
        self.exact = False
        self._encode(0, whole)

    def held(self, rows: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.float32] | None, float]:
        """Return a copy of some rows as they are held: vectors; or codes, their scales, and what was rounded off."""
        if self.exact:
            return self._exact[rows], None, 0.0
        codes, scales = np.empty((len(rows), self.dimensions), np.int8), np.empty(len(rows), np.float32)
        for block, here, offsets in _by_block(rows):
            codes[here], scales[here] = self._codes[block][offsets], self._scales[block][offsets]
        return codes, scales, self._residual

    def extend_held(self, vectors: NDArray[Any], scales: NDArray[np.float32] | None, residual: float) -> None:
        """Add rows after the last, as `held` returned them."""
        if scales is None:
            self._extend(vectors)
            return
        first, self.rows = self.rows, self.rows + len(vectors)
        if self.exact:
            self._begin_coding(first)
        self._residual = max(self._residual, residual)
        for done, count, block, offset in self._blocks(first, len(vectors)):
            self._set(block, offset, vectors[done : done + count], scales[done : done + count])

    def _encode(self, start: int, vectors: NDArray[np.float32]) -> None:
        """Encode consecutive rows, some at a time."""
        for done, count, block, offset in self._blocks(start, len(vectors)):
            codes, scales, residual = _quantize(vectors[done : done + count])
            self._set(block, offset, codes, scales)
            self._residual = max(self._residual, residual)

    def _set(self, block: int, offset: int, codes: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
        self._scales[block][offset : offset + len(codes)] = scales
        if self._mapped is not None and not self._codes[block].flags.writeable:
            try:
                self._mapped.write(block - _HELD_BLOCKS, offset, codes)
                return
            except OSError:  # the disk is full
                self._codes[block] = self._codes[block].copy()
        self._codes[block][offset : offset + len(codes)] = codes

    def _block(self) -> NDArray[np.int8]:
        """Return a block of zeros: mapped, and then read-only, if it may and can lie in a file."""
        shape = BLOCK_ROWS, self.dimensions
        if self._mapped is not None and len(self._codes) >= _HELD_BLOCKS:
            with suppress(OSError):
                return self._mapped.block(len(self._codes) - _HELD_BLOCKS, shape)
        return np.zeros(shape, np.int8)

    def _blocks(self, start: int, rows: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield consecutive rows, some at a time: the first of them counted from `start`, how many, their block, and
        the offset in it. A block that is not there yet is made."""
        done = 0
        while done < rows:
            block, offset = divmod(start + done, BLOCK_ROWS)
            if block == len(self._codes):
                self._codes.append(self._block())
                self._scales.append(np.zeros(BLOCK_ROWS, np.float32))
            count = min(_AT_ONCE, BLOCK_ROWS - offset, rows - done)
            yield done, count, block, offset
            done += count

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of the query, a unit vector, with every row; shape (rows,)."""
        scores: NDArray[np.float32] = self.scores_of(query[None])[0]
        return scores

    def scores_of(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each query, a unit vector, with every row, for which each row is read once; shape
        (queries, rows)."""
        if self.exact:
            return products(queries, self._exact[: self.rows])
        codes, scale, _ = _quantize(queries)
        scores = np.empty((len(queries), self.rows), np.float32)

        def scan(block: int) -> None:
            start = block * BLOCK_ROWS
            count = min(self.rows - start, BLOCK_ROWS)
            rows, scales = self._codes[block][:count], self._scales[block][:count]
            np.multiply(products(codes, rows), scales * scale[:, None], out=scores[:, start : start + count])

        blocks = range(len(self._codes))
        if len(blocks) < _SHARED_BLOCKS:
            for block in blocks:
                scan(block)
        else:
            with ThreadPoolExecutor(_THREADS, "memorist-scan") as threads:
                list(threads.map(scan, blocks))
        return scores

    def error(self, query: NDArray[np.float32]) -> float:
        """Return how far `scores` of this query can be off; 0 while the vectors are held whole."""
        if self.exact:
            return 0.0
        _, _, lost = _quantize(query[None])
        return lost + self._residual * (1 + lost) + 1e-5

    def finer(self, query: NDArray[np.float32], rows: NDArray[np.intp]) -> tuple[NDArray[np.float32], float]:
        """Return the cosine with some rows, and how far it can be off: less than `scores`, which rounds the query."""
        return products(query[None], self.take(rows))[0], self._residual + 1e-5

    def take(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return a copy of these rows, as well as they are known; shape (len(rows), dimensions)."""
        if self.exact:
            exact: NDArray[np.float32] = self._exact[rows]
            return exact
        taken = np.empty((len(rows), self.dimensions), np.float32)
        for block, here, offsets in _by_block(rows):
            taken[here] = self._codes[block][offsets] * self._scales[block][offsets, None]
        return taken


def products(some: NDArray[Any], others: NDArray[Any]) -> NDArray[np.float32]:
    """Return the inner products of some rows with others; shape (len(some), len(others))."""
    # SimSIMD has what NumPy lacks: a kernel for one-byte integers, and one for floats that does not start
    # threads, which on a busy machine cost ten times what they save.
    from simsimd import cdist

    found: NDArray[np.float32] = np.asarray(cdist(some, others, metric="dot", out_dtype="float32"))
    return found.reshape(len(some), len(others))


def _by_block(rows: NDArray[np.integer[Any]]) -> Iterator[tuple[int, NDArray[np.bool_], NDArray[np.integer[Any]]]]:
    """Yield each block that rows are in, which of them are in it, and their offsets in it."""
    blocks, offsets = np.divmod(rows, BLOCK_ROWS)
    for block in np.flatnonzero(np.bincount(blocks)).tolist():  # `np.unique` would import masked arrays, for 8 ms
        here = blocks == block
        yield block, here, offsets[here]


def _quantize(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], float]:
    """Return codes, a scale for each row, and the greatest length of what was rounded off."""
    scales = (np.abs(vectors).max(axis=1) / _STEPS).astype(np.float32)
    safe = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
    codes = np.rint(vectors / safe).astype(np.int8)
    lost = vectors - codes * safe
    return codes, scales, math.sqrt(float(np.einsum("ij,ij->i", lost, lost).max(initial=0.0)))
