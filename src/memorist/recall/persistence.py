"""Reads the indexes of walls from the store and writes them to it, so that a new process can use an earlier one's
index.

A segment is written anew when one of its records has changed, and the last one until it is full. Unusable segments are
rebuilt from the records: a single segment if it is damaged or was deleted with a removed record; all segments if the
program keeps other columns, or if the vectors come from another embedder.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from memorist.errors import MemoristError, StoreCorruptError
from memorist.recall.index import SIGNATURE, Rows, WallIndex
from memorist.recall.segments import Segment, pack, unpack
from memorist.recall.vectors import BLOCK_ROWS
from memorist.records.scope import Wall
from memorist.stores.base import Entries, Store
from memorist.stores.segments import Segments, SegmentSpan

KEPT_FROM = 1000
"""The number of records read or changed after which an index is written again: reading that many takes some 10 ms."""
SEGMENT_ROWS = 4096
"""The most rows in a segment: one changed row rewrites a whole segment, at most 6 MB with 384 dimensions."""
_AHEAD = 3
"""Segments that are read at once."""
_VERSION = 1


@dataclass(slots=True)
class _State:
    """The state of one stored index. `stamp` is None before anything is stored. `idle` is false while the index is
    being written, and stays false after a failed write."""

    stamp: int | None = None
    spans: list[SegmentSpan] = field(default_factory=list)
    stale: set[SegmentSpan] = field(default_factory=set)
    idle: bool = True


@dataclass(frozen=True, slots=True)
class _Job:
    """Rows to write in the place of some spans."""

    rows: Rows
    first: int
    last: int
    replaced: Sequence[SegmentSpan]


class Keeper:
    """Reads and writes the indexes that a store keeps. A failure here never makes a recall fail.

    Args:
        segments: where they are kept.
        dimensions: of the vectors.
    """

    def __init__(self, segments: Segments, dimensions: int) -> None:
        self._segments = segments
        self._dimensions = dimensions
        self._form = f"{_VERSION} {dimensions} {SIGNATURE}"
        self._states: WeakKeyDictionary[WallIndex, _State] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def knows(self, index: WallIndex) -> bool:
        """Whether an index is one that `restored` returned."""
        return index in self._states

    async def restored(self, wall: Wall) -> WallIndex:
        """Return the index of a wall as it is kept, or an empty one."""
        try:
            kept = await self._segments.kept(wall)
        except MemoristError:
            kept = None
        if kept is None:
            return self._empty(_State())
        if kept.form != self._form or not kept.epoch:
            return self._empty(_State(kept.stamp))
        index = self._empty(state := _State(kept.stamp, list(kept.spans)))
        index.vectors.reserve(sum(span.size for span in kept.spans) // (4 * self._dimensions))
        async with aclosing(self._read(kept.spans)) as reading:
            async for span, data in reading:
                segment = None if data is None else await asyncio.to_thread(_restore, index, data)
                if segment is None:
                    index.update(Entries("", 0, await self._segments.entries(wall, span), []))
                if segment is None or (segment.scales is None and not index.vectors.exact):
                    state.stale.add(span)
        # the wall had more records once, and therefore one-byte codes
        if index.rows <= BLOCK_ROWS and not index.vectors.exact:
            return self._empty(_State(kept.stamp))
        index.generation, index.epoch = kept.generation, kept.epoch
        # A process that was killed has written segments beyond the epoch: their records count as kept too.
        index.unkept, index.kept_until = 0, max([kept.epoch, *(span.last for span in kept.spans)])
        return index

    def _empty(self, state: _State) -> WallIndex:
        index = WallIndex(self._dimensions, self._segments.folder)
        self._states[index] = state
        return index

    async def _read(
        self, spans: Sequence[SegmentSpan]
    ) -> AsyncGenerator[tuple[SegmentSpan, NDArray[np.uint8] | None], None]:
        """Yield each span with its bytes, None if they are missing; the next spans are read meanwhile."""
        reading: deque[asyncio.Task[NDArray[np.uint8] | None]] = deque()
        try:
            for place, span in enumerate(spans):
                for ahead in spans[place + len(reading) : place + _AHEAD]:
                    reading.append(asyncio.create_task(self._segments.read(ahead)))
                yield span, await reading.popleft()
        finally:
            for task in reading:
                task.cancel()

    def keep(self, wall: Wall, index: WallIndex) -> None:
        """Write the changes since the last write in the background, if there are many."""
        state = self._states.get(index)
        if state is not None and state.idle and index.unkept >= KEPT_FROM:
            state.idle, index.unkept = False, 0
            task = asyncio.get_running_loop().create_task(self._keep(wall, index, state))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait for what is being written by this event loop."""
        loop = asyncio.get_running_loop()
        while tasks := [task for task in self._tasks if task.get_loop() is loop]:
            await asyncio.wait(tasks)

    async def _keep(self, wall: Wall, index: WallIndex, state: _State) -> None:
        with suppress(MemoristError):  # a full disk, a file that may only be read: the next process builds the index
            state.idle = await self._written(wall, index, state)

    async def _written(self, wall: Wall, index: WallIndex, state: _State) -> bool:
        """Write what changed; return False if another process writes, or a record was removed meanwhile."""
        with index.lock:
            generation, epoch = index.generation or "", index.epoch
            jobs = _jobs(index.in_order(), index.column("number"), state, index.changed)
            index.kept_until, index.changed = epoch, set()
        stamp = await self._segments.begin(wall, generation, self._form, state.stamp, anew=not state.spans)
        if stamp is None:
            return False
        spans = set(state.spans)
        for job in jobs:
            data = await asyncio.to_thread(_packed, index, job.rows)
            span = await self._segments.put(wall, stamp, epoch, (job.first, job.last), data, job.replaced)
            if span is None:
                return False
            stamp += 1
            spans = (spans - set(job.replaced)) | {span}
        state.stamp, state.spans, state.stale = stamp, sorted(spans, key=lambda span: span.first), set()
        return await self._segments.end(wall, stamp, epoch)


async def keep(store: Store, wall: Wall, dimensions: int) -> None:
    """Write the index of a wall, if there are many changes since it was last written, or none was.

    Nothing is written where the store keeps no indexes, or where the wall is purged meanwhile.
    """
    if (segments := store.segments) is None or not dimensions:
        return
    keeper = Keeper(segments, dimensions)
    index, more = await keeper.restored(wall), True
    while more:
        changed = await store.entries(wall, index.generation, index.epoch)
        if index.generation not in (None, changed.generation):
            return
        await asyncio.to_thread(index.update, changed)
        more = changed.more
    keeper.keep(wall, index)
    await keeper.close()


def _jobs(rows: Rows, numbers: NDArray[np.int64], state: _State, changed: Collection[int]) -> list[_Job]:
    """Return the segments to write: those with a change, and those after the last full one.

    A record between two spans, which recall did not find before, is written with the later one.
    """
    numbers = numbers[rows]
    stale = np.array(sorted(changed), np.int64)
    jobs, begin, before, replaced = [], 0, 0, []
    for span in state.spans:
        start, stop = begin, int(np.searchsorted(numbers, span.last, side="right"))
        begin = stop
        if span is state.spans[-1] and start < len(rows) and stop - start < SEGMENT_ROWS:
            begin, replaced = start, [span]
        elif span in state.stale or np.diff(np.searchsorted(stale, [before, span.last], side="right"))[0]:
            jobs.append(_Job(rows[start:stop], before + 1, span.last, [span]))
        before = span.last
    return [*jobs, *_new_jobs(rows[begin:], numbers[begin:], replaced)]


def _new_jobs(rows: Rows, numbers: NDArray[np.int64], replaced: list[SegmentSpan]) -> Iterator[_Job]:
    for start in range(0, len(rows), SEGMENT_ROWS):
        some = slice(start, start + SEGMENT_ROWS)
        yield _Job(rows[some], int(numbers[some][0]), int(numbers[some][-1]), replaced if start == 0 else [])


def _restore(index: WallIndex, data: NDArray[np.uint8]) -> Segment | None:
    """Add the rows of a segment to an index, and return it; None if the bytes are not a segment."""
    try:
        segment = unpack(data)
    except StoreCorruptError:
        return None
    index.restore(segment)
    return segment


def _packed(index: WallIndex, rows: Rows) -> bytes:
    """Return the bytes of some rows. Those that changed meanwhile have other rows by now, and are in the change log."""
    with index.lock:
        segment = index.segment(rows[index.alive[rows]])
    return pack(segment)
