"""One wall's records as ranking sees them: rows of arrays in memory, following the store's change log."""

import threading
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.filters import Filter
from memorist.recall.vectors import BLOCK_ROWS, VectorTable
from memorist.records import Kind
from memorist.stores.base import Entries, Entry
from memorist.times import to_micros

__all__ = ["Bools", "Floats", "Rows", "WallIndex"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Rows = NDArray[np.intp]

_NEVER = np.iinfo(np.int64).max
_KINDS = {kind: code for code, kind in enumerate(Kind)}
_COLUMNS = np.dtype(
    [
        ("number", "i8"), ("at", "i8"), ("expires_at", "i8"), ("superseded_at", "i8"), ("rating", "f4"),
        ("length", "i4"), ("agent", "i4"), ("session", "i4"), ("speaker", "i4"), ("before", "i4"),
        ("after", "i4"), ("kind", "i1"), ("alive", "?"),
    ]
)  # fmt: skip
_BYTES_A_POSTING = 8
_BYTES_A_TERM = 250


class Codes(dict[str | None, int]):
    """Names to small numbers, in the order they come; None is -1."""

    def of(self, name: str | None) -> int:
        """Return a name's number, a new one if need be."""
        return -1 if name is None else self.setdefault(name, len(self))


class WallIndex:
    """The entries behind one wall.

    A record keeps its row until its words change; then it gets a new one and the old row is dead. The
    postings are dropped when the vectors no longer fit one block: from there on the store searches words.
    Hold `lock` while reading or updating.
    """

    def __init__(self, dimensions: int) -> None:
        self.lock = threading.Lock()
        self.generation: str | None = None
        self.epoch = 0
        self.rows = 0
        self.rated = False
        self.vectors = VectorTable(dimensions)
        self.agents, self.sessions, self.speakers = Codes(), Codes(), Codes()
        self._columns = np.zeros(256, _COLUMNS)
        self._blend = np.full(256, np.nan, np.float32)
        self._row_of: dict[int, int] = {}
        self._terms: list[str] | None = []
        self._postings: dict[str, tuple[array[int], array[int]]] | None = {}
        self._posted = 0
        self._last_in: dict[int, int] = {}
        self._in_order = True
        self._voice: dict[int, int] = {}
        self._dialogues: set[int] = set()

    @property
    def nbytes(self) -> int:
        """About how many bytes this holds."""
        terms = len(self._postings) if self._postings is not None else 0
        words = terms * _BYTES_A_TERM + self._posted * _BYTES_A_POSTING
        return self.vectors.nbytes + self._columns.nbytes + words + 200 * len(self._row_of)

    @property
    def has_postings(self) -> bool:
        """Whether words are searched here rather than in the store."""
        return self._postings is not None

    @property
    def alive(self) -> Bools:
        """Which rows stand for a record."""
        alive: Bools = self._columns["alive"][: self.rows]
        return alive

    def column(self, name: str) -> NDArray[Any]:
        """Return one field of every row, dead ones included."""
        column: NDArray[Any] = self._columns[name][: self.rows]
        return column

    def update(self, changed: Entries) -> None:
        """Take in what changed behind the wall."""
        for entry in changed.entries:
            self._put(entry)
        for number in changed.gone:
            row = self._row_of.pop(number, None)
            if row is not None:
                self._kill(row)
        self.generation, self.epoch = changed.generation, changed.epoch

    @property
    def mostly_dead(self) -> bool:
        """Whether it would be worth reading everything anew."""
        return self.rows > 1024 and len(self._row_of) < self.rows / 2

    def _put(self, entry: Entry) -> None:
        row = self._row_of.get(entry.number)
        if row is not None and self._terms is not None and self._terms[row] != entry.terms:
            self._kill(row)
            row = None
        if row is None:
            row = self._add(entry)
        elif self._columns["at"][row] != entry.at:
            self._in_order = False
        self._columns[row] = (
            entry.number, entry.at, _NEVER if entry.expires_at is None else entry.expires_at,
            _NEVER if entry.superseded_at is None else entry.superseded_at, entry.rating or 0.0,
            entry.terms.count(" ") + 1 if entry.terms else 0, self.agents.of(entry.agent),
            self.sessions.of(entry.session), self.speakers.of(entry.speaker),
            self._columns["before"][row], self._columns["after"][row], _KINDS[entry.kind], True,
        )  # fmt: skip
        self.rated |= bool(entry.rating)
        self.vectors.put(row, entry.vector)
        self._blend[row] = np.nan

    def _add(self, entry: Entry) -> int:
        row = self.rows
        if row == len(self._columns):
            self._columns = np.concatenate([self._columns, np.zeros(len(self._columns), _COLUMNS)])
            self._blend = np.concatenate([self._blend, np.full(len(self._blend), np.nan, np.float32)])
        self.rows += 1
        self._row_of[entry.number] = row
        self._columns[row]["before"] = self._columns[row]["after"] = -1
        self._columns[row]["at"] = entry.at
        self._follow(row, entry)
        if row >= BLOCK_ROWS:
            self._postings = self._terms = None
        if self._postings is not None and self._terms is not None:
            self._terms.append(entry.terms)
            self._post(row, entry.terms.split())
        return row

    def _post(self, row: int, terms: list[str]) -> None:
        assert self._postings is not None
        counts: dict[str, int] = {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        for term, count in counts.items():
            rows, times = self._postings.setdefault(term, (array("i"), array("i")))
            rows.append(row)
            times.append(count)
        self._posted += len(counts)

    def _kill(self, row: int) -> None:
        self._columns[row]["alive"] = False
        self._in_order = False

    def _follow(self, row: int, entry: Entry) -> None:
        """Link a message to the one before it in its conversation, if it is the newest there.

        What one voice says alone is no conversation: there the neighbours tell little of a message.
        """
        if entry.kind is not Kind.MESSAGE or entry.session is None:
            return
        session, voice = self.sessions.of(entry.session), self.speakers.of(entry.speaker)
        if session not in self._dialogues:
            if self._voice.setdefault(session, voice) != voice:
                self._in_order = False
            return
        last = self._last_in.get(session)
        if last is not None:
            if (self._columns["at"][last], self._columns["number"][last]) > (entry.at, entry.number):
                self._in_order = False
                return
            self._columns[row]["before"] = last
            self._columns[last]["after"] = row
            self._blend[last] = np.nan
        self._last_in[session] = row

    def years(self) -> list[int]:
        """Return the years that the records are of."""
        at = self.column("at")[self.alive]
        return (np.unique(at.astype("datetime64[us]").astype("datetime64[Y]").astype(int)) + 1970).tolist()  # type: ignore[no-any-return]

    def neighbours(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return for each row the rows before and after it in its conversation, -1 for none."""
        if not self._in_order:
            self._link_anew()
        return self._columns["before"][: self.rows], self._columns["after"][: self.rows]

    def _link_anew(self) -> None:
        table = self._columns[: self.rows]
        table["before"] = table["after"] = -1
        talk = np.flatnonzero(table["alive"] & (table["session"] >= 0) & (table["kind"] == _KINDS[Kind.MESSAGE]))
        pairs = np.unique(np.stack([table["session"][talk], table["speaker"][talk]]), axis=1)
        sessions, voices = np.unique(pairs[0], return_counts=True)
        self._dialogues = set(sessions[voices > 1].tolist())
        talk = talk[np.isin(table["session"][talk], sessions[voices > 1])]
        talk = talk[np.lexsort((table["number"][talk], table["at"][talk], table["session"][talk]))]
        same = table["session"][talk[1:]] == table["session"][talk[:-1]]
        table["after"][talk[:-1][same]] = talk[1:][same]
        table["before"][talk[1:][same]] = talk[:-1][same]
        ends = np.append(~same, True) if len(talk) else np.zeros(0, bool)
        self._last_in = {int(table["session"][row]): int(row) for row in talk[ends]}
        self._blend[:] = np.nan
        self._in_order = True

    def blend_lengths(self, rows: Rows) -> Floats:
        """Return the length of each row's vector with half of its neighbours' added."""
        before, after = self.neighbours()
        stale = rows[np.isnan(self._blend[rows])]
        for start in range(0, len(stale), 4096):
            some = stale[start : start + 4096]
            mixed = self.vectors.take(some)
            for beside in (before[some], after[some]):
                mixed[beside >= 0] += 0.5 * self.vectors.take(beside[beside >= 0])
            self._blend[some] = np.linalg.norm(mixed, axis=1)
        return self._blend[rows]

    def terms(self, row: int) -> str:
        """Return a row's analysed terms; "" where they are left to the store."""
        return self._terms[row] if self._terms is not None else ""

    def postings(self, term: str) -> tuple[Rows, Floats]:
        """Return the rows that hold a term, dead ones included, and how often each does."""
        found = (self._postings or {}).get(term)
        if found is None:
            return np.zeros(0, np.intp), np.zeros(0, np.float32)
        return np.array(found[0], np.intp), np.array(found[1], np.float32)

    def vocabulary(self) -> Iterable[str]:
        """Return every term that some row holds or held."""
        return self._postings or ()

    def rows_of(self, numbers: Iterable[int]) -> Rows:
        """Return the rows of those numbers that are here."""
        found = (self._row_of.get(int(number)) for number in numbers)
        return np.fromiter((row for row in found if row is not None), np.intp)

    def allowed(self, filter: Filter, now: int) -> Bools:
        """Return which rows pass the parts of a filter that the rows themselves can tell; now in microseconds."""
        table = self._columns[: self.rows]
        mask: Bools = table["alive"] & (table["expires_at"] > now)
        if filter.as_of is not None:
            moment = to_micros(filter.as_of)
            mask &= (table["at"] <= moment) & (table["superseded_at"] > moment)
        elif not filter.superseded:
            mask &= table["superseded_at"] == _NEVER
        if filter.kinds is not None:
            mask &= np.isin(table["kind"], [_KINDS[kind] for kind in filter.kinds])
        if filter.agent is not None:
            mask &= table["agent"] == self.agents.get(filter.agent, -2)
        if filter.session is not None:
            mask &= table["session"] == self.sessions.get(filter.session, -2)
        if filter.since is not None:
            mask &= table["at"] >= to_micros(filter.since)
        if filter.until is not None:
            mask &= table["at"] < to_micros(filter.until)
        return mask
