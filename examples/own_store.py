"""A store of your own: records in dictionaries, saved nowhere.

A template: put your back end in the place of the dictionaries, and keep what the docstrings in `memorist.stores.Store`
promise; `memorist.testing.StoreContract` proves it. All reading is inherited: a `ViewStore` looks through the records
in Python. Once your package names the class in its entry points, under ``[project.entry-points."memorist.stores"]``,
as ``mine = "my_package.own_store:OwnStore"``, `Memory.open("mine:here")` calls it with the settings (`url`: that text).
"""

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from memorist.config import Settings
from memorist.errors import ClosedError, EmbedderMismatchError, InvalidInputError
from memorist.records import Change, Record
from memorist.scope import Wall
from memorist.stores.base import Vector, Write
from memorist.stores.plain import Row, Source, View, ViewStore, Writer
from memorist.times import now

_T = TypeVar("_T")


class Batch(Writer):
    """The writes of one call, to views that nobody else sees yet."""

    def __init__(self, epoch: int, changes: Mapping[tuple[Wall, str], list[Change]]) -> None:
        super().__init__(epoch)
        self.changes = dict(changes)

    def noted(self, view: View, row: Row, old: Row | None, change: Change) -> None:
        earlier = self.changes.get((view.wall, change.id), [])
        if change.record is None:
            earlier = [replace(each, record=None) for each in earlier]
        self.changes[view.wall, change.id] = [*earlier, change]


class OwnStore(ViewStore):
    """Records in dictionaries, behind one lock. It is the `Source` of its own views."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.epoch = 0
        self._lock, self._is_open = threading.RLock(), False
        self._views: dict[Wall, View] = {}
        self._changes: dict[tuple[Wall, str], list[Change]] = {}
        self._fingerprint: str | None = None
        self._staged: dict[str, dict[int, tuple[int, Vector, str]]] = {}

    async def open(self) -> None:
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            if not self._is_open:
                raise ClosedError("the store is not open")
            yield

    async def _read(self, work: Callable[[Source], _T]) -> _T:
        with self._alone():
            return work(self)

    def view(self, wall: Wall) -> View:
        return self._views.get(wall) or View(wall)

    def views(self, tenant: str | None = None) -> list[View]:
        return [view for wall, view in self._views.items() if tenant in (None, wall.tenant)]

    def vectors_of(self, rows: Iterable[Row]) -> dict[int, Vector]:
        return {row.number: row.vector for row in rows if row.vector is not None}

    async def write(self, wall: Wall, writes: Sequence[Write]) -> list[bool]:
        with self._alone():
            batch, view = Batch(self.epoch, self._changes), self.view(wall).copy()
            done = batch.write(view, writes)  # where this raises, nothing has come of it
            self.epoch, self._changes, self._views[wall] = batch.epoch, batch.changes, view
            return done

    async def sweep(self, now: datetime) -> int:
        with self._alone():
            batch = Batch(self.epoch, self._changes)
            swept = sum(batch.expire(view, id, now) for view in self.views() for id in list(view.rows))
            self.epoch, self._changes = batch.epoch, batch.changes
            return swept

    async def purge(self, wall: Wall) -> int:
        with self._alone():
            self._changes = {place: changes for place, changes in self._changes.items() if place[0] != wall}
            return len(self._views.pop(wall, View(wall)).rows)

    async def history(self, wall: Wall, id: str) -> list[Change]:
        with self._alone():
            row, changes = self.view(wall).rows.get(id), self._changes.get((wall, id), [])
            over = row is not None and not row.alive(now())
            return [replace(each, record=None) if over else each for each in changes]

    async def backup(self, target: Path) -> None:
        if target.exists():
            raise InvalidInputError(f"{target} exists; choose another path for the backup")
        with self._alone():
            target.write_bytes(pickle.dumps((self._views, self._changes)))

    async def fingerprint(self) -> str | None:
        with self._alone():
            return self._fingerprint

    async def bind(self, fingerprint: str, dimensions: int) -> None:
        self._fingerprint = await self.fingerprint() or fingerprint
        if self._fingerprint != fingerprint:
            raise EmbedderMismatchError(f"the vectors here are of {self._fingerprint!r}, not of {fingerprint!r}")

    def _left(self, fingerprint: str) -> list[Row]:
        with self._alone():
            self._staged = {fingerprint: self._staged.get(fingerprint, {})}
            rows = [row for view in self.views() for row in view.rows.values() if row.terms is not None]
            return [row for row in rows if self._staged[fingerprint].get(row.number, (0,))[0] != row.record.version]

    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        return [(row.number, row.record.version, row.record) for row in self._left(fingerprint)[:limit]]

    async def left_to_reembed(self, fingerprint: str) -> int:
        return len(self._left(fingerprint))

    async def stage(self, fingerprint: str, rows: Sequence[tuple[int, int, Vector, str]]) -> None:
        self._left(fingerprint)  # which throws away what was staged for another
        self._staged[fingerprint].update({number: (version, vector, terms) for number, version, vector, terms in rows})

    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        with self._alone():
            if self._left(fingerprint):
                return False
            staged = self._staged.pop(fingerprint)
            for wall, view in self._views.items():  # each is made anew, and so of another generation
                self._views[wall] = View(wall, [_renewed(row, staged) for row in view.rows.values()])
            self._fingerprint = fingerprint
            return True


def _renewed(row: Row, staged: Mapping[int, tuple[int, Vector, str]]) -> Row:
    _, vector, terms = staged[row.number] if row.terms is not None else (0, None, None)
    return replace(row, vector=vector, terms=terms)
