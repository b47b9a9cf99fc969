"""The forward index beside the postings: which terms a row holds, as numbers, in their order."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorist.recall.postings import Postings

_FEW = 256
"""The most new rows that the counts of holders are brought up to date by; after more, they are counted anew."""
_BYTES_A_TERM = 200
_UNKNOWN = -1

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class HeldTerms:
    """The terms of some rows, one row after the other.

    Attributes:
        numbers: the number of each term.
        places: the position, among these rows, of the row that holds it.
        lengths: how many terms each row has.
        distinct: how many different ones.
        known: how many terms have a number.
    """

    numbers: Numbers
    places: NDArray[np.intp]
    lengths: Numbers
    distinct: Numbers
    known: int

    def first(self, most: int) -> "HeldTerms":
        """Return the same with at most so many terms of each row; `lengths` and `distinct` stay those of all."""
        if not len(self.lengths) or self.lengths.max() <= most:
            return self
        starts = np.cumsum(self.lengths) - self.lengths
        kept = np.arange(len(self.numbers)) - starts[self.places] < most
        return HeldTerms(self.numbers[kept], self.places[kept], self.lengths, self.distinct, self.known)

    def of(self, terms: Numbers) -> Numbers:
        """Return how many of some different terms each row holds."""
        columns = np.full(self.known, _UNKNOWN, np.int32)
        columns[terms] = np.arange(len(terms))
        column = columns[self.numbers]
        held = column >= 0
        table = np.zeros((len(self.lengths), len(terms)), bool)
        table[self.places[held], column[held]] = True
        count: Numbers = table.sum(axis=1, dtype=np.int32)
        return count

    def columns(self) -> tuple[Numbers, NDArray[np.intp]]:
        """Return the different terms in the order in which they first come, and for each of `numbers` its place."""
        positions = np.arange(len(self.numbers))
        first_at = np.zeros(self.known, np.intp)
        first_at[self.numbers[::-1]] = positions[::-1]  # of several, the last assignment stays
        first = first_at[self.numbers]
        is_first = first == positions
        place = np.cumsum(is_first) - 1
        return self.numbers[is_first], place[first]


class Forward:
    """The terms of each row of a wall; a row is read when it is first asked for.

    A row's terms never change: a record whose words change gets another row.
    """

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}
        self._terms: list[str] = []
        self._digits = bytearray()
        """Which terms begin with a digit."""
        self._starts = np.zeros(0, np.int32)
        """Where a row's terms begin in `_numbers`; -1 for a row that was not read."""
        self._lengths = np.zeros(0, np.int32)
        self._distinct = np.zeros(0, np.int32)
        self._numbers = np.zeros(1024, np.int32)
        self._end = 0
        self._holders = np.zeros(0, np.int32)
        """How many rows hold a term, as the postings of `_counted` rows say; -1 where that is not known."""
        self._counted = 0

    @property
    def nbytes(self) -> int:
        """About how many bytes this holds."""
        arrays = (self._starts, self._lengths, self._distinct, self._numbers, self._holders)
        return sum(each.nbytes for each in arrays) + _BYTES_A_TERM * len(self._terms)

    def held(self, rows: NDArray[np.intp], text_of: Callable[[int], str]) -> HeldTerms:
        """Return the terms of some rows; `text_of` returns the analysed text of one that was not read before."""
        if len(rows) and (last := int(rows.max())) >= len(self._starts):
            self._grow(max(2 * len(self._starts), last + 1))
        for row in rows[self._starts[rows] < 0].tolist():
            self._read(row, text_of(row).split())
        starts, lengths = self._starts[rows], self._lengths[rows]
        places = np.repeat(np.arange(len(rows)), lengths)
        offsets = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        numbers = self._numbers[starts[places] + offsets]
        return HeldTerms(numbers, places, lengths, self._distinct[rows], len(self._terms))

    def numbers_of(self, terms: Iterable[str]) -> Numbers:
        """Return the numbers of the terms that a row which was read holds."""
        known = self._number_of
        return np.array([known[term] for term in terms if term in known], np.int32)

    def begin_with_digits(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return which of some terms begin with a digit."""
        digits: NDArray[np.bool_] = np.frombuffer(self._digits, bool)[numbers]
        return digits

    def holders(self, numbers: Numbers, posted: Postings, text_of: Callable[[int], str]) -> Numbers:
        """Return how many rows hold each of some terms, as `Postings.holders` does."""
        self._count(posted.rows, text_of)
        counts = self._holders[numbers]
        unknown = np.flatnonzero(counts < 0)
        if len(unknown):
            counts[unknown] = [posted.holders(self._terms[number]) for number in numbers[unknown].tolist()]
            self._holders[numbers] = counts
        return counts

    def _count(self, rows: int, text_of: Callable[[int], str]) -> None:
        """Bring the counts of holders up to date with postings of so many rows."""
        if len(self._holders) < len(self._terms):
            grown = np.full(max(2 * len(self._holders), len(self._terms)), _UNKNOWN, np.int32)
            grown[: len(self._holders)] = self._holders
            self._holders = grown
        if rows - self._counted > _FEW:
            self._holders[:] = _UNKNOWN
        else:
            for row in range(self._counted, rows):
                held = self.numbers_of(set(text_of(row).split()))
                self._holders[held] += self._holders[held] >= 0
        self._counted = rows

    def _read(self, row: int, terms: Collection[str]) -> None:
        known, start = self._number_of, self._end
        self._end += len(terms)
        if self._end > len(self._numbers):
            grown = np.zeros(max(2 * len(self._numbers), self._end), np.int32)
            grown[:start] = self._numbers[:start]
            self._numbers = grown
        before = len(known)
        self._numbers[start : self._end] = [known.setdefault(term, len(known)) for term in terms]
        new = [term for term in dict.fromkeys(terms) if known[term] >= before]
        self._terms += new
        self._digits += bytes(term[0].isdigit() for term in new)
        self._starts[row], self._lengths[row], self._distinct[row] = start, len(terms), len(set(terms))

    def _grow(self, rows: int) -> None:
        held = len(self._starts)
        for name in ("_starts", "_lengths", "_distinct"):
            grown = np.full(rows, _UNKNOWN, np.int32)
            grown[:held] = getattr(self, name)
            setattr(self, name, grown)
