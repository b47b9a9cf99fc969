"""Episodes in a JSONL file; see `host_files`."""

import asyncio
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from memorist.adapters.host_files.lines import LinesFile
from memorist.adapters.llm_agents.base.memory_store import BaseMemoryStore
from memorist.adapters.llm_agents.data_structures.memory import Episode, RecallMode, in_utc, own_copy
from memorist.adapters.llm_agents.errors import MemoryStoreError, MemoryStoreWarning, known


class JSONMemoryStore(BaseMemoryStore):
    """Keeps episodes in a file, one JSON object a line, and in memory.

    A write is on disk when it returns; if it raises, neither the file nor the memory has changed. Several
    processes may use one file. A last line that a kill cut off is skipped with a `MemoryStoreWarning`; the next
    write moves it to ``NAME.torn``.

    Args:
        dir: the folder of the file.
        filename: its name.
        max_results: the most episodes that `recall` returns.
        recall_mode: must be RECENT: this store has no search.

    Raises:
        MemoryStoreError: a line other than the last is not an episode; the text names the line.
    """

    def __init__(
        self,
        dir: str | PathLike[str],
        filename: str = "episodes.jsonl",
        max_results: int = 5,
        recall_mode: RecallMode = RecallMode.RECENT,
    ) -> None:
        super().__init__(max_results=max_results, recall_mode=recall_mode)
        self.path = Path(dir) / filename
        self._file = LinesFile(self.path)
        self._guard = threading.Lock()
        self._torn_at: int | None = None
        self._unended = False
        self._mark = self._file.mark()
        self._episodes: list[Episode] = []
        self._ordered: tuple[list[Episode], int, list[Episode]] = (self._episodes, 0, [])
        if self._mark is not None:
            with self._file.locked():
                self._load()

    async def write(self, episode: Episode) -> None:
        stored = _as_stored(episode)

        def work() -> None:
            if self._position(stored.id_) is None:
                self._append(stored)
            else:
                self._replace(stored.id_, stored)

        await self._changing(work)

    async def update(self, episode: Episode) -> None:
        stored = _as_stored(episode)
        await self._changing(lambda: self._replace(stored.id_, stored))

    async def delete(self, id_: str) -> None:
        await self._changing(lambda: self._replace(id_, None))

    async def count(self) -> int:
        return len(await self._newest())

    async def summary(self) -> str:
        newest = await self._newest()
        return self._summed_up(len(newest), self.path, *((newest[0], newest[-1]) if newest else (None, None)))

    async def _read_recent(self, n: int) -> list[Episode]:
        # through JSON, as they came: it takes a third of the time of a deep copy
        return [Episode.model_validate_json(_dumped(episode)) for episode in (await self._newest())[: max(n, 0)]]

    async def _search(self, query: str, **kwargs: Any) -> list[Episode]:
        raise NotImplementedError(
            "JSONMemoryStore has no search; recall with RecallMode.RECENT, or use MemoristMemoryStore."
        )

    # --- the methods below run in a thread, since they wait for the disk --------------------------------

    async def _newest(self) -> list[Episode]:
        """Return all episodes, newest first; those of the same time in the order they were written."""

        def work() -> list[Episode]:
            with self._guard:
                if self._file.mark() != self._mark:
                    with self._file.locked():
                        self._load()
                return self._in_order()

        return await asyncio.to_thread(work)

    def _in_order(self) -> list[Episode]:
        """Return the episodes newest first; they are sorted anew only after a change, which grows or replaces them."""
        of, count, ordered = self._ordered
        if of is not self._episodes or count != len(of):
            ordered = sorted(self._episodes, key=lambda each: in_utc(each.completed_at), reverse=True)
            self._ordered = (self._episodes, len(self._episodes), ordered)
        return ordered

    async def _changing(self, work: Callable[[], None]) -> None:
        def whole() -> None:
            with self._guard, self._file.locked():
                if self._file.mark() != self._mark:
                    self._load()
                try:
                    work()
                    self._mark = self._file.mark()
                except OSError:
                    with suppress(OSError, MemoryStoreError):  # memory must be what the file is now
                        self._load()
                    raise

        await asyncio.to_thread(whole)

    def _position(self, id_: str) -> int | None:
        return next((position for position, each in enumerate(self._episodes) if each.id_ == id_), None)

    def _append(self, episode: Episode) -> None:
        self._set_aside()
        self._file.append((b"\n" if self._unended else b"") + _dumped(episode))
        self._unended = False
        self._episodes.append(episode)

    def _replace(self, id_: str, episode: Episode | None) -> None:
        position = self._position(id_)
        if position is None:
            raise self._not_found(id_)
        after = [*self._episodes[:position], *([episode] if episode else []), *self._episodes[position + 1 :]]
        self._set_aside()
        self._file.replace(map(_dumped, after))
        self._unended = False
        self._episodes = after

    def _set_aside(self) -> None:
        if self._torn_at is not None:
            self._file.set_aside(self._torn_at)
            self._torn_at = None

    def _load(self) -> None:
        """Read the file; it replaces what is in memory."""
        mark, lines = self._file.mark(), self._file.read()
        episodes: dict[str, Episode] = {}
        torn_at = None
        for position, (number, line) in enumerate(lines.numbered, start=1):
            try:
                episode = Episode.model_validate_json(line)
            except ValueError as error:
                if position < len(lines.numbered):
                    reason = str(error).splitlines()[0]
                    raise known(MemoryStoreError)(f"{self.path}, line {number} is not an episode: {reason}") from error
                torn_at = lines.last_begins
                warnings.warn(
                    f"{self.path}: the last line, {number}, is cut off and was skipped.",
                    known(MemoryStoreWarning),
                    stacklevel=2,
                )
            else:
                episodes[episode.id_] = episode
        self._episodes = list(episodes.values())
        self._mark, self._torn_at, self._unended = mark, torn_at, torn_at is None and not lines.ended


def _dumped(episode: Episode) -> bytes:
    return episode.model_dump_json().encode("utf-8")


def _as_stored(episode: Any) -> Episode:
    """Return an episode as it is read again; it shares nothing with the caller's."""
    return Episode.model_validate_json(_dumped(own_copy(episode)))
