"""Reads SQLite files of other programs without running any code in them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

from memorist.errors import FormatError
from memorist.files.regular import opened

MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""The exceptions of a reader if a file does not have the form of its format."""
_LONGEST = 64_000_000
"""The most bytes of one value. A generated column could make a huge value from a few bytes."""
_SQLITE = b"SQLite format 3\0"
_MEMORY = b"MEMO"
"""The bytes at position 68 of a memory's file."""
_FUNCTIONS = ("coalesce", "nullif")
"""The SQL functions that our own queries call."""
_PRAGMAS = ("table_info",)


@contextmanager
def foreign(file: Path | bytes) -> Iterator[sqlite3.Connection]:
    """Open an SQLite file, or what one holds, for reading its tables.

    A file's schema can hold code: views and virtual tables run where a table is expected. Only rows of plain tables
    are given, and a query that would touch anything else fails.

    A memory's file is refused: this is another copy of SQLite than its store's, which another thread may open at this
    moment, and to close the file here would end the locks of the store.

    Raises:
        FormatError: it is damaged, no SQLite file, a memory's, or open in this process; or a query touches anything but
            a plain table.
    """
    try:
        with BytesIO(file) if isinstance(file, bytes) else opened(file) as stream:
            head = stream.read(72)
    except OSError as error:
        raise FormatError(f"it cannot be read: {error.strerror or error}") from error
    if not head.startswith(_SQLITE):
        raise FormatError("it is not a SQLite database")
    if head[68:] == _MEMORY:
        raise FormatError("it is a memory of Memorist; move it with: memorist migrate")
    try:
        with closing(_connected(file)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            _confine(connection, tables_of(connection))
            yield connection
    except sqlite3.Error as error:
        raise FormatError(f"it cannot be read: {error}") from error


def _connected(file: Path | bytes) -> sqlite3.Connection:
    if isinstance(file, Path):
        return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    connection = sqlite3.connect(":memory:")
    rollback = bytearray(file)
    rollback[18:20] = b"\1\1"  # a database in memory has no log beside it
    connection.deserialize(bytes(rollback))
    return connection


def tables_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of the plain tables: those that have pages of their own."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
    return frozenset(name for (name,) in found)


def _confine(connection: sqlite3.Connection, tables: frozenset[str]) -> None:
    known = {name.lower() for name in (*tables, "sqlite_master")}

    def allowed(action: int, what: str | None, more: str | None, _: str | None, inner: str | None) -> bool:
        if inner is not None:  # the view or trigger that makes the access
            return False
        if action == sqlite3.SQLITE_READ:
            return (what or "").lower() in known
        if action == sqlite3.SQLITE_FUNCTION:
            return more in _FUNCTIONS
        return action == sqlite3.SQLITE_SELECT or (action == sqlite3.SQLITE_PRAGMA and what in _PRAGMAS)

    connection.set_authorizer(lambda *asked: sqlite3.SQLITE_OK if allowed(*asked) else sqlite3.SQLITE_DENY)
