"""Whether the files of an open database are still those at its path: others delete, replace and truncate files."""

import os
from pathlib import Path
from typing import NamedTuple

import apsw

from memorist.errors import StoreUnavailableError

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_LARGEST_PAGE = 65536


class _State(NamedTuple):
    """The size of the database's file and when it was written."""

    size: int
    at: int


class Presence:
    """The files of an open database, as they were when it was opened.

    While a connection is open, SQLite keeps the database, its log and its index. The file shrinks only to the number of
    pages in its header, where the count of changes only grows.
    """

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path = path
        self._inodes: dict[str, tuple[int, int]] = {}
        for name in (f"{path}-wal", f"{path}-shm", str(path)):
            found = os.lstat(name)
            self._inodes[name] = (found.st_dev, found.st_ino)
        self._state = _State(found.st_size, found.st_mtime_ns)
        self._changes = 0
        self._judge(connection, self._state)

    def check(self, connection: apsw.Connection | None) -> None:
        """Check that nobody has taken the files away, in some microseconds.

        Args:
            connection: through which the file's header is read if the file was written; without a connection the header
                is not read.

        Raises:
            StoreUnavailableError: writes to the connection would be lost.
        """
        for name, inode in self._inodes.items():
            if (found := _found(name)) is None:
                raise self._fault(name, "was deleted")
            if (found.st_dev, found.st_ino) != inode:
                raise self._fault(name, "was replaced")
            state = _State(found.st_size, found.st_mtime_ns)  # the database comes last
        if connection is not None and state != self._state:
            self._judge(connection, state)

    def may_merge(self) -> bool:
        """Return whether SQLite may copy the log into the file when the last connection closes.

        This is allowed if all files exist, or if the log was deleted and the file is unchanged.
        """
        there = {name: _found(name) for name in self._inodes}
        database = there[str(self._path)]
        if database is None or any(
            found is not None and (found.st_dev, found.st_ino) != self._inodes[name] for name, found in there.items()
        ):
            return False
        return None not in there.values() or _State(database.st_size, database.st_mtime_ns) == self._state

    def _judge(self, connection: apsw.Connection, state: _State) -> None:
        """Accept the changes that a checkpoint makes to the file, and no others."""
        whole, header = connection.read("main", 0, 0, _HEADER)
        changes, pages = int.from_bytes(header[24:28]), int.from_bytes(header[28:32])
        page = int.from_bytes(header[16:18])
        size = pages * (_LARGEST_PAGE if page == 1 else page)
        if not whole or not header.startswith(_MAGIC) or (state.size < self._state.size and size > state.size):
            raise self._fault(str(self._path), "was truncated or overwritten")
        if changes < self._changes:
            raise self._fault(str(self._path), "was overwritten with an older copy")
        self._state, self._changes = state, changes

    def _fault(self, name: str, what: str) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"{name} {what} while it was open, so writes are refused. This memory can still be read: "
            "save it with `export`, close it, restore the file, and open it again"
        )


def _found(name: str) -> os.stat_result | None:
    try:
        return os.lstat(name)
    except FileNotFoundError:
        return None


class Frozen:
    """A file that can only be read, in a folder where SQLite can make neither a log nor an index: it is read alone.

    Raises:
        StoreUnavailableError: a log lies beside the file, with changes that are not in the file yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = self._found()
        if self._has_log():
            raise StoreUnavailableError(
                f"{path} cannot be read: its log {path}-wal has changes that are not in the file yet, and "
                f"{path.parent} is not writable; open it once where it is writable, or copy both files to a "
                "writable folder"
            )

    def check(self) -> None:
        """Raise StoreUnavailableError if another process, which may write, has written meanwhile."""
        if self._found() != self._state or self._has_log():
            raise StoreUnavailableError(f"{self._path} was written by another process; open it again to read it")

    def _found(self) -> tuple[int, ...]:
        found = self._path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _has_log(self) -> bool:
        try:
            return Path(f"{self._path}-wal").stat().st_size > 0
        except FileNotFoundError:
            return False


def may_be_frozen(path: Path) -> bool:
    """Return whether a file is there and can be read, in a folder in which no file can be made."""
    effective = os.access in os.supports_effective_ids
    return os.access(path, os.R_OK, effective_ids=effective) and not os.access(
        path.parent, os.W_OK, effective_ids=effective
    )
