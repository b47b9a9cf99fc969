"""The writes of one call, carried out in memory on the rows read, before anything is sent to the server."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from memorist.audit.log import Counts
from memorist.records.record import Action
from memorist.records.scope import Wall
from memorist.records.times import to_micros
from memorist.stores.base import Put, Remove
from memorist.stores.postgres.rows import row_of
from memorist.stores.rows import NAMES, dump_record, stored_of
from memorist.stores.rules import Handle, Stored, check_put, check_quotes, check_remove, check_sources, handle_of

_KIND, _KEY, _SUPERSEDED = map(NAMES.index, ("kind", "key", "superseded_at"))


class ChangeRow(NamedTuple):
    """A row of the table of changes, without tenant and user."""

    epoch: int
    number: int
    id: str
    action: str
    at: int
    source: str | None
    before: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """A record in its current state in this transaction."""

    number: int
    row: Sequence[Any]

    @property
    def stored(self) -> Stored:
        """The fields that the rules of a write need."""
        return stored_of(self.number, self.row)

    @property
    def handle(self) -> Handle | None:
        """The handle that it holds."""
        if self.row[_KEY] is None or self.row[_SUPERSEDED] is not None:
            return None
        return Handle(self.row[_KIND], self.row[_KEY])


@dataclass
class Batch:
    """The writes of one call, carried out on the rows read, and the rows to send; `counts` are for the audit log.

    `quoted` are the quoted records that exist. `quoting` holds the quotes of new records, by their number. `dropping`
    are the changed ids whose quoting records must be removed.
    """

    wall: Wall
    moment: datetime
    held: dict[str, Held]
    epochs: Iterator[int]
    wall_id: int
    holders: dict[Handle, str] = field(default_factory=dict)
    changes: list[ChangeRow] = field(default_factory=list)
    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    blanked: set[str] = field(default_factory=set)
    indexed: dict[int, Put | None] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    quoted: Collection[tuple[Wall, str]] = ()
    quoting: dict[int, Collection[tuple[Wall, str]]] = field(default_factory=dict)
    dropping: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.holders = {held.handle: id for id, held in self.held.items() if held.handle is not None}

    def copy(self) -> "Batch":
        """Return an independent copy to continue with."""
        return replace(
            self, held=dict(self.held), changes=list(self.changes), steps=list(self.steps), blanked=set(self.blanked),
            indexed=dict(self.indexed), counts=Counts(), quoting=dict(self.quoting), dropping=set(self.dropping),
        )  # fmt: skip

    def put(self, write: Put) -> bool:
        """Store a record, if the stored version is the one that the write expects."""
        record, row, moment = write.record, row_of(write.record), self.moment
        handle = handle_of(record)
        holder = None if handle is None else self._stored(self.holders.get(handle))
        check_sources(write, map(self._stored, write.derived_from), moment)
        check_quotes(write, self.quoted)
        old, expired = check_put(write, self._stored(record.id), holder, moment)
        for each in expired:
            self.take_out(Remove(each.id, Action.EXPIRED, moment))
        if write.expires:
            self.dropping.add(record.id)
        before = None if old is None else dump_record(self.held[record.id].row)
        epoch = next(self.epochs)
        number = epoch if old is None else old.number  # the epoch of its first change, never reused
        source = write.source or record.source
        self.changes.append(
            ChangeRow(epoch, number, record.id, str(write.action), to_micros(record.updated_at), source, before)
        )
        self._let_go(record.id)
        self.counts[str(write.action), str(record.kind)] += 1
        self.held[record.id] = Held(number, row)
        if handle is not None:
            self.holders[handle] = record.id
        if write.quotes:
            self.quoting[number] = write.quotes
        self.steps.append(("put", (number, *row, to_micros(record.at), epoch)))
        if not write.keep_index:
            self.indexed[number] = write if write.terms is not None else None
        return True

    def remove(self, write: Remove) -> bool:
        """Remove one record; return whether it was there."""
        noted = check_remove(write, self._stored(write.id), self.moment)
        if noted is None:
            return False
        self.take_out(noted)
        return noted is write

    def _stored(self, id: str | None) -> Stored | None:
        return self.held[id].stored if id in self.held else None

    def take_out(self, write: Remove) -> None:
        """Remove a record, and its texts from the history."""
        self._let_go(write.id)
        held = self.held.pop(write.id)
        self.changes = [each._replace(before=None) if each.id == write.id else each for each in self.changes]
        self.counts[str(write.action), held.row[_KIND]] += 1
        self.blanked.add(write.id)
        self.dropping.add(write.id)
        self.quoting.pop(held.number, None)
        note = (write.id, str(write.action), to_micros(write.at), write.source, None)
        self.changes.append(ChangeRow(next(self.epochs), held.number, *note))
        self.steps.append(("remove", (held.number,)))
        self.indexed[held.number] = None

    def _let_go(self, id: str) -> None:
        held = self.held.get(id)
        if held is not None and held.handle is not None and self.holders.get(held.handle) == id:
            del self.holders[held.handle]
