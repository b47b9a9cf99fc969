"""The right to finish the purges of a file, which one process or thread has at a time."""

import os
from pathlib import Path

from memorist.system.platforms import try_lock

_held: set[int] = set()
"""The handles of this process's claims."""


class Claim:
    """A lock of the system's on an empty file beside the database.

    The system ends it with the process that holds it, however that ends. So nobody judges by a clock whether another
    still works, and what a killed process has left is taken over at once.

    Args:
        path: the database; None for one in memory, which nobody else can claim.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = None if path is None else path.with_name(f"{path.name}-purge")
        self._file: int | None = None

    def take(self) -> bool:
        """Take the claim. Return False if another holds it, and True if this one does or no file can be made."""
        if self.path is None:
            return True
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError:
            return True
        if not try_lock(file) or not self._is_there(file):
            os.close(file)
            return False
        self._file = file
        _held.add(file)
        return True

    def release(self) -> None:
        """Give the claim back, and remove its file. Idempotent."""
        file, self._file = self._file, None
        if file is None or self.path is None:
            return
        removed = _remove(self.path)  # while it is locked, so that nobody else's is removed
        _held.discard(file)
        os.close(file)
        if not removed:  # Windows removes no open file, nor one that another process has opened meanwhile
            _remove(self.path)

    def _is_there(self, file: int) -> bool:
        """Return whether a locked file is still the one at the path: its last holder may have removed it."""
        assert self.path is not None
        try:
            return os.path.samestat(os.fstat(file), self.path.stat())
        except FileNotFoundError:
            return False


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _forget_parents() -> None:
    """Close a forked process's copies of its parent's handles, which would keep the locks when the parent ends."""
    for file in _held:
        os.close(file)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents)
