"""A purge in steps, between which other writers come in: a wall is withdrawn at once, its rows and bytes follow.

One transaction takes the wall's name away, so that nothing finds what is behind it, and notes the wall in `purges`.
Then its rows are deleted in batches, the text index is merged without them, and the file is rewritten. The note is
deleted last, so a purge that was killed is finished by whoever opens the file next.
"""

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from pathlib import Path

import apsw

from memorist.errors import ClosedError, MemoristError, StoreBusyError
from memorist.records.scope import Wall
from memorist.stores.sqlite.claims import Claim
from memorist.stores.sqlite.connections import Connections
from memorist.stores.sqlite.rows import query_all
from memorist.stores.sqlite.waiting import Patience
from memorist.stores.sqlite.writes import UNINVERT, Dropped, drop_quoting, find_wall, token

log = logging.getLogger("memorist.stores")

BATCH_ROWS = 1000
"""The most rows of a table that one transaction deletes."""
BATCH_LETTERS = 1_000_000
"""The letters of terms after which a transaction takes no more rows."""
MERGED_PAGES = 200
"""Pages of the text index that one transaction merges."""
_PAUSE = 0.012
"""Seconds between two transactions: other processes look for the lock each 10 ms."""
_PATIENCE = 0.05
"""Seconds until the next attempt, where another has the claim or reads old pages."""
_READERS = 0.05
"""Seconds for which writers wait for readers, so that the log is emptied."""
_SPREAD = 10
"""The most changes to look through for one that is deleted."""
_REWRITTEN_IN_MEMORY = 256 * 1024 * 1024


def withdraw(connection: apsw.Connection, wall: Wall, moment: datetime, dropped: Dropped) -> Counter[str]:
    """Take a wall's name away, and note that what is behind it is to be removed; return how many records of each kind
    it had."""
    wall_id = find_wall(connection, wall)
    if wall_id is None:
        withdraw_nothing(connection)
        return Counter()
    connection.execute("INSERT OR IGNORE INTO purges VALUES (?)", (wall_id,))
    count = "SELECT kind, sum(records) AS records FROM counts WHERE wall = ? GROUP BY kind HAVING sum(records) > 0"
    counted = query_all(connection, count, (wall_id,))
    connection.execute("DELETE FROM counts WHERE wall = ?", (wall_id,))
    connection.execute("DELETE FROM walls WHERE id = ?", (wall_id,))
    for (id,) in query_all(connection, "SELECT DISTINCT id FROM quotes WHERE wall = ?", (wall_id,)):
        drop_quoting(connection, wall_id, id, moment, dropped)
    return Counter(dict(counted))


def withdraw_nothing(connection: apsw.Connection) -> None:
    """Note that the bytes of deleted records are to be removed, and nothing else.

    The note is a negative number, which no wall has. It is drawn at random, so that no number comes again: another
    process may have rewritten the file already, and is about to delete the notes that it has read before.
    """
    connection.execute("INSERT INTO purges VALUES (-1 - abs(random() / 2))")


def pending(connection: apsw.Connection) -> list[int]:
    """Return the walls that are being purged."""
    return [wall_id for (wall_id,) in query_all(connection, "SELECT wall FROM purges ORDER BY wall")]


def remove_some(connection: apsw.Connection, wall_id: int) -> bool:
    """Delete some of a withdrawn wall's rows; return whether any were there."""
    if _remove_records(connection, wall_id):
        return True
    before = connection.total_changes()
    for statement in _REST:
        connection.execute(statement, (wall_id,))
    return connection.total_changes() > before


_REST = (
    f"DELETE FROM changes WHERE epoch IN (SELECT epoch FROM changes WHERE wall = ? LIMIT {BATCH_ROWS})",
    f"DELETE FROM staged WHERE number IN (SELECT number FROM staged WHERE wall = ? LIMIT {BATCH_ROWS})",
    "DELETE FROM segments WHERE id = (SELECT id FROM segments WHERE wall = ? LIMIT 1)",  # one has some megabytes
    "DELETE FROM kept_indexes WHERE wall = ?",
    "DELETE FROM derivations WHERE (source, wall, derived) IN"
    f" (SELECT source, wall, derived FROM derivations WHERE wall = ? LIMIT {BATCH_ROWS})",
    *(
        "DELETE FROM quotes WHERE (wall, id, by_wall, by) IN"
        f" (SELECT wall, id, by_wall, by FROM quotes WHERE {column} = ? LIMIT {BATCH_ROWS})"
        for column in ("wall", "by_wall")
    ),
)
"""What deletes some of the rows that are left once the records are gone."""


def _remove_records(connection: apsw.Connection, wall_id: int) -> bool:
    """Delete some records of a wall and their entries in the indexes; return whether any were there.

    To erase each posting where it lies takes FTS5 most of a purge. The merge that follows leaves all of them out.
    """
    postings, numbers, letters = [], list[int](), 0
    query = (
        "SELECT r.number, terms FROM records AS r LEFT JOIN indexed AS i ON i.wall = r.wall AND i.number = r.number"
        " WHERE r.wall = ? ORDER BY r.number LIMIT ?"
    )
    for number, terms in connection.execute(query, (wall_id, BATCH_ROWS)):
        numbers.append(number)
        if terms is not None:
            postings.append((number, token(wall_id), terms))
            letters += len(terms)
        if letters > BATCH_LETTERS:
            break
    if not numbers:
        return False
    connection.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', 0)")
    connection.executemany(UNINVERT, postings)
    connection.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', 1)")  # writes what FTS5 holds first
    first, last = numbers[0], numbers[-1]
    for table in ("indexed", "records"):
        connection.execute(f"DELETE FROM {table} WHERE wall = ? AND number <= ?", (wall_id, last))
    if last - first < _SPREAD * BATCH_ROWS:  # in the order in which they lie: that is quicker than by their ids
        connection.execute("DELETE FROM changes WHERE +wall = ? AND epoch BETWEEN ? AND ?", (wall_id, first, last))
    return True


def merge_some(connection: apsw.Connection, *, begin: bool) -> bool:
    """Merge some pages of the text index, which leaves out what was deleted; return whether there are more."""
    before = connection.total_changes()
    pages = -MERGED_PAGES if begin else MERGED_PAGES  # a negative number starts with all that is there
    connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes() - before > 1


def rewrite(connection: apsw.Connection) -> None:
    """Write what is left into new pages, outside of any transaction.

    `secure_delete` is not enough: where SQLite splits or repacks a page, copies of rows stay in free space.
    """
    # VACUUM writes the remaining records to a temporary database first, without those just deleted.
    size = connection.pragma("page_count") * connection.pragma("page_size")
    connection.execute(f"PRAGMA temp_store = {'FILE' if size > _REWRITTEN_IN_MEMORY else 'MEMORY'}")
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")


def empty_log(connection: apsw.Connection, path: Path | None, busy_timeout: float) -> bool:
    """Bring the log into the file and leave nothing of it, outside of any transaction; return False if others read it.

    Others can write meanwhile, but for a short end: SQLite waits for readers while it holds the lock of writers.
    """
    connection.set_busy_handler(Patience(path, _READERS))
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:  # also where another process checkpoints the log at this moment
        return False
    finally:
        connection.set_busy_handler(Patience(path, busy_timeout))
    return True


def settle(connection: apsw.Connection, walls: list[int]) -> None:
    """Note that walls are purged, with all their bytes."""
    connection.executemany("DELETE FROM purges WHERE wall = ?", [(wall_id,) for wall_id in walls])


class Purger:
    """Finishes the purges that are noted in a file: one process and thread at a time, beside any event loop's threads.

    Args:
        connections: to the file.
        busy_timeout: seconds to wait for others who read old pages of the log.
    """

    def __init__(self, connections: Connections, busy_timeout: float) -> None:
        self._connections = connections
        self._busy_timeout = busy_timeout
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    async def finish(self) -> None:
        """Remove what is behind the walls that were withdrawn before this call, and rewrite the file.

        Raises:
            StoreBusyError: another process keeps old pages in use.
        """
        result: Future[None] = Future()
        result.set_running_or_notify_cancel()  # whoever is cancelled does not wait, but this goes on

        def work() -> None:
            try:
                self._finish()
            except BaseException as error:
                result.set_exception(error)
            else:
                result.set_result(None)

        self._start(work)
        await asyncio.wrap_future(result)

    def resume(self) -> None:
        """Finish what an earlier process did not, or what another is about, should that one end before."""
        if not self._connections.read_only and self._pending():
            self._start(self._finish_quietly)

    def close(self) -> None:
        """Wait for what is under way here; what another process is about is left to it."""
        self._closing.set()
        for thread in self._threads:
            thread.join()

    def _start(self, work: Callable[[], None]) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, name="memorist-purge", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _pending(self) -> list[int]:
        return self._connections.read(pending)

    def _finish(self) -> None:
        claim, told = Claim(self._connections.path), False
        while not claim.take():
            if not self._pending():
                return  # another has finished them
            if not told:
                told = True
                log.info("another process or thread is about to finish a purge of %s", self._connections.path)
            if self._closing.wait(_PATIENCE):
                raise ClosedError("the records are gone, and another process is about to remove what is left of them")
        try:
            self._remove(self._pending())
        finally:
            claim.release()

    def _remove(self, walls: list[int]) -> None:
        if not walls:
            return  # another has finished them
        write = self._connections.write_now
        for wall_id in walls:
            while write(lambda connection: remove_some(connection, wall_id)):  # noqa: B023
                time.sleep(_PAUSE)
        begin = True
        while write(lambda connection: merge_some(connection, begin=begin)):  # noqa: B023
            begin = False
            time.sleep(_PAUSE)
        write(rewrite, alone=True)
        self._empty_log()
        write(lambda connection: settle(connection, walls))

    def _empty_log(self) -> None:
        until = time.monotonic() + self._busy_timeout
        empty = partial(empty_log, path=self._connections.path, busy_timeout=self._busy_timeout)
        while not self._connections.write_now(empty, alone=True):
            if time.monotonic() > until:
                raise StoreBusyError(
                    "the records are deleted, but another process still uses old pages of the log; purge again"
                )
            time.sleep(_PATIENCE)

    def _finish_quietly(self) -> None:
        try:
            self._finish()
        except ClosedError:
            return
        except MemoristError as error:
            log.warning(
                "an interrupted purge is not finished yet; it resumes when the database is next opened: %s", error
            )
