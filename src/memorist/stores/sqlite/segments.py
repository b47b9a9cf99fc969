"""Search indexes kept in the file: one row for each segment, read straight into an array."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from memorist.records.scope import Wall
from memorist.stores.base import Entry
from memorist.stores.segments import KeptIndex, Segments, SegmentSpan
from memorist.stores.sqlite.entries import entries_where, state_of
from memorist.stores.sqlite.rows import Run, query_all, query_one
from memorist.stores.sqlite.writes import find_wall

_HEAD = "stamp, generation, form, epoch"
_SPAN = "id, first, last, ifnull(length(data), 0), checksum"


class SQLiteSegments(Segments):
    """The segments in a file.

    Args:
        read: runs a read on a connection.
        write: runs a write in a transaction.
        folder: of the file; None where it is encrypted.
    """

    def __init__(self, read: Run, write: Run, folder: Path | None) -> None:
        self.folder = folder
        self._read = read
        self._write = write

    async def kept(self, wall: Wall) -> KeptIndex | None:
        def work(connection: apsw.Connection) -> KeptIndex | None:
            with connection:  # one snapshot
                wall_id, current, _ = state_of(connection, wall)
                head = query_one(connection, f"SELECT {_HEAD} FROM kept_indexes WHERE wall = ?", (wall_id,))
                rows = query_all(connection, f"SELECT {_SPAN} FROM segments WHERE wall = ? ORDER BY first", (wall_id,))
            if head is None:
                return None
            stamp, generation, form, epoch = head
            return KeptIndex(
                stamp, generation, form, epoch if generation == current else 0, [SegmentSpan(*row) for row in rows]
            )

        return await self._read(work)

    async def read(self, span: SegmentSpan) -> NDArray[np.uint8] | None:
        def work(connection: apsw.Connection) -> NDArray[np.uint8] | None:
            data = np.empty(span.size, np.uint8)
            try:
                with connection.blob_open("main", "segments", "data", span.id, False) as blob:
                    if blob.length() != span.size:
                        return None
                    blob.read_into(data.data)
            except apsw.Error:  # it was deleted meanwhile, or cannot be read
                return None
            return data if zlib.crc32(data.data) == span.checksum else None

        return await self._read(work)

    async def entries(self, wall: Wall, span: SegmentSpan) -> list[Entry]:
        def work(connection: apsw.Connection) -> list[Entry]:
            numbered = "r.number BETWEEN ? AND ? ORDER BY r.number"
            return entries_where(connection, find_wall(connection, wall), numbered, span.first, span.last)

        return await self._read(work)

    async def begin(self, wall: Wall, generation: str, form: str, known: int | None, *, anew: bool) -> int | None:
        def work(connection: apsw.Connection) -> int | None:
            wall_id, current, _ = state_of(connection, wall)
            stamp = connection.execute("SELECT stamp FROM kept_indexes WHERE wall = ?", (wall_id,)).get
            if wall_id is None or current != generation or stamp != known:
                return None
            if anew or known is None:
                connection.execute("DELETE FROM segments WHERE wall = ?", (wall_id,))
                connection.execute("INSERT OR REPLACE INTO kept_indexes VALUES (?, 0, '', '', 0)", (wall_id,))
            new: int = connection.execute(
                "UPDATE kept_indexes SET stamp = abs(random() >> 1), generation = ?, form = ? WHERE wall = ?"
                " RETURNING stamp",
                (generation, form, wall_id),
            ).get
            return new

        return await self._write(work)

    async def put(
        self, wall: Wall, stamp: int, epoch: int, span: tuple[int, int], data: bytes, replaced: Sequence[SegmentSpan]
    ) -> SegmentSpan | None:
        checksum = zlib.crc32(data)

        def work(connection: apsw.Connection) -> SegmentSpan | None:
            wall_id = find_wall(connection, wall)
            removed = (
                "SELECT EXISTS (SELECT 1 FROM changes WHERE wall = ? AND epoch > ?"
                " AND action IN ('forgotten', 'expired') AND number BETWEEN ? AND ?)"
            )
            if not _holds(connection, wall_id, stamp) or connection.execute(removed, (wall_id, epoch, *span)).get:
                return None
            connection.execute("UPDATE kept_indexes SET stamp = stamp + 1 WHERE wall = ?", (wall_id,))
            connection.executemany("DELETE FROM segments WHERE id = ?", [(each.id,) for each in replaced])
            connection.execute(
                "INSERT INTO segments (wall, first, last, checksum, data) VALUES (?, ?, ?, ?, ?)",
                (wall_id, *span, checksum, data),
            )
            return SegmentSpan(connection.last_insert_rowid(), *span, len(data), checksum)

        return await self._write(work)

    async def end(self, wall: Wall, stamp: int, epoch: int) -> bool:
        def work(connection: apsw.Connection) -> bool:
            wall_id = find_wall(connection, wall)
            if not _holds(connection, wall_id, stamp):
                return False
            connection.execute("UPDATE kept_indexes SET epoch = ? WHERE wall = ?", (epoch, wall_id))
            return True

        return await self._write(work)


def _holds(connection: apsw.Connection, wall_id: int | None, stamp: int) -> bool:
    found: int | None = connection.execute("SELECT stamp FROM kept_indexes WHERE wall = ?", (wall_id,)).get
    return found == stamp
