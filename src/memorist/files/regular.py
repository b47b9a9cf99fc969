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


def lines_back(stream: BinaryIO, farthest: int, block: int = 1_000_000) -> Iterator[bytes]:
    """Yield the lines of a file from the last to the first, without their ends; a line that is too long is left out.

    Args:
        stream: the file.
        farthest: the most bytes from the end on that are read; of the line in which they end, nothing is yielded.
        block: how many bytes are read at a time.
    """
    at = stream.seek(0, 2)
    beginning = max(0, at - farthest)
    ends: list[bytes] = []  # of the line whose beginning is not read yet, the last part first
    held = 0
    while at > beginning:
        size = min(block, at - beginning)
        at -= size
        stream.seek(at)
        first, *rest = stream.read(size).split(b"\n")
        if rest:
            if held + len(rest[-1]) <= LONGEST_LINE:
                yield rest[-1] + b"".join(reversed(ends))
            yield from reversed(rest[:-1])
            ends, held = [], 0
        held += len(first)
        if held <= LONGEST_LINE:
            ends.append(first)
        else:
            ends.clear()
    if beginning == 0 and held <= LONGEST_LINE:
        yield b"".join(reversed(ends))
