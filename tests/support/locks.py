"""The locks that keep other processes from taking a store for closed: who holds them, and who might have ended them.

A process that closes any handle of a file loses its locks on it. `watch` makes every test a proof that the code does no
such thing: it notes each file of an open store that is opened by anything but SQLite, and each store that has lost its
locks when it is closed.
"""

import os
import sys
import traceback
from functools import wraps
from pathlib import Path
from typing import Any

from memorist.stores.sqlite.connections import Connections
from memorist.system import handles

HERE = Path(__file__).parents[1]
LOCKS = Path("/proc/locks")
READINGS = 20
"""How often a lock is looked for: a reading leaves one out where other processes release theirs at that moment."""
faults: list[str] = []
"""What was noted since this was last cleared."""


def locked(path: Path, process: int | None = None) -> bool:
    """Return whether a process, by default this one, holds the locks of the store at a path: on its file and -shm."""
    return all(_locked(each, os.getpid() if process is None else process) for each in (path, shared(path)))


def shared(path: Path) -> Path:
    return path.with_name(f"{path.name}-shm")


def _locked(path: Path, process: int) -> bool:
    inode = path.stat().st_ino
    return any(_listed(inode, process) for _ in range(READINGS))


def _listed(inode: int, process: int) -> bool:
    lines = [line.split() for line in LOCKS.read_text().splitlines()]
    return any(int(line[4]) == process and line[5].endswith(f":{inode}") for line in lines if line[1] == "POSIX")


def watch() -> None:
    """Begin to note faults."""
    sys.addaudithook(_note_opening)
    if LOCKS.exists():
        _check_at_close()


def _note_opening(event: str, arguments: tuple[Any, ...]) -> None:
    if (
        event not in ("open", "sqlite3.connect")
        or not handles._holds
        or not isinstance(arguments[0], str | os.PathLike)
    ):
        return
    name = os.fspath(arguments[0])
    try:
        found = Path(name.removeprefix("file:").partition("?")[0]).stat()
    except (OSError, ValueError):
        return
    if handles._is_held(found) and not _is_of_a_test():
        faults.append(f"{name} was opened beside SQLite:\n{''.join(traceback.format_stack()[-8:-1])}")


def _is_of_a_test() -> bool:
    """Return whether the file is opened by a test itself, not by what it calls."""
    frame = sys._getframe(2)
    while frame is not None and f"{os.sep}memorist{os.sep}" not in frame.f_code.co_filename:
        if frame.f_code.co_filename.startswith(str(HERE)):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _check_at_close() -> None:
    close = Connections.close

    @wraps(close)
    def checked(self: Connections) -> None:
        known = None if self._closed or self._process != os.getpid() else self._presence
        path = self.path if known is not None and known.may_merge() else None
        if path is not None and shared(path).exists() and not locked(path):
            faults.append(f"{path} was no longer locked when it was closed")
        close(self)

    Connections.close = checked  # type: ignore[method-assign]
