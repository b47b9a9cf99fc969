"""Marks lines that are not fully trusted with their origin, and keeps them from what always holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memorist.context.lines import Line
from memorist.origins import LEVELS, Author, Trust
from memorist.records import Record

_SHOWN = {Author.IMPORT: "an import", Author.WEB: "a web page", Author.PEER: "another user", Author.AGENT: "an agent"}
_TRUSTED = Author.USER | Author.OPERATOR
_NEEDED: Mapping[str, Trust] = {"standing": "high", "topic": "medium", "pinned": "medium"}
"""The least trust of what always holds, by why it is told."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides whether a line may be told, and how.

    Attributes:
        trust: returns the trust in a record.
        least: the least that a record told may have.
    """

    trust: Callable[[Record], Trust]
    least: Trust = "low"

    def __call__(self, line: Line) -> Line | None:
        """Return the line, marked with its origin if it is not fully trusted, and if some sources were forgotten.

        None for a line that may not be told.
        """
        trust = self.trust(line.record)
        origin, notes = line.record.origin, []
        needed = _NEEDED.get(line.item.why, "low")
        if line.standing and Author.IMPORT in origin.authors:  # a file says what was so, not what is to be done
            needed = "high"
        if LEVELS.index(trust) < max(LEVELS.index(self.least), LEVELS.index(needed)):
            return None
        if trust == "low" or (trust == "medium" and line.speaker is None):  # else the speaker says enough
            authors = origin.authors & ~_TRUSTED or origin.authors
            notes.append(f"from {' and '.join(_SHOWN.get(each, f'the {str(each.name).lower()}') for each in authors)}")
        if origin.lost:
            notes.append("in part from what was forgotten")
        return replace(line, shown=f"({', '.join(notes)}) {line.shown}") if notes else line
