"""Chooses the lines that fit into a budget, best first."""

import re
from collections.abc import Callable, Iterable, Set
from datetime import datetime

from memorist.context.budget import Budget
from memorist.context.lines import LINE, OVERHEAD, Line, header_of
from memorist.records.content import folded
from memorist.records.record import Record

_WORD = re.compile(r"[^\W_]+")
_SAME = 0.9
"""The least share of a line's words that another line must hold to say the same."""
_TOKENS_A_WORD = 2
"""Tokens of a word and its share of the day and the speaker."""


class Chosen:
    """Lines that fit into a budget together.

    Args:
        budget: of the whole text, its frame included.
        now: as in `header_of`.
        known: ids and texts of records that are told only if they are asked for.
        judge: returns a line as it may be told, or None.
    """

    def __init__(
        self,
        budget: Budget,
        now: datetime | None = None,
        known: Iterable[str] = (),
        judge: Callable[[Line], Line | None] = lambda line: line,
    ) -> None:
        self.lines: list[Line] = []
        self._judge = judge
        self._budget, self._now = budget, now
        self._used = self._count(OVERHEAD)
        self._days: set[object] = set()
        self._speakers: set[object] = set()
        self._said: list[frozenset[str]] = []
        self._records: set[str] = set()
        self._known = {form for each in known for form in (each, folded(each))}

    def knows(self, record: Record) -> bool:
        """Return whether a record was known before."""
        return bool(self._known) and (record.id in self._known or folded(record.content) in self._known)

    def add(self, line: Line, *, share: float = 1.0) -> bool | None:
        """Add a line if it fits into a share of the budget with those before.

        Returns:
            Whether it fits; None for a line that says nothing new, or may not be told.
        """
        judged = self._judge(line)
        if judged is None:
            return None
        line = judged
        said = frozenset(_WORD.findall(line.shown.casefold()))
        known = self.knows(line.record) and line.item.why not in ("topic", "pinned")
        if known or line.record.id in self._records or any(_nearly_the_same(said, other) for other in self._said):
            return None
        takes = self._count(self._cost(line))
        if self._used + takes > self._budget.tokens * share:
            return False
        self._used += takes
        self.lines.append(line)
        self._said.append(said)
        self._records.add(line.record.id)
        if not line.standing:
            self._days.add(line.record.at.date())
            self._speakers.add((line.record.scope.session, line.speaker))
        return True

    def fill(self, candidates: Iterable[Callable[[int], Line]]) -> None:
        """Add candidates, best first, up to the first that does not fit; of that one, what fits.

        None behind it is added: with a larger budget it would lose its place again.

        Args:
            candidates: called with the most words to show.
        """
        for candidate in candidates:
            if self.add(candidate(self._budget.tokens)) is False:
                self.add(candidate(int((self._budget.tokens - self._used) / _TOKENS_A_WORD)))
                return

    def _cost(self, line: Line) -> str:
        """Return the text that a line adds, or a longer text as an upper bound."""
        if line.standing:
            return f"{LINE}- {line.shown}"
        at = line.record.at
        header = "" if at.date() in self._days else header_of(at, self._now)
        if line.speaker is None:
            return f"{LINE}{header}- {line.shown}"
        known = (line.record.scope.session, line.speaker) in self._speakers
        return f"{LINE}{header}{line.shown}" if known else f"{LINE}{header}{line.speaker}: {line.shown}"

    def _count(self, text: str) -> float:
        return len(text) / 4 if self._budget.counter is None else self._budget.count(text)


def _nearly_the_same(said: Set[str], other: Set[str]) -> bool:
    """Return whether two lines hold nearly the same words; lines of too different lengths cannot."""
    fewer, more = sorted((len(said), len(other)))
    return fewer >= _SAME * more and len(said & other) >= _SAME * more
