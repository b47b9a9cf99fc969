"""Blocks of codes in a file without a name, mapped into memory: the kernel may drop their pages and read them again."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_write_at: Callable[[int, Any, int], int] | None = getattr(os, "pwrite", None)  # Windows has none


class MappedCodes:
    """A file of equal blocks. It has no name, so that it is gone with the process, however that ends.

    Blocks are read through the mapping and written by `write`, so that a full disk is an error and not a signal.

    Args:
        folder: of the file, which is created with the first block.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        self._step = 0

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)

    def block(self, number: int, shape: tuple[int, int]) -> NDArray[np.int8]:
        """Return a read-only view of a block; all blocks have the same shape. A new one holds zeros.

        Raises:
            OSError: the file cannot be created or mapped here.
        """
        if _write_at is None:
            raise OSError("this system has no file that is written at a position and read through a mapping")
        if self._file < 0:
            import tempfile

            with tempfile.TemporaryFile(dir=self._folder) as file:
                self._file = os.dup(file.fileno())
            self._step = -(-shape[0] * shape[1] // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        os.ftruncate(self._file, (number + 1) * self._step)
        mapped = mmap.mmap(self._file, self._step, access=mmap.ACCESS_READ, offset=number * self._step)
        return np.frombuffer(mapped, np.int8, shape[0] * shape[1]).reshape(shape)

    def write(self, number: int, first: int, rows: NDArray[np.int8]) -> None:
        """Write consecutive rows of a block, from the row `first` on.

        Raises:
            OSError: the disk is full or fails.
        """
        assert _write_at is not None
        data = np.ascontiguousarray(rows)
        if _write_at(self._file, data.data, number * self._step + first * rows.shape[1]) < data.nbytes:
            raise OSError("the disk is full")
