"""Opens files that a user names: only regular files, and reads no line beyond a limit."""

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from memorist.errors import FormatError, InvalidInputError
from memorist.system.handles import open_file

LONGEST_LINE = 64_000_000
"""In bytes."""


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading bytes.

    Raises:
        InvalidInputError: it is a device, a pipe, a socket or a folder.
        OSError: it cannot be read.
    """
    stream = open_file(path, getattr(os, "O_NONBLOCK", 0))  # opening a pipe without a writer would wait forever
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    told = "it is not a regular file; give the output of a pipe as the standard input"
    raise InvalidInputError(f"cannot read {os.fspath(path)}: {told}")


def lines_of(stream: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield the lines of a stream, with their ends.

    Raises:
        FormatError: a line is longer than it may be.
    """
    while line := stream.readline(longest + 1):
        if len(line) > longest:
            raise FormatError(f"a line is longer than {longest:,} bytes")
        yield line
