"""The rules of a write in every store: ids, keys, versions, labels, expiry, and what the history shows.

The functions are pure. A store reads the rows that they need inside its transaction, and carries out the result.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memorist.errors import ConflictError, embedder_mismatch, embedder_resized
from memorist.records.record import Action, Change, Record
from memorist.records.scope import Wall
from memorist.records.times import from_micros, to_micros
from memorist.stores.base import Put, Remove, Staged, Write


class Handle(NamedTuple):
    """The kind and key that at most one current record behind a wall holds."""

    kind: str
    key: str


class Stored(NamedTuple):
    """The fields of a stored record that the rules need; `expires_at` is in microseconds since 1970."""

    number: int
    id: str
    version: int
    expires_at: int | None
    agent: str | None
    session: str | None

    def expired(self, moment: datetime) -> bool:
        """Return whether the record has expired, so that its id and key are free."""
        return self.expires_at is not None and self.expires_at <= to_micros(moment)


def handle_of(record: Record) -> Handle | None:
    """Return the handle that a record occupies; None if it has no key or is superseded."""
    return None if record.key is None or not record.current else Handle(str(record.kind), record.key)


def check_put(
    write: Put, same: Stored | None, holder: Stored | None, moment: datetime
) -> tuple[Stored | None, list[Stored]]:
    """Return the record that a `Put` replaces (None if it is new), and the expired ones to remove first.

    Args:
        write: the write to check.
        same: the record with the same id, expired or not.
        holder: the record that holds `handle_of(write.record)`, expired or not; may be `same`.
        moment: the present.

    Raises:
        ConflictError: the version is not the expected one, the id belongs to another agent or session,
            or another record holds the key.
    """
    record = write.record
    expired = [each for each in dict.fromkeys((same, holder)) if each is not None and each.expired(moment)]
    same, holder = (None if each in expired else each for each in (same, holder))
    if (0 if same is None else same.version) != write.expected:
        if write.expected == 0:
            raise ConflictError(f"the id {record.id!r} is taken in this scope; revise the record, or choose another")
        raise ConflictError(
            f"the record {record.id!r} was changed or forgotten by another writer; read it and try again"
        )
    has_other_labels = same is not None and (same.agent, same.session) != (record.scope.agent, record.scope.session)
    if has_other_labels and not write.relabels:
        raise ConflictError(f"the id {record.id!r} is taken by another agent or session; choose another id")
    if holder is not None and holder.id != record.id:
        raise ConflictError(f"the key {record.key!r} of kind {record.kind} is taken by the record {holder.id!r}")
    return same, expired


def check_sources(write: Put, there: Iterable[Stored | None], moment: datetime) -> None:
    """Check that every record that a `Put` is derived from is among those `there`.

    Raises:
        ConflictError: one is gone, or has expired.
    """
    alive = {each.id for each in there if each is not None and not each.expired(moment)}
    if gone := write.derived_from - alive:
        raise ConflictError(
            f"a record that {write.record.id!r} is derived from was just forgotten: {min(gone)!r}; try again"
        )


def removed_alone(writes: Iterable[Write]) -> frozenset[str]:
    """Return the ids of the removed records whose derived records must all be among the writes; see `Remove`."""
    return frozenset(each.id for each in writes if isinstance(each, Remove) and each.alone)


def check_alone(writes: Iterable[Write], drawn: Iterable[str]) -> None:
    """Check that the writes change or remove every record that was drawn from what they remove.

    Raises: ConflictError: the writes leave out a record that was derived in the meantime.
    """
    if left := set(drawn).difference(each.record.id if isinstance(each, Put) else each.id for each in writes):
        raise ConflictError(
            f"the record {min(left)!r} was just derived from a record that is to be forgotten; try again"
        )


def check_quotes(write: Put, there: Collection[tuple[Wall, str]]) -> None:
    """Check that every record that a `Put` quotes is among those `there`.

    Raises:
        ConflictError: one is gone, or has expired.
    """
    if gone := write.quotes.difference(there):
        raise ConflictError(f"a record that {write.record.id!r} quotes was just forgotten: {min(gone)[1]!r}")


def check_remove(write: Remove, stored: Stored | None, moment: datetime) -> Remove | None:
    """Return the removal to carry out, None if the record is not there or has another version than the one to remove.

    An expired record counts as gone already: the store removes it separately.

    Args:
        write: the requested removal.
        stored: the record that has this id, even an expired one; None if no record has it.
        moment: the present.

    Raises:
        ConflictError: the record must be removed, but is gone, has expired or has another version.
    """
    gone = stored is None or stored.expired(moment)
    same = stored is not None and write.version in (None, stored.version)
    if write.must and (gone or not same):
        raise ConflictError(f"the record {write.id!r} was changed or forgotten by another writer; try again")
    if stored is not None and gone:
        return Remove(write.id, Action.EXPIRED, write.at)
    return write if same else None


def check_embedder(stored: Mapping[str, str], fingerprint: str | None, dimensions: int | None) -> None:
    """Check that the vectors of a write come from the embedder of the stored vectors, and are as long as they are.

    Args:
        stored: what the store has noted of its vectors: ``fingerprint`` and ``dimensions``.
        fingerprint: of the embedder of the new vectors.
        dimensions: the length of the new vectors, if it is known.

    Raises:
        EmbedderMismatchError: the vectors come from another embedder; another process may have reindexed the store
            meanwhile.
    """
    if stored.get("fingerprint") != fingerprint:
        raise embedder_mismatch(stored.get("fingerprint"), fingerprint)
    length = stored.get("dimensions")
    if length is not None and dimensions is not None and int(length) != dimensions:
        raise embedder_resized(fingerprint, int(length), dimensions)


def length_of(vectors: Iterable[Write | Staged]) -> int | None:
    """Return the length of the first vector that is stored; None if none is."""
    return next((len(vector) for each in vectors if (vector := getattr(each, "vector", None)) is not None), None)


def history_of(
    id: str,
    rows: Sequence[tuple[Any, ...]],
    read: Callable[[Sequence[Any]], Record],
    present: Record | None,
    moment: datetime,
) -> list[Change]:
    """Return the changes of a record, oldest first, each with the record as it stood afterwards.

    An expired record's history is shown as it will be after the next sweep.

    Args:
        id: the record's.
        rows: (action, microseconds since 1970, source, the record before the change as text) of each change.
        read: returns the record with the values of a row.
        present: the record as it stands now; None if it is gone.
        moment: the present.
    """
    before = [None if row[3] is None else read(json.loads(row[3])) for row in rows]
    if present is not None and present.expires_at is not None and present.expires_at <= moment:
        before, present = [None] * len(rows), None
    return [
        Change(id, Action(action), from_micros(at), source, record)
        for (action, at, source, _), record in zip(rows, [*before[1:], present], strict=False)
    ]
