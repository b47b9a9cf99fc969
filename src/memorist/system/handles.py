"""Handles of files: only SQLite opens a database that is open in this process; `open_file` opens any other file.

A process that closes any handle of a file loses all of its POSIX locks on that file. SQLite knows that, and keeps such
handles until its own locks are released; other code does not. Without the locks, the next process that closes the
database believes that it is the last user and deletes the log. Everything that this process commits afterwards is lost.
"""

import errno
import io
import os
import threading
from collections import Counter
from typing import TypeAlias

COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite appends to the name of a database for the files beside it."""

_Inode: TypeAlias = tuple[int, int]
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_lock = threading.RLock()  # a `Hold` may be collected while this thread has the lock
_holds: Counter[tuple[_Inode, str]] = Counter()
"""The number of this process's connections to each database, by its inode and its path without links."""
_parked: list[int] = []
"""Handles of files that belong to open databases; each is closed after the last connection to its database."""


class Hold:
    """Marks a database as open in this process, until `release`.

    Raises:
        OSError: it does not exist, or is open in this process by another name, and so with another log.
    """

    def __init__(self, database: str | os.PathLike[str]) -> None:
        self._key: tuple[_Inode, str] | None = None
        path = os.path.realpath(database)
        key = _inode(os.lstat(path)), path
        with _lock:
            for inode, name in list(_holds):
                if inode == key[0] and name != path:
                    raise OSError(errno.EBUSY, f"it is {name}, which is open in this process, by another name", path)
            self._key = key
            _holds[key] += 1

    def release(self) -> None:
        """Remove the mark. Idempotent."""
        with _lock:
            key, self._key = self._key, None
            if key is None:
                return
            _holds[key] -= 1
            if not _holds[key]:
                del _holds[key]
            parked = _parked.copy()
            _parked.clear()
            for handle in parked:
                _close(handle)

    def __del__(self) -> None:
        self.release()


def open_file(path: str | os.PathLike[str], flags: int = 0) -> io.BufferedReader:
    """Open a file for reading bytes, unless it belongs to a database that is open in this process; links are followed.

    Args:
        path: the file.
        flags: more flags of the system's `open`.

    Raises:
        OSError: it does, or it cannot be opened.
    """
    found = os.stat(path)
    with _lock:
        if _is_held(found):
            raise OSError(errno.EBUSY, "it belongs to a database that is open in this process", os.fspath(path))
    return io.BufferedReader(_File(path, flags))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; raises as `open_file`."""
    with open_file(path) as file:
        return file.read()


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """Return the text of a file, with "\n" at the ends of lines; raises as `open_file`."""
    with io.TextIOWrapper(open_file(path), encoding=encoding) as file:
        return file.read()


class _File(io.FileIO):
    """A file whose handle stays open if the file was opened as a database meanwhile."""

    def __init__(self, path: str | os.PathLike[str], flags: int) -> None:
        handle = os.open(path, _FLAGS | flags)
        try:
            super().__init__(handle, closefd=False)
        except BaseException:
            _close(handle)
            raise
        self.name = os.fspath(path)

    def close(self) -> None:
        if not self.closed:
            handle = self.fileno()
            super().close()
            _close(handle)


def _close(handle: int) -> None:
    with _lock:
        if _is_held(os.fstat(handle)):
            _parked.append(handle)
        else:
            os.close(handle)


def _is_held(found: os.stat_result) -> bool:
    """Return whether a file is an open database, or one of the files that belong to an open database."""
    wanted = _inode(found)
    for inode, path in list(_holds):
        if inode == wanted:
            return True
        for end in COMPANIONS:
            try:
                if _inode(os.lstat(path + end)) == wanted:
                    return True
            except OSError:
                continue
    return False


def _inode(found: os.stat_result) -> _Inode:
    return found.st_dev, found.st_ino


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
