"""What a message's text shows beside its words: whether it only asks, tells of its speaker, and of which days.

The marks are kept with the analysed terms, after them. Each begins with a character that no term holds, so no
question's word is ever taken for one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memorist.recall.temporal import DAY, spans

__all__ = ["FIRST_PERSON", "NO_MARKS", "Marks", "marks_of", "read_marks"]

FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|weeks?|weekend|months?|years?|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|recently|"
    r"morning|since|just)\b",
    re.IGNORECASE,
)
_ONLY = 0.8
"""The share of the words in questions from which on a message only asks."""
_READ = 1000
"""Characters in which days are looked for."""
_LONGEST = 40 * DAY
"""A longer stretch of time says too little of a day."""
_MOST_DAYS = 3
_ASKS, _TELLS, _TIMED, _DAY = "?", "!", "~", "@"


@dataclass(frozen=True, slots=True)
class Marks:
    """What is known of a message.

    `asks`: it holds nothing but questions. `tells`: it speaks in the first person. `timed`: it says when something
    is or was. `days`: the days it points at, counted from the day it was said, so -1 is the one before.
    """

    asks: bool = False
    tells: bool = False
    timed: bool = False
    days: tuple[int, ...] = ()

    def __str__(self) -> str:
        held = [mark for mark, is_set in ((_ASKS, self.asks), (_TELLS, self.tells), (_TIMED, self.timed)) if is_set]
        return " ".join([*held, *(f"{_DAY}{day}" for day in self.days)])


NO_MARKS = Marks()


def marks_of(text: str, at: datetime) -> Marks:
    """Return the marks of a message said at a time."""
    return Marks(
        asks=_only_asks(text),
        tells=bool(FIRST_PERSON.search(text)),
        timed=bool(_TIME.search(text)),
        days=tuple(dict.fromkeys(_days(text[:_READ], at)))[:_MOST_DAYS],
    )


def read_marks(terms: str) -> Marks:
    """Return the marks behind analysed terms, none where there are none."""
    held = []
    for term in reversed(terms.rsplit(" ", 3 + _MOST_DAYS)):
        if term[:1] not in (_ASKS, _TELLS, _TIMED, _DAY):
            break
        held.append(term)
    if not held:
        return NO_MARKS
    days = tuple(int(term[1:]) for term in reversed(held) if term[0] == _DAY)
    return Marks(_ASKS in held, _TELLS in held, _TIMED in held, days)


def _only_asks(text: str) -> bool:
    if "?" not in text:
        return False
    sentences = _SENTENCE.split(text)
    asking = sum(len(sentence.split()) for sentence in sentences if sentence.rstrip().endswith("?"))
    return asking > _ONLY * len(text.split())


def _days(text: str, at: datetime) -> Iterable[int]:
    """Return the days in the middle of the stretches of time that a text points at."""
    for span in spans(text, at):
        if span.end - span.start < _LONGEST:
            yield int((span.start + span.end) / 2 // DAY - at.timestamp() // DAY)
