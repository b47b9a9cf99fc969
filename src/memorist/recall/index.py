"""One wall's records as ranking sees them: rows of arrays in memory, following the store's change log."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memorist.languages import role_of
from memorist.recall.forward import Forward, HeldTerms, Numbers
from memorist.recall.postings import Postings, Run
from memorist.recall.segments import Segment
from memorist.recall.text_features import COLUMNS, days_in, weekdays_in
from memorist.recall.threads import Threads
from memorist.recall.vectors import BLOCK_ROWS, VectorTable
from memorist.records.filters import Filter
from memorist.records.record import Kind
from memorist.records.times import to_micros
from memorist.stores.base import Entries, Entry

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Rows = NDArray[np.intp]
_T = TypeVar("_T")

NEVER = np.iinfo(np.int64).max
"""The time of what does not happen."""
KINDS = {kind: code for code, kind in enumerate(Kind)}
"""The codes of the kinds in a column."""
_COLUMNS: Mapping[str, str] = {
    "number": "i8", "at": "i8", "expires_at": "i8", "superseded_at": "i8", "rating": "f4", "length": "i4",
    "agent": "i4", "session": "i4", "speaker": "i4", "before": "i4", "after": "i4", "kind": "i1", "authors": "i2",
    "alive": "?", "weekly": "u1", **dict.fromkeys(COLUMNS, "?"),
}  # fmt: skip
"""The fields of a row, and their types."""
_AT_ONCE = 1024
"""Vectors that a head reads at once."""
_MICROSECONDS_A_DAY = 86_400_000_000
_BYTES_A_TEXT = 250
_BYTES_A_ROW = 110
"""The bytes of a mapping entry from a record's number to its row."""
_LINKED = ("before", "after", "alive")
"""The fields that a segment does not hold."""
SIGNATURE = " ".join(sorted(_COLUMNS.keys() - _LINKED))
"""Changes with what a segment holds."""


class Codes(dict[str | None, int]):
    """Names to small numbers, in the order they come; None is -1."""

    def of(self, name: str | None) -> int:
        """Return a name's number, a new one if need be."""
        return -1 if name is None else self.setdefault(name, len(self))


class WallIndex:
    """The entries behind one wall.

    A record keeps its row until its words change; then it gets a new one and the old row is dead. The
    postings are dropped when the vectors no longer fit one block: from there on the store searches words.
    The first rows are in the order of their numbers, as most records come; of the others a mapping holds the row.
    Of what came since this was last kept in the store, `unkept` says how much it was, and `changed` holds the numbers
    of the records up to `kept_until`. Hold `lock` while reading or updating. `folder` is as for `VectorTable`.
    """

    def __init__(self, dimensions: int, folder: Path | None = None) -> None:
        self.lock = threading.Lock()
        self.generation: str | None = None
        self.epoch = 0
        self.rows = 0
        self.rated = False
        self.vectors = VectorTable(dimensions, folder)
        self.agents, self.sessions, self.speakers = Codes(), Codes(), Codes()
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(256, form) for name, form in _COLUMNS.items()}
        self.kept_until = self.unkept = 0
        self.changed: set[int] = set()
        self._ordered = 0
        self._row_of: dict[int, int] = {}
        self.living = 0
        """How many records there are."""
        self._terms: list[str] | None = []
        self._postings: Postings | None = Postings()
        self._forward = Forward()
        self._roles: dict[str | None, list[int]] = {}
        self._named = 0
        """Of how many speakers `_roles` holds the codes."""
        self._days_of: dict[int, tuple[int, ...]] = {}
        self._days: tuple[Rows, NDArray[np.int64]] | None = None
        self._years: set[int] | None = None
        self._may_expire = False
        self._derived: dict[str, tuple[object, Any]] = {}
        self._heads: dict[str, Floats] = {}
        """What heads say of each row; not a number where it is not known."""
        self._threads = Threads()

    @classmethod
    def of_some(
        cls, dimensions: int, entries: Sequence[Entry], speakers: Iterable[str], dialogues: Iterable[str]
    ) -> "WallIndex":
        """Return the index of some entries of a wall; it knows only a part of the wall's speakers and conversations."""
        index = cls(dimensions)
        for name in speakers:
            index.speakers.of(name)
        index.update(Entries("", 0, list(entries), []))
        index._threads.told = {index.sessions.of(session) for session in dialogues}
        index._threads.in_order = False
        return index

    @property
    def nbytes(self) -> int:
        """About how many bytes this holds."""
        words = 0
        if self._postings is not None and self._terms is not None:
            words = self._postings.nbytes + _BYTES_A_TEXT * self.rows + self._forward.nbytes
        columns = sum(column.nbytes for column in (*self._columns.values(), *self._heads.values()))
        return self.vectors.nbytes + columns + words + _BYTES_A_ROW * len(self._row_of)

    @property
    def has_postings(self) -> bool:
        """Whether words are searched here rather than in the store."""
        return self._postings is not None

    @property
    def alive(self) -> Bools:
        """Which rows stand for a record."""
        alive: Bools = self._columns["alive"][: self.rows]
        return alive

    async def alone(self, work: Callable[[], _T], *, brief: bool = True) -> _T:
        """Run work while nothing else reads or changes the index, and return its result.

        Brief work runs at once if the index is free; other work, and all waiting for the lock, is done on a thread.
        """
        if brief and self.lock.acquire(blocking=False):
            try:
                return work()
            finally:
                self.lock.release()

        def locked() -> _T:
            with self.lock:
                return work()

        return await asyncio.to_thread(locked)

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of every row, dead ones included."""
        column: NDArray[Any] = self._columns[name][: self.rows]
        return column

    def update(self, changed: Entries) -> None:
        """Take in what changed behind the wall."""
        self._derived.clear()
        numbers = [entry.number for entry in changed.entries]
        known = [(entry, row) for entry, row in zip(changed.entries, self._find(numbers), strict=True) if row >= 0]
        if len(known) < len(numbers):
            here = {entry.number for entry, _ in known}
            self._add([entry for entry in changed.entries if entry.number not in here])
        for entry, row in known:
            self._revise(row, entry)
        for number, row in zip(changed.gone, self._find(changed.gone), strict=True):
            if row >= 0:
                self._row_of.pop(number, None)
                self._kill(row)
        self.unkept += len(numbers) + len(changed.gone)
        self.changed.update(number for number in (*numbers, *changed.gone) if number <= self.kept_until)
        self.generation, self.epoch = changed.generation, changed.epoch

    @property
    def mostly_dead(self) -> bool:
        """Whether it would be worth reading everything anew."""
        return self.rows > 1024 and self.living < self.rows / 2

    def _revise(self, row: int, entry: Entry) -> None:
        """Apply a change to a record that is in the index."""
        if self._terms is not None and self._terms[row] != entry.terms:
            self._kill(row)
            self._add([entry])
            return
        before = self._place_in_talk(row)
        self._fill(slice(row, row + 1), [entry])
        if self._place_in_talk(row) != before:
            self._threads.in_order, self._years = False, None
        self.vectors.put(row, entry.vector)
        for known in self._heads.values():
            known[row : row + 1] = np.nan
        self._threads.change(self._columns, row)

    def _place_in_talk(self, row: int) -> tuple[Any, ...]:
        return tuple(self._columns[name][row] for name in ("at", "kind", "session", "speaker"))

    def _add(self, entries: Sequence[Entry]) -> None:
        """Add new records all at once: by the thousand when a wall is read."""
        if not entries:
            return
        first, self.rows = self.rows, self.rows + len(entries)
        self._grow(first)
        self.living += len(entries)
        self._fill(slice(first, self.rows), entries)
        self._list(first)
        self.vectors.extend([entry.vector for entry in entries])
        if self._terms is not None:
            self._terms += [entry.terms for entry in entries]
        if self.rows > BLOCK_ROWS:
            self._drop_words()
        if self._years is not None:
            self._years |= _years_of(self._columns["at"][first : self.rows])
        for row, entry in enumerate(entries, first):
            if entry.kind is Kind.MESSAGE and entry.session is not None:
                self._threads.follow(self._columns, row)

    def _list(self, first: int) -> None:
        """List the rows from `first` on under their numbers."""
        numbers = self._columns["number"][max(first - 1, 0) : self.rows]
        if self._ordered == first and bool((numbers[1:] > numbers[:-1]).all()):
            self._ordered = self.rows
        else:
            self._row_of.update(zip(self.column("number")[first:].tolist(), range(first, self.rows), strict=True))

    def _find(self, numbers: Sequence[int]) -> list[int]:
        """Return the rows of records by their numbers; -1 for one that is not here."""
        if not self._ordered or not numbers:
            return [self._row_of.get(number, -1) for number in numbers]
        ordered = self._columns["number"][: self._ordered]
        near = np.minimum(np.searchsorted(ordered, numbers), self._ordered - 1)
        rows: list[int] = np.where((ordered[near] == numbers) & self._columns["alive"][near], near, -1).tolist()
        if self._row_of:
            rows = [self._row_of.get(number, row) for number, row in zip(numbers, rows, strict=True)]
        return rows

    def _grow(self, first: int) -> None:
        """Make room for the rows from `first` on, which have no neighbours yet."""
        if self.rows > (held := len(self._columns["number"])):
            for name, column in self._columns.items():
                self._columns[name] = np.zeros(max(2 * held, self.rows), column.dtype)  # takes no memory yet
                self._columns[name][:held] = column
        self._threads.begin(self._columns, first, self.rows)

    def _fill(self, rows: slice, entries: Sequence[Entry]) -> None:
        """Set all fields of some rows but their neighbours."""
        number, _, kind, agent, session, speaker, at, expires_at, superseded_at, rating, terms, _, _, authors = zip(
            *entries, strict=True
        )
        columns = self._columns
        columns["number"][rows] = number
        columns["at"][rows] = at
        columns["expires_at"][rows] = [NEVER if each is None else each for each in expires_at]
        columns["superseded_at"][rows] = [NEVER if each is None else each for each in superseded_at]
        columns["rating"][rows] = [each or 0.0 for each in rating]
        columns["length"][rows] = [each.count(" ") + 1 if each else 0 for each in terms]
        columns["agent"][rows] = [self.agents.of(each) for each in agent]
        columns["session"][rows] = [self.sessions.of(each) for each in session]
        columns["speaker"][rows] = [self.speakers.of(each) for each in speaker]
        columns["kind"][rows] = [KINDS[each] for each in kind]
        columns["authors"][rows] = authors
        columns["alive"][rows] = True
        for name in COLUMNS:
            self._columns[name][rows] = [name in entry.marks for entry in entries]
        columns["weekly"][rows] = [weekdays_in(entry.marks) for entry in entries]
        for row, entry in enumerate(entries, rows.start):
            days = days_in(entry.marks)
            if days or row in self._days_of:
                said = entry.at // _MICROSECONDS_A_DAY
                self._days_of[row], self._days = tuple(said + day for day in days), None
        self.rated |= any(rating)
        self._may_expire |= any(each is not None for each in expires_at)

    def days(self) -> tuple[Rows, NDArray[np.int64]]:
        """Return the days since 1970 that texts point at, with their rows: dead ones too, and some several times."""
        if self._days is None:
            pairs = [(row, day) for row, days in self._days_of.items() for day in days]
            table = np.array(pairs, np.int64).reshape(-1, 2)
            self._days = table[:, 0].astype(np.intp), table[:, 1]
        return self._days

    @property
    def unposted(self) -> Sequence[str]:
        """The analysed texts that the next question by words adds to the postings."""
        return () if self._postings is None or self._terms is None else self._terms[self._postings.rows :]

    def posted(self) -> Postings:
        """Return the postings of all rows, dead ones included; those that came since the last call are added first."""
        if self._postings is None or self._terms is None:
            return Postings()
        if self._postings.rows < len(self._terms):
            self._postings.extend(self._terms[self._postings.rows :])
        return self._postings

    def _kill(self, row: int) -> None:
        self._columns["alive"][row] = False
        self.living -= 1
        self._threads.in_order, self._years = False, None

    @property
    def years(self) -> list[int]:
        """The years that the records are of."""
        if self._years is None:
            self._years = _years_of(self.column("at")[self.alive])
        return sorted(self._years)

    def spoken_by(self, speakers: Iterable[int], rows: Rows) -> Bools:
        """Return which of some rows the speakers of some codes say; -1 stands for nobody."""
        said = np.zeros(len(self.speakers) + 1, bool)  # the last is what -1 points at
        said[list(speakers)] = True
        spoken: Bools = said[self.column("speaker")[rows]]
        return spoken

    def in_role(self, role: str | None) -> list[int]:
        """Return the codes of the speakers whose names are a role's; None for people."""
        if self._named != len(self.speakers):
            self._roles, self._named = {}, len(self.speakers)
        if role not in self._roles:
            self._roles[role] = [code for name, code in self.speakers.items() if role_of(str(name)) == role]
        return self._roles[role]

    def neighbours(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return for each row the rows before and after it in its conversation, -1 for none."""
        if not self._threads.in_order:
            self._threads.link({name: self.column(name) for name in _COLUMNS}, self.rows, KINDS[Kind.MESSAGE])
        return self._columns["before"][: self.rows], self._columns["after"][: self.rows]

    def blend_lengths(self, rows: Rows) -> Floats:
        """Return the length of each row's vector with half of its neighbours' added."""
        self.neighbours()
        return self._threads.blend_lengths(self._columns, rows, self.vectors)

    def terms(self, row: int) -> str:
        """Return a row's analysed terms; "" where they are left to the store."""
        terms = self._terms  # another thread may drop the postings meanwhile
        return "" if terms is None else terms[row]

    def held_terms(self, rows: Rows) -> HeldTerms:
        """Return the analysed terms of some rows as numbers; none where they are left to the store."""
        return self._forward.held(rows, self.terms)

    def numbers_of(self, terms: Iterable[str]) -> Numbers:
        """Return the numbers that `held_terms` gives to those of some terms that it has met."""
        return self._forward.numbers_of(terms)

    def holders(self, numbers: Numbers) -> Numbers:
        """Return how many rows hold each of some terms, by their numbers; dead ones count."""
        return self._forward.holders(numbers, self.posted(), self.terms)

    def begin_with_digits(self, numbers: Numbers) -> Bools:
        """Return which of some terms, by their numbers, begin with a digit."""
        return self._forward.begin_with_digits(numbers)

    def derived(self, name: str, of: object, make: Callable[[], _T]) -> _T:
        """Return what `make` computes from the rows and from `of`; until a row changes, it is computed once."""
        known = self._derived.get(name)
        if known is None or known[0] is not of:
            known = self._derived[name] = of, make()
        value: _T = known[1]
        return value

    def likely(self, head: str, of: Callable[[str, Floats], Floats], rows: Rows) -> Floats:
        """Return how likely a head says yes of some rows; `of` computes it from vectors, once for each row."""
        known = self._heads.setdefault(head, np.full(0, np.nan, np.float32))
        if len(known) < self.rows:
            known = np.concatenate([known, np.full(self.rows - len(known), np.nan, np.float32)])
            self._heads[head] = known
        unread = rows[np.isnan(known[rows])]
        for start in range(0, len(unread), _AT_ONCE):
            some = unread[start : start + _AT_ONCE]
            vectors = self.vectors.take(some)
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
            known[some] = of(head, vectors)
        read: Floats = known[rows]
        return read

    def rows_of(self, numbers: Iterable[int]) -> Rows:
        """Return the rows of those numbers that are here."""
        rows = self.places_of(list(numbers))
        return rows[rows >= 0]

    def places_of(self, numbers: Sequence[int]) -> Rows:
        """Return the row of each of some numbers; -1 for one that is not here."""
        return np.array(self._find(numbers), np.intp)

    def allowed(self, filter: Filter, now: int) -> Bools:
        """Return which rows pass the parts of a filter that depend only on the rows; `now` is in microseconds."""
        column = self.column
        mask: Bools = self.alive.copy()
        if self._may_expire:
            mask &= column("expires_at") > now
        if filter.as_of is not None:
            moment = to_micros(filter.as_of)
            mask &= (column("at") <= moment) & (column("superseded_at") > moment)
        elif not filter.superseded:
            mask &= column("superseded_at") == NEVER
        if filter.kinds is not None:
            mask &= np.isin(column("kind"), [KINDS[kind] for kind in filter.kinds])
        if filter.without:
            mask &= column("authors") & filter.without.value == 0
        if filter.agent is not None:
            mask &= column("agent") == self.agents.get(filter.agent, -2)
        if filter.session is not None:
            mask &= column("session") == self.sessions.get(filter.session, -2)
        if filter.since is not None:
            mask &= column("at") >= to_micros(filter.since)
        if filter.until is not None:
            mask &= column("at") < to_micros(filter.until)
        return mask

    def in_order(self) -> Rows:
        """Return the rows that stand for a record, in the order of their numbers."""
        rows = np.flatnonzero(self.alive)
        return rows if self._ordered == self.rows else rows[np.argsort(self.column("number")[rows])]

    def segment(self, rows: Rows) -> Segment:
        """Return a copy of some rows, which are in the order of their numbers."""
        columns = {name: self.column(name)[rows] for name in _COLUMNS if name not in _LINKED}
        names = {}
        for column, codes in self._codes().items():
            used, columns[column] = np.unique(columns[column], return_inverse=True)
            known = list(codes)
            names[column] = [known[code] for code in used.tolist() if code >= 0]
            columns[column] = (columns[column] - (len(used) - len(names[column]))).astype(np.int32)
        pairs = [(offset, day) for offset, row in enumerate(rows.tolist()) for day in self._days_of.get(row, ())]
        days = np.array(pairs, np.int64).reshape(-1, 2).T
        texts = None if self._terms is None else [self._terms[row] for row in rows.tolist()]
        run = None if texts is None else Run.of(texts)
        return Segment(columns, names, days, *self.vectors.held(rows), texts, run)

    def restore(self, segment: Segment) -> None:
        """Add the rows of a segment, as if their entries had come."""
        self._derived.clear()
        first, self.rows = self.rows, self.rows + segment.rows
        self._grow(first)
        self.living += segment.rows
        rows = slice(first, self.rows)
        for name, column in segment.columns.items():
            self._columns[name][rows] = column
        for name, codes in self._codes().items():
            known = np.array([codes.of(each) for each in segment.names[name]] + [-1], np.int32)
            self._columns[name][rows] = known[segment.columns[name]]
        self._columns["alive"][rows] = True
        self._list(first)
        self.vectors.extend_held(segment.vectors, segment.scales, segment.residual)
        for row, day in segment.days.T.tolist():
            self._days_of[first + row] = (*self._days_of.get(first + row, ()), day)
        self.rated |= bool(segment.columns["rating"].any())
        self._may_expire |= bool((segment.columns["expires_at"] != NEVER).any())
        self._threads.in_order, self._years, self._days = False, None, None
        if self._terms is None or self._postings is None or segment.texts is None or segment.run is None:
            self._drop_words()
            return
        self.posted()
        self._terms += segment.texts
        self._postings.append(segment.run, segment.rows)
        if self.rows > BLOCK_ROWS:
            self._drop_words()

    def _drop_words(self) -> None:
        self._postings = self._terms = None
        self._forward = Forward()

    def _codes(self) -> Mapping[str, Codes]:
        return {"agent": self.agents, "session": self.sessions, "speaker": self.speakers}


def _years_of(at: NDArray[np.int64]) -> set[int]:
    if not len(at):
        return set()
    ends = np.array([at.min(), at.max()]).astype("datetime64[us]").astype("datetime64[Y]")
    years = np.arange(ends[0], ends[1] + np.timedelta64(1, "Y"))
    held = np.bincount(np.searchsorted(years[1:].astype("datetime64[us]").astype(np.int64), at, side="right"))
    found: list[int] = (years[np.flatnonzero(held)].astype(int) + 1970).tolist()
    return set(found)
