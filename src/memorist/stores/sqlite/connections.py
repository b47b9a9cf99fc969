"""Connections to one file: a few that read, and one that writes for everybody.

Each durable commit costs a flush of the disk. The writer takes all waiting jobs, carries them out in one transaction
and commits them together, so that concurrent writes share one flush.
"""

import asyncio
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import apsw

from memorist.errors import (
    ClosedError,
    InvalidInputError,
    MemoristError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from memorist.stores.keys import Key
from memorist.stores.sqlite.encryption import connect, key_mismatch
from memorist.stores.sqlite.forking import operation
from memorist.stores.sqlite.presence import Frozen, Presence, may_be_frozen
from memorist.stores.sqlite.schema import check, check_version, configure, migrate
from memorist.stores.sqlite.waiting import Patience
from memorist.system.offload import LARGE

_T = TypeVar("_T")
_F = TypeVar("_F", bound="Future[Any] | asyncio.Future[Any]")
_Work = Callable[[apsw.Connection], _T]
_READERS = 4
_LOG_PAGES = 1000
_STEPS_BETWEEN = 1000
"""Steps of SQLite's virtual machine between two looks at the clock: some ten microseconds."""
_MOST_SHARED = 256
"""The most writes in one commit: more would make the first of them wait too long."""
_PATIENCE = 0.002
"""Seconds to wait for the callers that shared the last commit: about one flush. A lone writer never waits."""


def _checked(cursor: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row of a brief read.

    Raises:
        TooLong: it holds a large text.
    """
    for value in row:
        if type(value) is str and len(value) >= LARGE:
            raise TooLong
    return row


class TooLong(Exception):
    """A read was interrupted because it takes longer than its caller can wait."""


class _Undone(Exception):
    """A job raised an error after a change, and there is no savepoint to roll back to."""


@dataclass(frozen=True, slots=True)
class _Job:
    work: _Work[Any]
    result: "Future[Any] | asyncio.Future[Any]"
    alone: bool

    def start(self) -> bool:
        """Return whether the caller still waits; a job that was started is carried out, whatever the caller does."""
        if isinstance(self.result, Future):
            return self.result.set_running_or_notify_cancel()
        return not self.result.cancelled()

    def settle(self, value: Any, failure: BaseException | None) -> None:
        """Give the caller the value or the failure, on the caller's event loop if it has one."""
        if isinstance(self.result, asyncio.Future) and self.result.done():
            return
        if failure is None:
            self.result.set_result(value)
        else:
            self.result.set_exception(failure)


_Outcome = tuple[_Job, Any, BaseException | None]


class Connections:
    """The connections to the file at `path`, or to a database in this process's memory if it is None.

    `read` runs on the caller's thread, `submit_read` on a worker's, `write` on the writer's.
    """

    def __init__(self, path: Path | None, busy_timeout: float, key: Key | None = None) -> None:
        self.path = path
        self._key = key
        self._busy_timeout = busy_timeout
        self._idle: deque[apsw.Connection] = deque()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._shared = 1
        self._process = os.getpid()
        self._frozen: Frozen | None = None
        with operation(), translated(path):
            self._writing = self._connected()
            try:
                migrate(self._writing, path, key=key)
                alone = path is None or self._frozen is not None
                self._presence = None if path is None or alone else Presence(path, self._writing)
            except BaseException:
                self._writing.close()
                raise
        self._log_pages = 0
        self._writing.set_wal_hook(self._note_log)
        self._workers = ThreadPoolExecutor(_READERS, "memorist-read")
        self._writer = threading.Thread(target=self._write_for_all, name="memorist-write", daemon=True)
        self._writer.start()

    def _connected(self) -> apsw.Connection:
        """Connect; where SQLite can make no files beside the file, connect to the file alone, to read it."""
        try:
            return self._connect()
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if self.path is None or not may_be_frozen(self.path):
                raise
        self._frozen = Frozen(self.path)
        return self._connect()

    def _connect(self) -> apsw.Connection:
        frozen = self._frozen is not None
        connection = connect(self.path, self._key, immutable=frozen)
        try:
            patience = Patience(self.path, self._busy_timeout)
            connection.set_busy_handler(patience)
            check(connection, self.path)
            # SQLite does not wait while another process switches a new file to WAL mode.
            if not frozen:
                patience.retry(lambda: configure(connection))
        except apsw.NotADBError as error:
            connection.close()
            raise key_mismatch(self.path, self._key) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _another(self) -> apsw.Connection:
        """Connect again to the same file; a file that has replaced it is left alone."""
        if self._presence is not None:
            self._presence.check(None)
        connection = self._connect()
        try:
            if self._presence is not None:
                self._presence.check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_files(self) -> None:
        """Raise StoreUnavailableError if a commit would be lost because the file no longer exists."""
        if self._presence is not None:
            self._presence.check(self._writing)

    def read(self, work: _Work[_T], *, most_seconds: float | None = None) -> _T:
        """Run a short read on the caller's thread; a database in memory has one connection, so the read may wait.

        Raises:
            TooLong: `most_seconds` is given, and the read takes SQLite longer or finds a large text, whose JSON would
                take long to read.
        """
        if self.path is None:
            return self.submit_read(work).result()
        self._check_open()
        if self._frozen is not None:
            self._frozen.check()
        with operation(), translated(self.path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._another()
            try:
                if most_seconds is not None:
                    end = perf_counter() + most_seconds
                    connection.set_progress_handler(lambda: perf_counter() > end, _STEPS_BETWEEN)
                    connection.row_trace = _checked
                else:
                    connection.set_progress_handler(None)
                    connection.row_trace = None
                return work(connection)
            except apsw.InterruptError as error:
                raise TooLong from error
            finally:
                self._idle.append(connection)
                if self._closed:
                    self._drop_idle()

    def submit_read(self, work: _Work[_T], *, apart: bool = False) -> "Future[_T]":
        """Run a read on a worker thread; `apart` on a connection of its own, which remembers nothing of earlier reads.

        A database in memory has one connection, which wrote everything and so knows it.
        """
        if self.path is None:
            return self._submit(work, Future())
        self._check_open()
        try:
            return self._workers.submit(self._read_apart if apart else self.read, work)
        except RuntimeError as error:
            raise ClosedError("the store is closed") from error

    def _read_apart(self, work: _Work[_T]) -> _T:
        if self._frozen is not None:
            self._frozen.check()
        with operation(), translated(self.path), closing(self._another()) as connection:
            return work(connection)

    async def write(self, work: _Work[_T], *, alone: bool = False) -> _T:
        """Run a write inside a transaction, and return its result when the commit is on disk.

        `work` may be called twice, its first changes rolled back. `alone` runs it outside of any transaction, as some
        of SQLite's statements require.
        """
        result: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        return await self._submit(work, result, alone=alone)

    def write_now(self, work: _Work[_T], *, alone: bool = False) -> _T:
        """Run a write as `write` does, and block until its commit is on disk."""
        result: Future[_T] = Future()
        return self._submit(work, result, alone=alone).result()

    @property
    def read_only(self) -> bool:
        """Whether the file can only be read."""
        return self._frozen is not None

    def _submit(self, work: _Work[_T], result: _F, *, alone: bool = False) -> _F:
        self._check_open()
        with self._gate:
            if self._closed:
                raise ClosedError("the store is closed")
            self._jobs.put(_Job(work, result, alone))
        return result

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the store is closed")
        if self._process != os.getpid():  # the writer thread stays in the parent, and SQLite does not survive a fork
            raise ClosedError("the store was opened before this process was forked; open it again in the child")

    def close(self) -> None:
        """Finish what was submitted and close every connection."""
        with self._gate:
            if self._closed or self._process != os.getpid():
                return
            self._closed = True
            self._jobs.put(None)
        self._writer.join()
        self._workers.shutdown()
        with operation():
            # the log does not belong to the file that is there now
            if self._presence is not None and not self._presence.may_merge():
                for connection in (*self._idle, self._writing):
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._drop_idle()
            self._writing.close()

    def _drop_idle(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _write_for_all(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, last = self._take_waiting(job)
            with operation():
                if shared := [each for each in batch if not each.alone]:
                    self._commit(shared)
                for each in batch:
                    if each.alone:
                        self._run_alone(each)
                if self._log_pages >= _LOG_PAGES:  # checkpoint once the callers were answered
                    with suppress(apsw.Error, StoreError):  # nothing is lost, and the next commit tries again
                        self._check_files()
                        self._writing.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if last:
                return

    def _note_log(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _take_waiting(self, first: _Job) -> tuple[list[_Job], bool]:
        """Return the waiting jobs, up to one that must run alone, and whether the end marker was among them.

        Callers that shared the last commit were answered at the same time and tend to write again at the same
        time. So this waits a moment for as many jobs as in that commit, or the first would pay for a flush alone.
        """
        batch = [first]
        expected, until = self._shared, time.monotonic() + _PATIENCE
        last = False
        while not batch[-1].alone and len(batch) < _MOST_SHARED:
            left = until - time.monotonic() if len(batch) < expected else 0
            try:
                job = self._jobs.get(timeout=left) if left > 0 else self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                last = True
                break
            batch.append(job)
        self._shared = len(batch)
        return batch, last

    def _commit(self, jobs: list[_Job]) -> None:
        """Carry out all jobs in one transaction. Only the changes of a job that raises are rolled back."""
        jobs = [job for job in jobs if job.start()]
        try:
            with translated(self.path):
                try:
                    outcomes = self._carry_out(jobs)
                except _Undone as failed:
                    self._roll_back()
                    alone = len(jobs) == 1
                    outcomes = [(jobs[0], None, failed.__cause__)] if alone else self._carry_out(jobs, apart=True)
        except BaseException as error:
            self._roll_back()
            outcomes = [(job, None, error) for job in jobs]
        _answer(outcomes)

    def _carry_out(self, jobs: list[_Job], *, apart: bool = False) -> list[_Outcome]:
        """Commit what the jobs do; `apart` each with a savepoint, at which the text index is written job by job."""
        self._writing.execute("BEGIN IMMEDIATE")
        self._check_files()
        check_version(self._writing, self.path)
        outcomes: list[_Outcome] = []
        for job in jobs:
            if apart:
                self._writing.execute("SAVEPOINT job")
            outcomes.append((job, *self._attempt(job, apart=apart)))
            if apart:
                self._writing.execute("RELEASE job")
        self._writing.execute("COMMIT")
        self._check_files()
        return outcomes

    def _attempt(self, job: _Job, *, apart: bool) -> tuple[Any, BaseException | None]:
        before = self._writing.total_changes()
        try:
            with translated(self.path):
                return job.work(self._writing), None
        except BaseException as error:
            if not self._writing.in_transaction:
                raise  # SQLite rolled everything back: no job of this batch can be kept
            if apart:
                self._writing.execute("ROLLBACK TO job")
            elif self._writing.total_changes() != before:
                raise _Undone from error
            return None, error

    def _run_alone(self, job: _Job) -> None:
        if not job.start():
            return
        value, failure = None, None
        try:
            with translated(self.path):
                self._check_files()
                check_version(self._writing, self.path)
                value = job.work(self._writing)
                self._check_files()
        except BaseException as error:
            self._roll_back()
            failure = error
        _answer([(job, value, failure)])

    def _roll_back(self) -> None:
        """Roll the transaction back, if SQLite has not done so itself. The writer must survive any failure."""
        with suppress(apsw.Error):
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")


def _answer(outcomes: list[_Outcome]) -> None:
    """Answer the callers; each event loop is woken once, however many of its callers shared the commit."""
    loops: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for job, value, failure in outcomes:
        if isinstance(job.result, Future):
            job.settle(value, failure)
        else:
            loops.setdefault(job.result.get_loop(), []).append((job, value, failure))
    for loop, some in loops.items():
        with suppress(RuntimeError):  # the loop was closed, and nobody waits
            loop.call_soon_threadsafe(_settle, some)


def _settle(outcomes: list[_Outcome]) -> None:
    for job, value, failure in outcomes:
        job.settle(value, failure)


@contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into this package's."""
    try:
        yield
    except MemoristError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusyError(f"{path} was locked by another process for too long; try again") from error
    except apsw.FullError as error:
        raise StoreFullError(f"no space left for {path}; free some space, then repeat the call") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorruptError(
            f"{path} is damaged or not a SQLite database ({error}); restore a backup or choose another path"
        ) from error
    except apsw.ReadOnlyError as error:
        raise StoreUnavailableError(
            f"{path} is read-only here, so nothing was stored; check the permissions of the file and its folder"
        ) from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise StoreUnavailableError(
            f"{path} cannot be opened for writing ({error}); check that its folder exists and is writable"
        ) from error
    except apsw.IOError as error:
        raise StoreError(f"an I/O error occurred on {path} ({error}); check the disk, then repeat the call") from error
    except apsw.Error as error:
        raise StoreError(f"SQLite failed on {path}: {error}") from error
    except UnicodeEncodeError as error:
        raise InvalidInputError("a string contains a lone surrogate, which cannot be stored") from error
