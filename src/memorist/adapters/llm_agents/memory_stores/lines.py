"""A file of lines that a kill or a full disk leaves whole."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["Lines", "LinesFile"]

Mark = tuple[int, int, int] | None
"""Tells one state of the file from another: inode, size, time of change; None where there is no file."""


@dataclass(frozen=True, slots=True)
class Lines:
    """What a file holds: its lines, but for blank ones, by number, and where the last of them begins."""

    numbered: list[tuple[int, bytes]]
    last_begins: int
    size: int
    ended: bool


class LinesFile:
    """Appends durably, replaces the whole in one step, and keeps other processes out while it does.

    Args:
        path: the file; it and its folder are made with the first line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._beside = path.with_name(f".{path.name}.new")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other user of the folder's files of lines out: threads, and on Unix processes too."""
        if sys.platform == "win32":
            yield
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            with suppress(OSError):  # of a process that was killed while it replaced the whole
                self._beside.unlink()
            yield
        finally:
            os.close(folder)  # this ends the lock

    def mark(self) -> Mark:
        """Return what tells whether the file has changed since."""
        try:
            state = self.path.stat()
        except FileNotFoundError:
            return None
        return state.st_ino, state.st_size, state.st_mtime_ns

    def read(self) -> Lines:
        """Return what the file holds."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        whole = data.rstrip()
        lines = enumerate(data.split(b"\n"), start=1)
        return Lines(
            numbered=[(number, line) for number, line in lines if line.strip()],
            last_begins=whole.rfind(b"\n") + 1,
            size=len(data),
            ended=not data or data.endswith(b"\n"),
        )

    def append(self, line: bytes) -> None:
        """Add a line; on the disk when this returns. When it raises, the file is what it was."""
        new = not self.path.exists()
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size = os.fstat(file).st_size
            try:
                _write(file, line + b"\n")
            except BaseException:
                os.ftruncate(file, size)
                os.fsync(file)
                raise
        finally:
            os.close(file)
        if new:
            _flush_folder(self.path.parent)

    def replace(self, lines: Iterable[bytes]) -> None:
        """Put these lines in the place of all; when this raises or the process is killed, none or all of it is done."""
        try:
            file = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                if self.path.exists():
                    os.chmod(self._beside, self.path.stat().st_mode)  # noqa: PTH101  # as the rest here
                _write(file, b"".join(line + b"\n" for line in lines))
            finally:
                os.close(file)
            self._beside.replace(self.path)
        except BaseException:
            with suppress(OSError):
                self._beside.unlink()
            raise
        _flush_folder(self.path.parent)

    def set_aside(self, begins: int) -> Path:
        """Move what is from this byte on to another file, ``NAME.torn``, and return that."""
        aside = self.path.with_name(f"{self.path.name}.torn")
        file = os.open(self.path, os.O_RDWR)
        try:
            os.lseek(file, begins, os.SEEK_SET)
            torn = b"".join(iter(lambda: os.read(file, 1 << 20), b""))
            LinesFile(aside).append(torn.rstrip(b"\n"))
            os.ftruncate(file, begins)
            os.fsync(file)
        finally:
            os.close(file)
        return aside


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:  # a disk that fills up takes a part, and refuses the next
        left = left[os.write(file, left) :]
    os.fsync(file)


def _flush_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
