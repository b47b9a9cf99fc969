"""Waiting for another process's lock: for a number of seconds; after a while the log says what is waited for."""

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from memorist.system.handles import read_text

_T = TypeVar("_T")
_PAUSE = 0.001
_LONG_PAUSE = 0.01
_SILENCE = 1.0
"""Seconds after which the log says what is waited for."""
_LOCKS = Path("/proc/locks")

log = logging.getLogger(__name__)


class Patience:
    """Waits while a file is locked: as SQLite's busy handler, or with `retry` where SQLite itself does not wait.

    Args:
        path: the file; None for a database in memory.
        seconds: how long to wait.
    """

    def __init__(self, path: Path | None, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._began = 0.0
        self._told = False

    def __call__(self, turn: int) -> bool:
        """Wait a moment; return False if the time is over. `turn` counts the calls for the same lock."""
        present = time.monotonic()
        if turn == 0:
            self._began, self._told = present, False
        waited = present - self._began
        if waited >= self._seconds:
            return False
        if waited >= _SILENCE and not self._told:
            self._told = True
            log.warning(
                "waiting up to %g seconds for %s, which is locked by %s", self._seconds, self._path, self._holders()
            )
        time.sleep(_PAUSE if waited < _SILENCE / 10 else _LONG_PAUSE)
        return True

    def retry(self, attempt: Callable[[], _T]) -> _T:
        """Return the result of an attempt, repeated while SQLite refuses it as busy without a wait of its own."""
        wait, turn = Patience(self._path, self._seconds), 0
        while True:
            try:
                return attempt()
            except apsw.BusyError:
                if not wait(turn):
                    raise
                turn += 1

    def _holders(self) -> str:
        """Return which other processes lock the file, where the system tells."""
        found = set()
        try:
            inodes = {
                Path(f"{self._path}{end}").stat().st_ino for end in ("", "-shm") if Path(f"{self._path}{end}").exists()
            }
            for line in read_text(_LOCKS).splitlines():
                fields = line.split()  # 1: POSIX ADVISORY WRITE 4711 08:01:123456 120 120
                if int(fields[5].rpartition(":")[2]) in inodes and int(fields[4]) != os.getpid():
                    found.add(int(fields[4]))
        except (OSError, ValueError, IndexError):
            found.clear()
        if not found:
            return "another process"
        return f"process {', '.join(map(str, sorted(found)))}"
