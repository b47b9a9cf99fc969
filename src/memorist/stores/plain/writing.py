"""The rules of a write: what must be there, what has to make way, and which number and epoch a row gets."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from memorist.records import Action, Change, Record
from memorist.stores.base import Put, Remove, Write
from memorist.stores.plain.views import Row, View
from memorist.stores.rules import Stored, check_put
from memorist.times import now, to_micros

__all__ = ["Writer"]


class Writer(ABC):
    """Some writes, each seeing what the ones before it do.

    They are done to the views themselves, which should be copies therefore. Who keeps them elsewhere overrides
    `row`, `holder`, `stored` and `removed` as well.

    Args:
        epoch: the last one given so far; every change takes the next.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self._now = now()

    @abstractmethod
    def noted(self, view: View, row: Row, old: Row | None, change: Change) -> None:
        """Add a change of `row` to the history; `old` is the row before it.

        Where the record is gone with it (the change's is None), no text of it may stay in the earlier ones.
        """

    def stored(self, view: View, row: Row, write: Put) -> None:
        """Take in a row that was put."""
        view.put(row)

    def removed(self, view: View, row: Row) -> None:
        """Take a row out."""
        view.drop(row.number, self.epoch)

    def row(self, view: View, id: str) -> Row | None:
        """Return the row with this id, expired or not, as the writes so far leave it."""
        return view.rows.get(id)

    def holder(self, view: View, record: Record) -> Row | None:
        """Return another row that holds the record's key, expired or not, as the writes so far leave it."""
        return view.holder(record)

    def write(self, view: View, writes: Sequence[Write]) -> list[bool]:
        """Carry out writes in order; return for each whether it changed anything.

        Raises:
            ConflictError: an id, a key or a version is not as a `Put` expects it. What was taken in is to be dropped.
        """
        return [self._put(view, each) if isinstance(each, Put) else self._remove(view, each) for each in writes]

    def expire(self, view: View, id: str, at: datetime) -> bool:
        """Take out a record whose time is over by `at`; tell whether it was."""
        row = self.row(view, id)
        if row is None or row.alive(at):
            return False
        self._take_out(view, row, Remove(id, Action.EXPIRED, at))
        return True

    def _put(self, view: View, write: Put) -> bool:
        record = write.record
        old, holder = self.row(view, record.id), self.holder(view, record)
        _, expired = check_put(write, _stored(old), _stored(holder), self._now)
        for each in expired:  # expired, it holds neither id nor key
            self.expire(view, each.id, self._now)
        old = self.row(view, record.id)
        self.epoch += 1
        index = old if write.keep_index and old is not None else write
        number = self.epoch if old is None else old.number
        row = Row(record, number, self.epoch, index.terms, index.vector, index.marks)
        self.stored(view, row, write)
        source = write.source or record.source
        self.noted(view, row, old, Change(record.id, write.action, record.updated_at, source, record))
        return True

    def _remove(self, view: View, write: Remove) -> bool:
        row = self.row(view, write.id)
        if row is None or self.expire(view, write.id, self._now):
            return False
        self._take_out(view, row, write)
        return True

    def _take_out(self, view: View, row: Row, write: Remove) -> None:
        self.epoch += 1
        self.removed(view, row)
        self.noted(view, row, None, Change(write.id, write.action, write.at, write.source, None))


def _stored(row: Row | None) -> Stored | None:
    if row is None:
        return None
    record, expires_at = row.record, row.record.expires_at
    over = None if expires_at is None else to_micros(expires_at)
    return Stored(row.number, record.id, record.version, over, record.scope.agent, record.scope.session)
