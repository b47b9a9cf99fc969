"""Reading small files of a repository that may be anybody's: regular ones, not through a link, up to a size."""

import os
import stat
from typing import BinaryIO

from memorist.system.handles import open_file
from memorist.system.platforms import is_ours

OWN_FILE = 1 << 20
"""The most bytes of a file of settings or of references that is read."""


def read_small(*path: str, most: int = OWN_FILE) -> str | None:
    """Return the text of a file, or None if none may be read: a link, a pipe, or one that is too large."""
    content = read_bytes(*path, most=most)
    return None if content is None else content.decode("utf-8", "replace")


def read_bytes(*path: str, most: int) -> bytes | None:
    """Return the bytes of a file, or None as `read_small` does."""
    stream = opened(*path, most=most)
    if stream is None:
        return None
    with stream:
        try:
            content = stream.read(most + 1)
        except OSError:
            return None
    return content if len(content) <= most else None


def opened(*path: str, most: int | None = None) -> BinaryIO | None:
    """Open a regular file of at most `most` bytes; return None where there is no such file."""
    try:
        stream = open_file(os.path.join(*path), getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return None
    found = os.fstat(stream.fileno())
    if stat.S_ISREG(found.st_mode) and (most is None or found.st_size <= most):
        return stream
    stream.close()
    return None


def is_own(path: str) -> bool:
    """Return whether a path is no link and belongs to this user, or to the system's administrator.

    What somebody else left in a folder above, such as one for all users' temporary files, says nothing.
    """
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    return not stat.S_ISLNK(found.st_mode) and is_ours(found)
