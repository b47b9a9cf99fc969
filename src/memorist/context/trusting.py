"""Marks lines that are not fully trusted with their origin, and keeps them out of the standing content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memorist.context.lines import Line
from memorist.records.attribution import unnamed, words_for
from memorist.records.origins import LEVELS, NOBODY, Author, Trust
from memorist.records.record import Record

_TRUSTED = Author.USER | Author.OPERATOR
_NEEDED: Mapping[str, Trust] = {"standing": "high", "topic": "medium", "pinned": "medium"}
"""The least trust of standing content, by the reason why it is told."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether a line may be told, and how.

    Attributes:
        trust: returns the trust in a record.
        least: the least trust of a record that may be told.
        user: who is told; None for nobody in particular, to whom a shared record is not another user's.
    """

    trust: Callable[[Record], Trust]
    least: Trust = "low"
    user: str | None = None

    def __call__(self, line: Line) -> Line | None:
        """Return the line, marked with its origin if it is not fully trusted, and if some sources were forgotten.

        None for a line that may not be told.
        """
        trust = self.trust(line.record)
        origin, notes = line.record.origin, []
        needed = _NEEDED.get(line.item.why, "low")
        # imported files may report facts, but not give instructions
        if line.standing and Author.IMPORT in origin.authors:
            needed = "high"
        if LEVELS.index(trust) < max(LEVELS.index(self.least), LEVELS.index(needed)):
            return None
        shown = _shown(line, trust)
        if self.user is None:
            shown &= ~Author.PEER
        if shown:
            notes.append(f"from {words_for(shown)}")
        if origin.lost:
            notes.append("in part from what was forgotten")
        return replace(line, shown=f"({', '.join(notes)}) {line.shown}") if notes else line


def _shown(line: Line, trust: Trust) -> Author:
    """Return the authors that a line names: those who are not trusted, and whom its speaker does not name."""
    record, authors = line.record, line.record.origin.authors
    if trust == "low" or (trust == "medium" and line.speaker is None):
        return authors & ~_TRUSTED or authors
    if line.speaker is None:
        return NOBODY
    hidden = unnamed(record.payload, authors, record.scope.user)
    # whom an operator trusts highly may speak under any name but another author's
    return hidden if trust == "medium" else hidden & _TRUSTED
