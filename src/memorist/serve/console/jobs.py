"""Imports in the background: the files of one upload, what they hold, and how far they are stored."""

import asyncio
import logging
import shutil
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import BinaryIO, Literal, TypeAlias

from memorist.errors import FormatError, InvalidInputError, MemoristError, StoreFullError
from memorist.imports import ColumnsError, ImportReport, Options, OwnerError, Source, Survey, load, survey
from memorist.imports.staged import Staged
from memorist.memory import Memory
from memorist.serve.uploads import uploads

State: TypeAlias = Literal["looking", "waiting", "loading", "done", "gone"]
_IDLE_SECONDS = 900
_MOMENT = 0.3
"""Seconds that a response waits for the work that it started, so that its page can show the outcome."""
_LONGEST_NAME = 250
"""In bytes."""

log = logging.getLogger(__name__)


class Job:
    """One upload of a browser's session.

    It is "looking" into the files, "waiting" for the visitor's decision, "loading", "done", or "gone". The files are
    removed when it is done or gone. It is gone a quarter of an hour after the last visit.

    Args:
        memory: where the records are stored.
        most_bytes: the most bytes that the files may hold, unpacked.
    """

    def __init__(self, memory: Memory, most_bytes: int) -> None:
        self.memory = memory
        self.state: State = "waiting"
        self.format: str | None = None
        self.options = Options()
        self.found: Survey | None = None
        self.report: ImportReport | None = None
        self.problem: str | None = None
        self.columns: Sequence[str] = ()
        self.owners: Sequence[str] = ()
        self.done = 0
        self.interrupted = False
        self.name = ""
        self._most_bytes = most_bytes
        self._files: dict[str, Staged] = {}
        self._remove = weakref.finalize(self, _close, self._files)  # at the latest when this block ends
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        uploads.add(self)
        self.touch()

    @property
    def header(self) -> list[str]:
        """The names of a table's columns; empty if the files are no table."""
        return list(self.columns) or (list(self.found.columns) if self.found is not None else [])

    def guess(self, name: str) -> str | None:
        """Return the column that the reader recognised as `name`; None if it found none, or the user chose one."""
        if self.found is None or name in self.options.columns:
            return None
        return next((column for column, what in self.found.columns.items() if what == name), None)

    @property
    def total(self) -> int:
        """The number of items known so far."""
        return 0 if self.found is None else self.found.messages + self.found.notes + self.found.bad

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def touch(self) -> None:
        """Restart the quarter of an hour after which it is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._expire)

    async def keep(self, files: Sequence[tuple[str, BinaryIO]]) -> None:
        """Copy uploaded files to files without names: the system removes them when the process ends, however it ends.

        Raises:
            InvalidInputError: a file's name is empty or not printable, or given twice.
            FormatError: all of them are hidden files of a folder.
            StoreFullError: there is no room for them.
        """
        for name, stream in files:
            plain = _plain(name)
            if _is_hidden(plain):
                continue
            if plain in self._files:
                raise InvalidInputError(f"two files are named {plain}; put them into a zip")
            try:
                staged = self._files[plain] = Staged()
                await asyncio.to_thread(shutil.copyfileobj, stream, staged.file, 1 << 20)
            except OSError as error:
                raise StoreFullError(f"the server cannot keep the file: {error.strerror or error}") from error
        if not self._files:
            raise FormatError("there is no file in it but hidden ones")
        self.name = next(iter(self._files)) if len(self._files) == 1 else f"{len(self._files)} files"

    def look(self, format: str | None, options: Options) -> None:
        """Begin to survey the files."""
        self.format, self.options, self.found, self.interrupted = format, options, None, False
        self._begin("looking", self._look)

    def load(self, options: Options) -> None:
        """Begin to store what was found; who the user is, where nobody says so, is what was found for each chat."""
        if self.found is not None and not options.me:
            options = replace(options, me=self.found.mine)
        self.options, self.interrupted = options, False
        self._begin("loading", self._load)

    async def settle(self) -> None:
        """Wait a moment, which is enough for the work on a small file."""
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=_MOMENT)

    async def stop(self) -> None:
        """Interrupt the work; what is stored stays."""
        if self._task is not None and self.busy:
            self.interrupted = True
            self._task.cancel()
            await asyncio.wait((self._task,))

    def discard(self) -> None:
        """Stop, and remove the files."""
        self.state = "gone"
        if self._task is not None:
            self._task.cancel()
        self._end()

    def _begin(self, state: State, work: Callable[[], Awaitable[State]]) -> None:
        async def run() -> None:
            try:
                self.state = await work()
            except asyncio.CancelledError:
                self.state = "gone" if self.state == "gone" else "waiting"
                raise
            except ColumnsError as error:
                self.state, self.problem, self.columns = "waiting", str(error).partition("; ")[0], error.columns
            except OwnerError as error:
                self.state, self.problem, self.owners = "waiting", str(error).partition("; choose one")[0], error.owners
            except MemoristError as error:
                self.state, self.problem = "waiting", str(error).partition("; if you know the format")[0]
            except Exception:
                log.exception("an import failed")
                self.state, self.problem = "waiting", "the server failed; see its log"
            if self.state == "done":
                self._end()

        self.state, self.problem, self.done = state, None, 0
        self._task = asyncio.create_task(run())

    async def _look(self) -> State:
        stopped = False

        def progress(number: int) -> None:
            self.done = number
            if stopped:
                raise _StoppedError

        def work() -> Survey:
            with self._source() as source:
                return survey(source, format=self.format, options=self.options, progress=progress)

        try:
            self.found = await asyncio.to_thread(work)
        finally:
            stopped = True  # a thread cannot be cancelled
        return "waiting"

    async def _load(self) -> State:
        def progress(number: int) -> None:
            self.done = number

        with await asyncio.to_thread(self._source) as source:
            self.report = await load(self.memory, source, format=self.format, options=self.options, progress=progress)
        return "done"

    def _source(self) -> Source:
        if self.state == "gone":
            raise FormatError("the files were removed; upload them again")
        source = Source("", name=self.name, staged=self._files)
        if (size := sum(part.size for part in source.parts)) > self._most_bytes:
            source.close()
            raise FormatError(f"{self.name} has {size:,} bytes; the limit is {self._most_bytes:,}")
        return source

    def _expire(self) -> None:
        if self.busy:
            self.touch()
        elif self.state != "done":
            self.discard()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._remove()


class _StoppedError(Exception):
    """Ends a survey that nobody waits for."""


def _close(files: dict[str, Staged]) -> None:
    for each in files.values():
        each.close()


def _plain(name: str) -> str:
    """Return a file's name below the folder that was chosen, as Windows and others write it; it is never a path here.

    Raises:
        InvalidInputError: it is empty, or not printable.
    """
    folders = [part.strip() for part in name.replace("\\", "/").split("/")]
    plain = "/".join(part for part in folders if part.strip(" ."))
    if not plain or not folders[-1].strip(" .") or not plain.isprintable():
        raise InvalidInputError("a file has no name, or an invalid one")
    return plain.encode("utf-8", "replace")[-_LONGEST_NAME:].decode("utf-8", "ignore")


def _is_hidden(name: str) -> bool:
    """Return whether a file lies in a folder and is hidden, as an import of the folder itself passes over it."""
    return "/" in name and any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
