"""Copying the whole file consistently while it is in use, and checking it for damage."""

import re
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import apsw

from memorist.errors import StoreCorruptError, StoreUnavailableError, path_taken
from memorist.stores.keys import Key
from memorist.stores.sqlite.connections import translated
from memorist.stores.sqlite.encryption import connect
from memorist.system.platforms import replace
from memorist.system.writing import linked

_T = TypeVar("_T")
_PART = re.compile(r"\..+\.[0-9a-f]{32}\.backup-part")
_ORPHANS = "SELECT count(*) FROM indexed LEFT JOIN records USING (wall, number) WHERE id IS NULL"

_COUNTS = "SELECT wall, kind, current, records FROM counts WHERE records <> 0"
_COUNTED = (
    "SELECT wall, kind, superseded_at IS NULL, count(*) FROM records JOIN walls ON walls.id = wall GROUP BY 1, 2, 3"
)
_MISCOUNTED = f"SELECT EXISTS ({_COUNTS} EXCEPT {_COUNTED}) OR EXISTS ({_COUNTED} EXCEPT {_COUNTS})"


def copy_to(connection: apsw.Connection, target: Path, key: Key | None = None) -> None:
    """Copy the database to a new file of the same key, which appears only when it is complete and checked.

    Raises:
        InvalidInputError: the file exists.
        StoreFullError, StoreUnavailableError: it cannot be written.
    """
    _clear(target.parent, key)
    part = target.with_name(f".{target.name[:100]}.{uuid4().hex}.backup-part")
    try:
        with translated(target), closing(connect(part, key)) as copy:
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")  # while it is held, `_clear` leaves the part alone
            with copy.backup("main", connection, "main") as pages:
                pages.step()
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if copy.pragma("quick_check") != "ok":
                raise StoreCorruptError(
                    f"the copy for {target} failed its check and was deleted; check the disk and try again"
                )
            named = _published(part, target, linked)
        if not named:  # it is renamed once it is closed, since Windows renames no open file
            _published(part, target, replace)
    finally:
        _remove(part)


def _clear(folder: Path, key: Key | None) -> None:
    """Remove from a folder the copies that killed backups left there."""
    for part in folder.glob(".*.backup-part"):
        if not _PART.fullmatch(part.name):
            continue
        with suppress(apsw.Error), closing(connect(part, key, flags=apsw.SQLITE_OPEN_READWRITE)) as left:
            try:
                left.execute("BEGIN EXCLUSIVE")
            except apsw.BusyError:  # a backup that is under way
                continue
        with suppress(OSError):
            _remove(part)


def _remove(part: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + suffix).unlink(missing_ok=True)


_ODD_VECTORS = (
    "SELECT count(*) FROM indexed WHERE vector IS NOT NULL"
    " AND length(vector) <> 4 * (SELECT value FROM meta WHERE name = 'dimensions')"
)


def damage(connection: apsw.Connection) -> list[str]:
    """Return the damage found in the file, in sentences: its pages, its indexes, the text index, lost rows."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if orphans := connection.execute(_ORPHANS).get:
        found.append(f"{orphans:,} entries of the index belong to no record")
    if odd := connection.execute(_ODD_VECTORS).get:
        found.append(f"{odd:,} vectors are not as long as the embedder's; run: memorist reindex")
    if connection.execute(_MISCOUNTED).get:
        found.append("the counts of records are wrong")
    return found


def _published(part: Path, target: Path, name: Callable[[Path, Path], _T]) -> _T:
    """Give the finished copy its name, which must be free."""
    try:
        return name(part, target)
    except FileExistsError as error:
        raise path_taken(target) from error
    except OSError as error:
        raise StoreUnavailableError(f"the backup {target} cannot be made: {error}") from error
