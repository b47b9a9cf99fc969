"""What differs between Linux, macOS and Windows, one function for each difference; only this package asks which it is.

This module imports little, because a hook that finds a server has 40 ms.
"""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from memorist.errors import InvalidInputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_Path = str | os.PathLike[str]
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if sys.platform == "win32" else ()
"""Seconds between attempts to replace a file that another program has open."""
_PLAIN = re.compile(r"[\w./:-][\w./:~-]*")
"""A word that each of the shells reads as it is."""
_EXPANDED = frozenset('"$`%!\r\n\u201c\u201d\u201e')
"""What one of the shells replaces even between double quotes, or takes for such a quote."""


def state_folder() -> str:
    """Return the folder for this user's runtime state: MEMORIST_STATE, or the system's."""
    if given := os.environ.get("MEMORIST_STATE"):
        return given
    local = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME")
    return os.path.join(local or os.path.expanduser(os.path.join("~", ".local", "state")), "memorist")


def applications_folder() -> str:
    """Return the folder where programs with windows keep what this user has set."""
    if sys.platform == "darwin":
        return os.path.expanduser(os.path.join("~", "Library", "Application Support"))
    variable, parts = (
        ("APPDATA", ("AppData", "Roaming")) if sys.platform == "win32" else ("XDG_CONFIG_HOME", (".config",))
    )
    return os.environ.get(variable) or os.path.expanduser(os.path.join("~", *parts))


def is_ours(found: os.stat_result) -> bool:
    """Return whether a file belongs to this user or to the system's administrator, who may use anybody's.

    Windows notes no owner here; there, all are.
    """
    if sys.platform == "win32":
        return True
    user = os.geteuid()
    return user == 0 or found.st_uid in (user, 0)


def lives(process: int) -> bool:
    """Return whether a process with this id runs."""
    if sys.platform == "win32":  # where `os.kill` would end it
        import ctypes

        synchronize, timeout, denied = 0x100000, 0x102, 5
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        if not (handle := ctypes.c_void_p(kernel.OpenProcess(synchronize, False, process))):
            return ctypes.get_last_error() == denied
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == timeout)
        finally:
            kernel.CloseHandle(handle)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sync(file: int) -> None:
    """Bring a file's bytes to the disk; on macOS `os.fsync` alone leaves them in the drive's own cache."""
    if sys.platform == "darwin":
        with suppress(OSError):  # a file system that does not offer it
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
            return
    os.fsync(file)


def sync_folder(folder: _Path) -> None:
    """Bring the names in a folder to the disk. Windows offers this for no folder; NTFS keeps a log of its names."""
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            sync(handle)
        finally:
            os.close(handle)


def replace(source: _Path, target: _Path) -> None:
    """Rename a file, over another if there is one.

    Windows refuses that while another program has the target open, as virus scanners do for a moment; this waits for
    two seconds.

    Raises:
        OSError: it cannot be done; both files are as before.
    """
    for pause in _PAUSES:
        with suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(pause)
    os.replace(source, target)


@contextmanager
def locked(file: int) -> Iterator[None]:
    """Keep other processes out that lock the same file, until the block ends or this process does."""
    if sys.platform == "win32":
        while True:
            os.lseek(file, 0, os.SEEK_SET)
            with suppress(PermissionError):
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                break
            time.sleep(0.01)
        try:
            yield
        finally:
            os.lseek(file, 0, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN)


def try_lock(file: int) -> bool:
    """Lock a file against every other handle of it, until this one is closed; return False if another has locked it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def locked_folder(folder: _Path) -> Iterator[None]:
    """Keep other threads and processes out that lock the same folder, until the block ends or this process does.

    Windows locks no folders, so there a file ``.lock`` in it is locked.
    """
    if sys.platform == "win32":
        file = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT)
        try:
            with locked(file):
                yield
        finally:
            os.close(file)
    else:
        file = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)  # this ends the lock


def shell_line(words: Sequence[str]) -> str:
    """Return a program and its arguments as a line that this system's shells read: on Windows cmd, PowerShell and Bash.

    Raises:
        InvalidInputError: a word means something else to one of Windows' shells, however it is written.
    """
    if sys.platform != "win32":
        import shlex

        return shlex.join(words)
    return windows_line([_short(words[0]), *words[1:]])


def windows_line(words: Sequence[str]) -> str:
    """Return the line for Windows' shells: of the program with slashes, as Bash takes backslashes for something else.

    PowerShell takes a quoted word at the beginning for a text, so the program should need no quotes.
    """
    words = [words[0].replace("\\", "/"), *words[1:]]
    for word in words:
        if _EXPANDED & set(word) or "\\\\" in word or word.endswith("\\"):
            raise InvalidInputError(
                f"{word!r} cannot be written so that cmd, PowerShell and Bash all read it; choose a value without "
                "quotes, backticks, $, % and !, without two backslashes together, and without one at its end"
            )
    return " ".join(each if _PLAIN.fullmatch(each) else f'"{each}"' for each in words)


def _short(path: str) -> str:
    """Return a path's short name, which has no spaces, if it needs one and the disk keeps such names."""
    if sys.platform == "win32" and not _PLAIN.fullmatch(path.replace("\\", "/")):
        import ctypes

        found = ctypes.create_unicode_buffer(1024)
        if 0 < ctypes.windll.kernel32.GetShortPathNameW(path, found, len(found)) < len(found):
            return found.value
    return path
