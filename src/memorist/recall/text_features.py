"""Marks: features of a text beside its words, found when the text is stored and kept with it.

    asks        a message that does nothing but ask
    tells       a message in the first person
    timed       a message that says when something is or was
    corrects    a message that corrects what was said before: "actually, …", "I meant …"
    day:-1      a text that points at a day, here the one before that in UTC on which it was said; up to six such marks
    weekly:1    a text that tells of what recurs on a day of the week, here on Tuesdays; up to seven such marks
    foreign     a text in another language than English, which another of the bundled models embeds
    standing    an instruction or preference that holds from now on: "always …", "never …", "I prefer …"
    a_move      a change of the speaker's life that it tells, likewise `a_new_job` and the others of `LIFE`

Only messages have the first four. The others are for every kind that recall finds, `standing` and changes but for what
an assistant says.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

from memorist.languages import Phrases, is_english, plain, role_of, tables_of
from memorist.languages.calendar import DAY, bits_of
from memorist.languages.phrases import phrases, recurring_in
from memorist.languages.sentences import asks, length_of, sentences_of
from memorist.languages.table import LIFE_CHANGES
from memorist.recall.life_events import events_in
from memorist.records.record import Kind, Record
from memorist.records.zones import read_in
from memorist.system.regex import regex

ASKS, TELLS, TIMED, CORRECTS, STANDING, FOREIGN = "asks", "tells", "timed", "corrects", "standing", "foreign"
LIFE = {name: name.replace(" ", "_") for name in LIFE_CHANGES}
"""The mark of each life event."""
COLUMNS = (ASKS, TELLS, TIMED, CORRECTS, STANDING, FOREIGN, *LIFE.values())
"""The marks that are a field of a row in an index."""
_POINTS_AT = "day:"
_RECURS = [f"weekly:{weekday}" for weekday in range(7)]

_CLAUSE = regex(r"[,;:–—]\s*|[、，；：،؛]\s*")
_ONLY = 0.8
"""The least share of words in questions at which a message only asks."""
_READ = 1000
"""Characters in which days and weekdays are looked for."""
_LONGEST = 40 * DAY
"""The longest stretch of time, in days, that counts as pointing at a day."""
_MOST_DAYS = 6


def marks_of(record: Record, zone: tzinfo = UTC) -> frozenset[str]:
    """Return the marks of a record whose days are those of a zone, unless its time brings an offset of its own."""
    text, marks = record.text, set()
    given, tables = plain(text), tables_of(text)

    def says(what: Phrases) -> bool:
        return any(each.says(what, given) for each in tables)

    if not is_english(text):
        marks.add(FOREIGN)
    if role_of(speaker_of(record)) in (None, "user"):
        marks.update(LIFE[name] for name in events_in(text))
        if says("standing"):
            marks.add(STANDING)
    days = dict.fromkeys(_days(text[:_READ], read_in(record.at, zone)))
    marks.update(f"{_POINTS_AT}{day}" for day in list(days)[:_MOST_DAYS])
    marks.update(_RECURS[weekday] for weekday in recurring_in(text[:_READ]))
    if record.kind is Kind.MESSAGE:
        signs: Mapping[str, Phrases] = {TELLS: "first_person", TIMED: "timed", CORRECTS: "corrects"}
        marks.update(mark for mark, sign in signs.items() if says(sign))
        if _only_asks(text):
            marks.add(ASKS)
    return frozenset(marks)


def days_in(marks: Iterable[str]) -> list[int]:
    """Return the days that the marks point at, counted from the day in UTC when it was said; -1 is the one before."""
    return [int(mark[len(_POINTS_AT) :]) for mark in marks if mark.startswith(_POINTS_AT)]


def weekdays_in(marks: Collection[str]) -> int:
    """Return the days of the week that the marks name, as `bits_of` does."""
    return bits_of(weekday for weekday, mark in enumerate(_RECURS) if mark in marks)


def speaker_of(record: Record) -> str:
    """Return the speaker of a record, in lower case; "" if there is none."""
    return str(record.payload.get("speaker") or record.payload.get("role") or "").lower()


def _only_asks(text: str) -> bool:
    tables = tables_of(text)
    questions = [sentence for sentence in sentences_of(text) if asks(sentence, tables)]
    if not questions:
        return False
    stating = [each.pattern("states") for each in tables]
    clauses = [clause for each in questions for clause in _clauses(each, stating)]
    asking = sum(length_of(clause) for clause in clauses if not any(each.match(plain(clause)) for each in stating))
    return asking > _ONLY * length_of(text)


def _clauses(sentence: str, stating: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the clauses of a sentence; one that states something, as "so I left", begins with its first word."""
    starts = {found.start() for each in stating for found in each.finditer(plain(sentence)) if " " in found[0]}
    bounds = [0, *sorted(starts - {0}), len(sentence)]
    parts = (sentence[start:end] for start, end in pairwise(bounds))
    return [clause.strip() for part in parts for clause in _CLAUSE.split(part) if clause.strip()]


def _days(text: str, at: datetime) -> Iterable[int]:
    """Return the days in the middle of the stretches of time that a text points at; of "on Friday" the last and the
    next, as texts tell of plans, too, but for a sentence that shows the past."""
    said_at, today = at.timestamp(), at.astimezone(UTC).toordinal()
    for phrase in phrases(text, at, lies="either"):
        span = phrase.span
        meant = phrase.step or span.start <= said_at or not _is_past(_sentence_at(text, phrase.start))
        if meant and span.end - span.start < _LONGEST:
            yield span.middle.toordinal() - today


def _is_past(sentence: str) -> bool:
    return any(each.says("past" if "past" in each.table else "did", plain(sentence)) for each in tables_of(sentence))


def _sentence_at(text: str, position: int) -> str:
    """Return the sentence that holds a position of a text."""
    end, held = 0, text
    for sentence in sentences_of(text):
        start = text.index(sentence, end)
        if start > position:
            break
        end, held = start + len(sentence), sentence
    return held
