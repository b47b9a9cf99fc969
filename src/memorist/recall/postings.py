"""Which rows hold a term, and how often."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.recall.forms import Vocabulary

_RUN = 256
"""The least number of rows added together that become a run; fewer rows are added one by one."""
_BYTES_A_TERM = 250
_BYTES_A_POSTING = 8


@dataclass(frozen=True, slots=True)
class Run:
    """The postings of consecutive rows, counted from the first of them.

    Term number n is in the rows ``rows[starts[n]:starts[n + 1]]``, as often as `counts` says there.
    """

    numbers: Mapping[str, int]
    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Run":
        """Return the postings of texts of analysed terms, one a row."""
        found = [text.split() for text in texts]
        numbers: dict[str, int] = {}
        terms = [numbers.setdefault(term, len(numbers)) for each in found for term in each]
        rows = np.repeat(np.arange(len(found)), [len(each) for each in found])
        keys, counts = np.unique(np.array(terms, np.int64) * len(found) + rows, return_counts=True)
        of_term, rows = np.divmod(keys, max(len(found), 1))
        starts = np.searchsorted(of_term, np.arange(len(numbers) + 1)).astype(np.int32)
        return cls(numbers, starts, rows.astype(np.int32), counts.astype(np.int32))

    def find(self, term: str) -> slice:
        """Return where in `rows` and `counts` a term is."""
        number = self.numbers.get(term)
        return slice(0, 0) if number is None else slice(self.starts.item(number), self.starts.item(number + 1))


class Postings:
    """The postings of all rows of a wall, in the order in which the rows came: runs of many rows, and single rows."""

    def __init__(self) -> None:
        self.rows = 0
        self._runs: list[tuple[int, Run]] = []
        self._few: dict[str, tuple[array[int], array[int]]] = {}
        self._terms = self._held = 0
        self.vocabulary = Vocabulary()

    @property
    def nbytes(self) -> int:
        """About how many bytes this holds."""
        return (self._terms + len(self._few)) * _BYTES_A_TERM + self._held * _BYTES_A_POSTING

    def extend(self, texts: Sequence[str]) -> None:
        """Add the rows after the last, each a text of analysed terms."""
        if len(texts) >= _RUN:
            self.append(Run.of(texts), len(texts))
            return
        for row, text in enumerate(texts, self.rows):
            counts = Counter(text.split())
            for term, count in counts.items():
                rows, times = self._few.setdefault(term, (array("i"), array("i")))
                rows.append(row)
                times.append(count)
            self._held += len(counts)
            self.vocabulary.add(counts)
        self.rows += len(texts)

    def append(self, run: Run, rows: int) -> None:
        """Add so many rows after the last, whose postings are known."""
        self._runs.append((self.rows, run))
        self.rows += rows
        self._terms += len(run.numbers)
        self.vocabulary.add(run.numbers)
        self._held += len(run.rows)

    def of(self, term: str) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the rows that hold a term, and how often each does."""
        rows: list[NDArray[Any]] = []
        counts: list[NDArray[Any]] = []
        for first, run in self._runs:
            here = run.find(term)
            rows.append(run.rows[here] + first)
            counts.append(run.counts[here])
        few = self._few.get(term, ((), ()))
        rows.append(np.array(few[0], np.intp))
        counts.append(np.array(few[1], np.float32))
        return np.concatenate(rows).astype(np.intp), np.concatenate(counts).astype(np.float32)

    def among(self, terms: Set[str]) -> set[str]:
        """Return which of some terms rows hold."""
        held = terms & self._few.keys()
        for _, run in self._runs:
            held |= terms & run.numbers.keys()
        return held

    def holders(self, term: str) -> int:
        """Return how many rows hold a term."""
        count = len(self._few[term][0]) if term in self._few else 0
        for _, run in self._runs:
            if term in run.numbers:
                here = run.find(term)
                count += here.stop - here.start
        return count
