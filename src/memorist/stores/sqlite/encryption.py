"""An encrypted file: opening it with its key, and changing the key.

The cipher is that of SQLite3 Multiple Ciphers, built into the package apsw-sqlite3mc, which takes apsw's place. It
encrypts and authenticates each page (ChaCha20-Poly1305) of the file, its log and its journals. Indexes, history and
segments are tables, so they are in these pages too.
"""

import os
import threading
from contextlib import closing, suppress
from pathlib import Path

import apsw

from memorist.errors import MissingExtraError, StoreBusyError, StoreCorruptError, StoreKeyError, StoreUnavailableError
from memorist.stores.keys import Key
from memorist.stores.sqlite import forking
from memorist.system.handles import Hold

_PLAIN = b"SQLite format 3\0"
_PAGE = 8192
_making = threading.Lock()
_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class _Connection(apsw.Connection):
    """A connection to a file, which is marked as open in this process until the connection is closed."""

    def __init__(self, path: Path, flags: int, *, immutable: bool) -> None:
        name = f"{path.absolute().as_uri()}?immutable=1" if immutable else str(path)
        super().__init__(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI if immutable else flags)
        try:
            self._hold = Hold(path)
        except OSError as error:
            super().close()
            raise StoreUnavailableError(f"{path} cannot be opened: {error.strerror}") from error
        forking.connections.add(self)

    def close(self, force: bool = False) -> None:
        super().close(force)
        self._hold.release()


def connect(path: Path | None, key: Key | None, *, flags: int = _OPEN, immutable: bool = False) -> apsw.Connection:
    """Return a connection to the file, or to a new database in memory; whether the key fits shows at the first read.

    Args:
        path: the file; None for a database in memory.
        key: what encrypts the file.
        flags: SQLite's, for opening.
        immutable: only read the file, without locks and without its log, as one that nobody writes.

    Raises:
        MissingExtraError: a key is given, and SQLite has no cipher.
        StoreUnavailableError: the file is open in this process by another name.
    """
    if key is not None and not hasattr(apsw, "mc_version"):
        raise MissingExtraError(
            "an encrypted file needs apsw-sqlite3mc instead "
            "of apsw; run: pip install --force-reinstall --no-deps apsw-sqlite3mc"
        )
    if path is not None and flags & apsw.SQLITE_OPEN_CREATE:
        _make(path)
    connection = apsw.Connection(":memory:") if path is None else _Connection(path, flags, immutable=immutable)
    if key is not None and path is not None:
        connection.pragma("key", _raw(key))
        connection.pragma("page_size", _PAGE)  # a copy needs pages of its original's size before the first is written
    return connection


def _make(path: Path) -> None:
    """Make a file that only its owner can read, if there is none; SQLite gives its companions the same rights."""
    with _making, suppress(OSError):  # one at a time: another thread must not lock the file before it is closed here
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def key_mismatch(path: Path | None, key: Key | None) -> StoreKeyError | StoreCorruptError:
    """Return the error for a file that SQLite could not read with this key, or without one."""
    if key is None:
        return StoreCorruptError(
            f"{path} is damaged, not a SQLite database, or encrypted; restore a backup, choose another path, "
            "or name the source of its key in MEMORIST_KEY_FROM"
        )
    if path is not None and _is_plain(path):
        return StoreKeyError(
            f"{path} is not encrypted; open it without a key, or encrypt it: memorist key rotate --to SOURCE"
        )
    return StoreKeyError(f"{key.origin} does not hold the key of {path}, or the file is damaged")


def _is_plain(path: Path) -> bool:
    with closing(connect(path, None, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return connection.read("main", 0, 0, len(_PLAIN))[1] == _PLAIN


def rotate(path: Path, old: Key | None, new: Key | None, *, busy_timeout: float = 30.0) -> bool:
    """Encrypt every page anew, in one transaction: after a kill the old key holds, and the call can be repeated.

    Args:
        old: the key of the file, or None if it is plain.
        new: the key it gets, or None to make it plain.

    Returns:
        False if the file has the new key already.

    Raises:
        StoreKeyError: the file has neither key.
        StoreBusyError: another process has it open.
    """
    if not _opens(path, old):
        if _opens(path, new):
            return False
        raise key_mismatch(path, old)
    raw = "" if new is None else _raw(new)
    with closing(connect(path, old, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(int(busy_timeout * 1000))
        try:
            # A log cannot hold pages of two keys, and nobody may read while the pages change.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE").fetchall()
        except apsw.BusyError as error:
            raise StoreBusyError(f"{path} is open in another process; stop it, then repeat the call") from error
        connection.pragma("rekey", raw)
    return True


def _opens(path: Path, key: Key | None) -> bool:
    with closing(connect(path, key, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        try:
            connection.pragma("schema_version")
        except apsw.NotADBError:
            return False
    return True


def _raw(key: Key) -> str:
    """Return the key in the cipher's form for raw keys; it would derive a key from anything else."""
    return f"raw:{key.reveal()}"
