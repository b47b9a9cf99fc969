"""The records behind one wall, held in memory: filtered, ordered and searched for words in Python."""

import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memorist.filters import Filter
from memorist.records import Kind, Record
from memorist.scope import Wall
from memorist.stores.base import Cursor, Entries, Entry, Order, Vector
from memorist.times import to_micros

__all__ = ["Row", "View", "Words", "page"]

_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
"""BM25's k1 and b, as SQLite's text index has them."""
_ENTRIES_AT_ONCE = 4000


@dataclass(frozen=True, slots=True)
class Row:
    """A stored record, and what the store keeps with it.

    `number` is that of its first change, `epoch` that of its last one: both count up over the whole store. `terms`
    is None where recall must not find it. `vector` may be kept elsewhere.
    """

    record: Record
    number: int
    epoch: int
    terms: str | None = None
    vector: Vector | None = None
    marks: frozenset[str] = frozenset()

    def alive(self, moment: datetime) -> bool:
        """Whether it is not expired at `moment`."""
        return self.record.expires_at is None or self.record.expires_at > moment

    def entry(self, vector: Vector | None) -> Entry:
        """Return what ranking needs of it."""
        record = self.record
        speaker = record.payload.get("speaker")
        speaker = record.payload.get("role") if speaker is None else speaker
        return Entry(
            self.number, record.id, record.kind, record.scope.agent, record.scope.session,
            None if speaker is None else str(speaker), to_micros(record.at), _micros(record.expires_at),
            _micros(record.superseded_at), record.rating, self.terms or "", vector, self.marks,
        )  # fmt: skip


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


class View:
    """The rows behind `wall`, held in memory; also the numbers of those gone, with the epoch of their removal.

    A view that is made anew begins a generation of its own.
    """

    def __init__(self, wall: Wall, rows: Iterable[Row] = ()) -> None:
        self.wall = wall
        self.generation = uuid.uuid4().hex
        self.epoch = 0
        self.rows: dict[str, Row] = {}
        self.gone: list[tuple[int, int]] = []
        self._ids: dict[int, str] = {}
        self._keys: dict[tuple[Kind, str], str] = {}
        self._words: Words | None = None
        for row in rows:
            self.put(row)

    def copy(self) -> "View":
        """Return a view of its own on the same rows, of the same generation."""
        twin = View(self.wall, self.rows.values())
        twin.generation, twin.epoch, twin.gone = self.generation, self.epoch, list(self.gone)
        return twin

    def put(self, row: Row) -> None:
        """Take in a row, in the place of an older one."""
        record = row.record
        self._forget_key(record.id)
        self.rows[record.id] = row
        self._ids[row.number] = record.id
        if record.key is not None and record.current:
            self._keys[record.kind, record.key] = record.id
        self.epoch = max(self.epoch, row.epoch)
        self._words = None

    def drop(self, number: int, epoch: int) -> None:
        """Take out the row with this number; that it is gone since `epoch` is remembered."""
        self.gone.append((epoch, number))
        self.epoch = max(self.epoch, epoch)
        id = self._ids.pop(number, None)
        if id is not None and self.rows[id].number == number:
            self._forget_key(id)
            del self.rows[id]
        self._words = None

    def _forget_key(self, id: str) -> None:
        old = self.rows.get(id)
        if old is not None and old.record.key is not None:
            handle = old.record.kind, old.record.key
            if self._keys.get(handle) == id:
                del self._keys[handle]

    def holder(self, record: Record) -> Row | None:
        """Return the row that holds the record's key, expired or not, if that is another one's."""
        if record.key is None or not record.current:
            return None
        id = self._keys.get((record.kind, record.key))
        return None if id is None or id == record.id else self.rows[id]

    def numbered(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Return the rows with these numbers; missing ones are left out."""
        return {number: self.rows[self._ids[number]] for number in numbers if number in self._ids}

    def alive(self, moment: datetime) -> list[Row]:
        """Return the rows that are not expired at `moment`."""
        return [row for row in self.rows.values() if row.alive(moment)]

    def passing(self, filter: Filter, moment: datetime) -> list[Row]:
        """Return the rows that pass the filter at `moment`; an expired one never does."""
        rows: Iterable[Row] = self.rows.values()
        if filter.ids is not None:
            rows = [self.rows[id] for id in filter.ids if id in self.rows]
        return [row for row in rows if filter.matches(row.record, moment)]

    def entries(
        self, generation: str | None, epoch: int, latest: int, vectors: Callable[[Sequence[Row]], Mapping[int, Vector]]
    ) -> Entries:
        """Return what `Store.entries` does: `latest` is the store's last epoch, `vectors` reads those of rows."""
        since = epoch if generation == self.generation else 0
        rows = sorted((row for row in self.rows.values() if row.epoch > since), key=lambda row: row.epoch)
        more = len(rows) > _ENTRIES_AT_ONCE
        rows = rows[:_ENTRIES_AT_ONCE]
        reached = rows[-1].epoch if more else latest
        found = [row for row in rows if row.terms is not None]
        read = vectors(found)
        gone = [row.number for row in rows if row.terms is None]
        gone += [number for at, number in self.gone if since < at <= reached]
        return Entries(self.generation, reached, [row.entry(read.get(row.number)) for row in found], gone, more)

    def search_words(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return what `Store.search_words` does."""
        if self._words is None:
            self._words = Words({row.number: row.terms for row in self.rows.values() if row.terms is not None})
        return self._words.search(terms, limit)


class Words:
    """An inverted index of analysed terms, joined by spaces, by number."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        self._lengths: dict[int, int] = {}
        for number, text in texts.items():
            terms = text.split()
            self._lengths[number] = len(terms)
            for term, times in Counter(terms).items():
                self._postings[term][number] = times

    def search(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return the numbers whose texts hold any of the terms, with their BM25 score, best first."""
        count = len(self._lengths)
        mean = sum(self._lengths.values()) / count if count else 1.0
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(terms):
            holders = self._postings.get(term, {})
            weight = max(math.log((count - len(holders) + 0.5) / (len(holders) + 0.5)), 1e-6)
            for number, times in holders.items():
                relative = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * self._lengths[number] / mean
                scores[number] += weight * times * (_SATURATION + 1) / (times + _SATURATION * relative)
        return sorted(scores.items(), key=lambda each: -each[1])[: max(limit, 0)]


def page(records: Iterable[Record], order: Order, limit: int, after: Cursor | None) -> list[Record]:
    """Return the first records in this order that come after the cursor, as `Store.select` does."""

    def place(record: Record) -> tuple[int | str, int, str, str]:
        first: int | str = (record.key or "") if order == "key" else to_micros(record.at)
        return first, to_micros(record.created_at), record.id, record.scope.user or ""

    down = order == "newest"
    placed = [(place(record), record) for record in records if order != "key" or record.key is not None]
    if after is not None:
        end = (*after[:3], after[3] or "")
        placed = [each for each in placed if (each[0] < end if down else each[0] > end)]
    placed.sort(key=lambda each: each[0], reverse=down)
    return [record for _, record in placed[: max(limit, 0)]]
