"""What a text shows beside its words, found once when it is stored and kept with it as a set of marks.

    asks        a message that does nothing but ask
    tells       a message in the first person
    timed       a message that says when something is or was
    day:-1      a message that points at a day, here the one before it was said; up to three such marks
    standing    an instruction or preference that holds from now on: "always …", "never …", "I prefer …"

Only messages have the first four. `standing` is for every kind that recall finds, but for what an assistant says.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from memorist.languages.calendar import DAY
from memorist.languages.phrases import spans
from memorist.records import Kind, Record
from memorist.regex import regex

ASKS, TELLS, TIMED, STANDING = "asks", "tells", "timed", "standing"
_POINTS_AT = "day:"

FIRST_PERSON = regex(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SENTENCE = regex(r"(?<=[.!?])\s+|\n+")
_TIME = regex(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|weeks?|weekend|months?|years?|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|recently|"
    r"morning|since|just)\b"
)
_STANDING = regex(  # for text in lower case: with IGNORECASE, each alternative is tried at each letter
    r"(?:^|[.!?:;,\n]\s*|\b(?:and|but|please|to|should|must|you|also)\s+)(?:always|never)\s+"
    r"(?!been\b|had\b|seen\b)[a-z]"
    r"|\b(?:from now on|going forward|in (?:the )?future (?:answers|replies|responses|messages|conversations)"
    r"|(?:whenever|every time|each time|any time|anytime) (?:i|we|you)"
    r"|i(?:(?:'d|'ll| would| will| do| always| usually| generally| really| strongly| much| still)* prefer"
    r"|(?:'d| would) rather|(?:'m| am) (?:allergic to|vegan|vegetarian)| (?:don't|do not|never) want you to"
    r"| (?:like|love|hate|want|need) (?:it when you|you to (?:always|never)))"
    r"|my (?:\w+ )?preferences? (?:is|are|for)|(?:do not|don't) ever|(?:call|address) me)\b"
)
ASSISTANTS = frozenset({"assistant", "ai", "bot", "agent", "model"})
"""Speakers, in lower case, that are no person: their long answers repeat what was asked."""
_NOT_THE_USER = ASSISTANTS | {"system", "tool", "function"}
_CLAUSE = regex(r"[,;:–—]\s*|\s(?=(?:so|and|but|because|since) (?:i|we|my|our)\b)", re.IGNORECASE)
_STATES = regex(r"(?:(?:so|and|but|because|since|as|well|hmm|hi|hey|also) )*(?:i|we|my|our)\b", re.IGNORECASE)
_ONLY = 0.8
"""The least share of words in questions at which a message only asks."""
_READ = 1000
"""Characters in which days are looked for."""
_LONGEST = 40 * DAY
"""A longer stretch of time says too little of a day."""
_MOST_DAYS = 3


def marks_of(record: Record) -> frozenset[str]:
    """Return the marks of a record."""
    text, marks = record.text, set()
    if is_standing(text) and speaker_of(record) not in _NOT_THE_USER:
        marks.add(STANDING)
    if record.kind is Kind.MESSAGE:
        found = ((ASKS, _only_asks(text)), (TELLS, FIRST_PERSON.search(text)), (TIMED, _TIME.search(text.lower())))
        marks.update(mark for mark, holds in found if holds)
        days = dict.fromkeys(_days(text[:_READ], record.at))
        marks.update(f"{_POINTS_AT}{day}" for day in list(days)[:_MOST_DAYS])
    return frozenset(marks)


def is_standing(text: str) -> bool:
    """Return whether a text holds an instruction or preference that is meant to hold from now on."""
    return bool(_STANDING.search(text.replace("’", "'").lower()))


def days_in(marks: Iterable[str]) -> list[int]:
    """Return the days that the marks point at, counted from the day it was said, so -1 is the one before."""
    return [int(mark[len(_POINTS_AT) :]) for mark in marks if mark.startswith(_POINTS_AT)]


def speaker_of(record: Record) -> str:
    """Return who says a record, in lower case; "" for nobody."""
    return str(record.payload.get("speaker") or record.payload.get("role") or "").lower()


def _only_asks(text: str) -> bool:
    if "?" not in text:
        return False
    questions = [sentence for sentence in _SENTENCE.split(text) if sentence.rstrip().endswith("?")]
    asking = sum(len(clause.split()) for each in questions for clause in _CLAUSE.split(each) if not _states(clause))
    return asking > _ONLY * len(text.split())


def _states(clause: str) -> bool:
    """Return whether a clause states something of the speaker, as in "I'm moving soon, can you help?"."""
    return bool(_STATES.match(clause))


def _days(text: str, at: datetime) -> Iterable[int]:
    """Return the days in the middle of the stretches of time that a text points at."""
    for span in spans(text, at):
        if span.end - span.start < _LONGEST:
            yield int((span.start + span.end) / 2 // DAY - at.timestamp() // DAY)
