"""A file of lines that stays whole after a kill or on a full disk."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memorist.system.handles import read_file
from memorist.system.platforms import locked_folder, replace, sync, sync_folder

_BINARY = getattr(os, "O_BINARY", 0)  # on Windows, where the ends of lines would be rewritten

Mark = tuple[int, int, int] | None
"""Identifies a state of the file: inode, size, time of change; None if there is no file."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The content of a file: its numbered lines without blank ones, and where the last line begins."""

    numbered: list[tuple[int, bytes]]
    last_begins: int
    ended: bool


class LinesFile:
    """Appends durably, replaces the whole file atomically, and locks out other processes while it does.

    Args:
        path: the file; it is created with its folder when the first line is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._beside = path.with_name(f".{path.name}.new")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other users of the folder's files: threads and processes."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked_folder(self.path.parent):
            with suppress(OSError):  # left by a process that was killed during a replacement
                self._beside.unlink()
            yield

    def mark(self) -> Mark:
        """Return the state of the file, which differs after every change."""
        try:
            state = self.path.stat()
        except FileNotFoundError:
            return None
        return state.st_ino, state.st_size, state.st_mtime_ns

    def read(self) -> Lines:
        """Return the content of the file."""
        try:
            data = read_file(self.path)
        except FileNotFoundError:
            data = b""
        whole = data.rstrip()
        lines = enumerate(data.split(b"\n"), start=1)
        return Lines(
            numbered=[(number, line) for number, line in lines if line.strip()],
            last_begins=whole.rfind(b"\n") + 1,
            ended=not data or data.endswith(b"\n"),
        )

    def append(self, line: bytes) -> None:
        """Append a line. It is on disk when this returns; if this raises, the file has not changed."""
        new = not self.path.exists()
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        try:
            size = os.fstat(file).st_size
            try:
                _write(file, line + b"\n")
            except BaseException:
                os.ftruncate(file, size)
                sync(file)
                raise
        finally:
            os.close(file)
        if new:
            sync_folder(self.path.parent)

    def replace(self, lines: Iterable[bytes]) -> None:
        """Replace all lines atomically, also if this raises or the process is killed."""
        try:
            file = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o666)
            try:
                if self.path.exists():
                    os.chmod(self._beside, self.path.stat().st_mode)  # noqa: PTH101  # as the rest here
                _write(file, b"".join(line + b"\n" for line in lines))
            finally:
                os.close(file)
            replace(self._beside, self.path)
        except BaseException:
            with suppress(OSError):
                self._beside.unlink()
            raise
        sync_folder(self.path.parent)

    def set_aside(self, begins: int) -> Path:
        """Move the bytes from this offset to the file ``NAME.torn``, and return its path."""
        aside = self.path.with_name(f"{self.path.name}.torn")
        file = os.open(self.path, os.O_RDWR | _BINARY)
        try:
            os.lseek(file, begins, os.SEEK_SET)
            torn = b"".join(iter(lambda: os.read(file, 1 << 20), b""))
            LinesFile(aside).append(torn.rstrip(b"\n"))
            os.ftruncate(file, begins)
            sync(file)
        finally:
            os.close(file)
        return aside


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:  # a full disk takes a part of the data and then raises
        left = left[os.write(file, left) :]
    sync(file)
