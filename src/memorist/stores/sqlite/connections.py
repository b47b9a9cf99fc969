"""Connections to one file: a few that read, and one that writes for everybody.

Durable writes cost a flush of the disk each. The writer takes all that wait, carries each out under a
savepoint of its own, and commits them together: whoever waits alone pays one flush, many share one.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memorist.errors import (
    ClosedError,
    MemoristError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from memorist.stores.sqlite.schema import configure, migrate

__all__ = ["Connections"]

_T = TypeVar("_T")
_Work = Callable[[apsw.Connection], _T]
_READERS = 4
_MOST_SHARED = 256
"""Writes in one commit: more would make the first of them wait."""


@dataclass(frozen=True, slots=True)
class _Job:
    work: _Work[Any]
    result: "Future[Any]"
    alone: bool


class Connections:
    """The connections to `path`, or to a memory of this process alone where it is None.

    `read` runs on the caller's thread, `submit_read` on a worker's, `submit_write` on the writer's.
    """

    def __init__(self, path: Path | None, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._idle: deque[apsw.Connection] = deque()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        with _translated(path):
            self._writing = self._connect()
            try:
                migrate(self._writing, path)
            except BaseException:
                self._writing.close()
                raise
        self._workers = ThreadPoolExecutor(_READERS, "memorist-read")
        self._writer = threading.Thread(target=self._write_for_all, name="memorist-write", daemon=True)
        self._writer.start()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(":memory:" if self.path is None else str(self.path))
        try:
            configure(connection, self._busy_timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    def read(self, work: _Work[_T]) -> _T:
        """Run a short read here and now; in a memory of this process it waits its turn."""
        if self.path is None:
            return self.submit_write(work).result()
        if self._closed:
            raise ClosedError("the store is closed")
        with _translated(self.path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                return work(connection)
            finally:
                self._idle.append(connection)
                if self._closed:
                    self._drop_idle()

    def submit_read(self, work: _Work[_T]) -> "Future[_T]":
        """Run a read on a worker thread."""
        if self.path is None:
            return self.submit_write(work)
        try:
            return self._workers.submit(self.read, work)
        except RuntimeError as error:
            raise ClosedError("the store is closed") from error

    def submit_write(self, work: _Work[_T], *, alone: bool = False) -> "Future[_T]":
        """Run a write inside a transaction; the future is done when it is on disk.

        `alone` runs it outside of any transaction, for what SQLite does only there.
        """
        result: Future[_T] = Future()
        with self._gate:
            if self._closed:
                raise ClosedError("the store is closed")
            self._jobs.put(_Job(work, result, alone))
        return result

    def close(self) -> None:
        """Finish what was submitted and close every connection."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._writer.join()
        self._workers.shutdown()
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
            shared = [each for each in batch if not each.alone]
            if shared:
                self._commit(shared)
            for each in batch:
                if each.alone:
                    self._settle(each, each.work)
            if last:
                return

    def _take_waiting(self, first: _Job) -> tuple[list[_Job], bool]:
        """Return the jobs that wait, up to one that must run alone, and whether the end was among them."""
        batch = [first]
        while not batch[-1].alone and len(batch) < _MOST_SHARED:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _commit(self, jobs: list[_Job]) -> None:
        """Carry out all jobs in one transaction. One that raises is undone alone."""
        outcomes: list[tuple[_Job, Any, BaseException | None]] = []
        try:
            with _translated(self.path):
                self._writing.execute("BEGIN IMMEDIATE")
                for job in jobs:
                    if job.result.set_running_or_notify_cancel():
                        outcomes.append((job, *self._attempt(job)))
                self._writing.execute("COMMIT")
        except BaseException as error:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
            for job in jobs:
                if not job.result.cancelled():
                    job.result.set_exception(error)
            return
        for job, value, failure in outcomes:
            if failure is None:
                job.result.set_result(value)
            else:
                job.result.set_exception(failure)

    def _attempt(self, job: _Job) -> tuple[Any, BaseException | None]:
        self._writing.execute("SAVEPOINT job")
        try:
            with _translated(self.path):
                value = job.work(self._writing)
        except BaseException as error:
            if not self._writing.in_transaction:
                raise  # SQLite rolled everything back: no job of this batch can be kept
            self._writing.execute("ROLLBACK TO job; RELEASE job")
            return None, error
        self._writing.execute("RELEASE job")
        return value, None

    def _settle(self, job: _Job, work: _Work[Any]) -> None:
        if not job.result.set_running_or_notify_cancel():
            return
        try:
            with _translated(self.path):
                value = work(self._writing)
        except BaseException as error:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
            job.result.set_exception(error)
        else:
            job.result.set_result(value)


@contextmanager
def _translated(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into this package's."""
    try:
        yield
    except MemoristError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusyError(f"{path} was locked by another process for too long; try again") from error
    except apsw.FullError as error:
        raise StoreFullError(f"no space left for {path}; free some, then repeat the call") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorruptError(
            f"{path} is damaged or no SQLite database ({error}); restore a backup or choose another path"
        ) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreUnavailableError(
            f"{path} cannot be opened for writing ({error}); check that its folder exists and may be written"
        ) from error
    except apsw.Error as error:
        raise StoreError(f"SQLite could not do it on {path}: {error}") from error
