"""Files without a name: the system removes them when the process ends, however it ends."""

import io
import tempfile
import threading
import weakref
from typing import IO, BinaryIO, cast

from memorist.errors import FormatError

_LARGEST = 256_000_000


class Staged:
    """A file that has no name in any folder, and that only its owner's process can read.

    Several streams may read it at once.
    """

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="memorist-")  # noqa: SIM115  # closed in `close`
        self._turn = threading.Lock()
        weakref.finalize(self, self.file.close)  # where what used it was broken off

    @property
    def size(self) -> int:
        """In bytes."""
        with self._turn:
            return self.file.seek(0, 2)

    def read(self, at: int, size: int) -> bytes:
        """Return bytes from a place on."""
        with self._turn:
            self.file.seek(at)
            return self.file.read(size)

    def whole(self) -> bytes:
        """Return all of it.

        Raises:
            FormatError: it is too large to be held in memory.
        """
        if self.size > _LARGEST:
            raise FormatError(
                f"a database of more than {_LARGEST:,} bytes cannot be read from standard input or "
                "a zip; give it as a file"
            )
        return self.read(0, _LARGEST)

    def open(self) -> BinaryIO:
        """Return a stream with a position of its own."""
        return cast(BinaryIO, io.BufferedReader(_Window(self)))

    def close(self) -> None:
        """Release the file and its content."""
        self.file.close()


class _Window(io.RawIOBase):
    def __init__(self, staged: Staged) -> None:
        self._staged = staged
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._staged.size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]  # as io gives it
        data = self._staged.read(self._at, len(target))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)
