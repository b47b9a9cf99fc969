"""The writes of one call, carried out on what was read of a wall, before anything of it is sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memorist.errors import ConflictError
from memorist.records import Action, Record
from memorist.scope import Wall
from memorist.stores.base import Put, Remove
from memorist.stores.postgres.rows import COLUMNS, dump_row, row_of
from memorist.times import now, to_micros

__all__ = ["Batch", "Change", "Held"]

_NAMES = [name.strip() for name in COLUMNS.split(",")]
_ID, _KIND, _KEY, _EXPIRES, _VERSION = map(_NAMES.index, ("id", "kind", "key", "expires_at", "version"))
_SUPERSEDED = _NAMES.index("superseded_at")


@dataclass(slots=True)
class Change:
    """A row of the table of changes, but whose it is."""

    epoch: int
    number: int
    id: str
    action: Action
    at: int
    source: str | None
    before: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """A record as it stands in this transaction."""

    number: int
    row: Sequence[Any]

    @property
    def over(self) -> bool:
        """Whether it is expired."""
        expires_at = self.row[_EXPIRES]
        return expires_at is not None and expires_at <= to_micros(now())

    @property
    def handle(self) -> tuple[str, str] | None:
        """The kind and key that no other may have meanwhile."""
        if self.row[_KEY] is None or self.row[_SUPERSEDED] is not None:
            return None
        return self.row[_KIND], self.row[_KEY]


@dataclass
class Batch:
    """The writes of one call, carried out on what was read, and what is to be sent."""

    wall: Wall
    held: dict[str, Held]
    epochs: Iterator[int]
    holders: dict[tuple[str, str], str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    blanked: set[str] = field(default_factory=set)
    indexed: dict[int, Put | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.holders = {held.handle: id for id, held in self.held.items() if held.handle is not None}

    def put(self, write: Put) -> bool:
        """Store a record whole, if what is there is what the write expects."""
        record, row = write.record, row_of(write.record)
        old = self.held.get(record.id)
        if old is not None and old.over:
            self.take_out(record.id, Action.EXPIRED, now(), None)
            old = None
        _check_expected(write, None if old is None else old.row[_VERSION])
        self._make_way(record)
        before = None if old is None else dump_row(old.row)
        epoch = next(self.epochs)
        number = epoch if old is None else old.number  # that of its first change: never used again
        source = write.source or record.source
        self.changes.append(
            Change(epoch, number, record.id, write.action, to_micros(record.updated_at), source, before)
        )
        self._let_go(record.id)
        self.held[record.id] = Held(number, row)
        if (handle := self.held[record.id].handle) is not None:
            self.holders[handle] = record.id
        self.steps.append(("put", (number, *row, to_micros(record.at), epoch)))
        if not write.keep_index:
            self.indexed[number] = write if write.terms is not None else None
        return True

    def remove(self, write: Remove) -> bool:
        """Take one record out; tell whether it was there."""
        held = self.held.get(write.id)
        if held is None:
            return False
        if held.over:
            self.take_out(write.id, Action.EXPIRED, write.at, None)
            return False
        self.take_out(write.id, write.action, write.at, write.source)
        return True

    def take_out(self, id: str, action: Action, at: datetime, source: str | None) -> None:
        """Take a record out, and its texts from what is told of its past."""
        self._let_go(id)
        held = self.held.pop(id)
        for change in self.changes:
            if change.id == id:
                change.before = None
        self.blanked.add(id)
        self.changes.append(Change(next(self.epochs), held.number, id, action, to_micros(at), source, None))
        self.steps.append(("remove", (held.number,)))
        self.indexed[held.number] = None

    def _let_go(self, id: str) -> None:
        held = self.held.get(id)
        if held is not None and held.handle is not None and self.holders.get(held.handle) == id:
            del self.holders[held.handle]

    def _make_way(self, record: Record) -> None:
        """Make sure that the record's key is free; an expired record does not hold one."""
        if record.key is None or not record.current:
            return
        holder = self.holders.get((str(record.kind), record.key))
        if holder is None or holder == record.id:
            return
        if not self.held[holder].over:
            raise ConflictError(f"the key {record.key!r} of kind {record.kind} is taken by the record {holder!r}")
        self.take_out(holder, Action.EXPIRED, now(), None)


def _check_expected(write: Put, version: int | None) -> None:
    if (version or 0) == write.expected:
        return
    if write.expected == 0:
        raise ConflictError(f"the id {write.record.id!r} is taken in this scope; revise the record, or choose another")
    raise ConflictError(f"the record {write.record.id!r} was changed or forgotten meanwhile; read it and try again")
