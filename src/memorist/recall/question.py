"""What a question asks for, read once and without an index: terms, people, person, time, text to embed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from memorist.languages import Language, Phrases, languages_of, plain, tables_of
from memorist.languages.calendar import WEEK, Span, bits_of, weekdays_of
from memorist.languages.phrases import Lies, phrases, recurring_in, spans
from memorist.languages.sentences import asks, length_of
from memorist.languages.table import words_of
from memorist.recall.analysis import asked_terms, former_terms, terms
from memorist.recall.names import named_in, own_names_in

MAX_TEXT = 4000
"""The most characters of a question that are read: a longer one is a document, whose beginning says its subject."""


_LEAST = 3
"""The fewest words of a question without its time."""
PHRASES: Sequence[Phrases] = (
    "now", "is", "did", "was", "before", "past", "several", "whether", "no_state", "how_many", "event", "how_long",
    "lasted", "when", "who", "where", "first_person", "own",
)  # fmt: skip
"""The lists of phrases, in any language, that are looked for in a question."""
_ASKING: Sequence[Phrases] = ("who", "when", "where", "how_many", "whether")
"""What shows a question where no mark does."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, analysed."""

    text: str
    embed: str
    """The text to embed: "the user" and speakers' names replaced by "I" and "my" in its language, as they would say.
    Where it asks for the state at a time, without that time: what tells the state rarely says when it holds, and what
    says when rarely tells it."""
    terms: Mapping[str, int]
    """Index terms with counts, without speakers' names."""
    pairs: Sequence[tuple[str, str]]
    """Terms that follow one another in the question, each pair once."""
    speakers: frozenset[str]
    """The scope's speakers that are asked about."""
    first_person: bool
    present: bool
    """Whether it says "now"."""
    when: bool
    """Whether it asks for a time."""
    spans: Sequence[Span]
    tables: Sequence[Language] = ()
    """The languages that it may be in; none where nothing tells."""
    former: Sequence[str] = ()
    """Terms that texts stored by an earlier version may hold in the place of some of `terms`."""
    until: float | None = None
    """The end of what matters for the state at the time that it names, in seconds since 1970; None where it names none.
    """
    lasting: bool = False
    """Whether it names months, seasons or years, and nothing that happens: it may ask for what held then."""
    ahead: bool = False
    """Whether it asks for what is planned for some days, a week at most: "What do I have on Friday?"."""
    weekly: int = 0
    """The days of the week for which it is asked what recurs, each a bit of it, as `bits_of` says."""
    held: frozenset[Phrases] = frozenset()
    """Of which `PHRASES` it holds one."""
    since: frozenset[str] = frozenset()
    """The life events since which it asks what is so: of "Where do I live?" a move."""


UNREAD = Question("", "", {}, (), frozenset(), False, False, False, ())
"""A question of which only the vector is known."""


def as_the_user_says(text: str, own: Language) -> str:
    """Return a text that speaks of "the user", as agents do, as the user would say it: with "I" and "my".

    Args:
        text: a question or a record.
        own: the language that it is in.
    """
    if not own.may_name_user(plain(text)):
        return text
    subject, possessive = words_of(own.table["self"])
    the_user, the_users = own.table["user"]
    for form, instead in ((the_users, possessive), (the_user, subject)):
        found = [match.span() for match in own.compiled([form]).finditer(plain(text))]
        for start, end in reversed(found):
            text = text[:start] + instead + text[end:]
    return text


def _in_first_person(text: str, names: Iterable[str], tables: Sequence[Language]) -> str:
    """Return a text with names as their owners would say them: in English "I" for "Ann", "my" for "Ann's"."""
    own = tables[0]
    subject, possessive = words_of(own.table["self"])
    before, after = (r"(?<!\w)", r"(?!\w)") if own.spaced else ("", "")
    for name in sorted(names, key=len, reverse=True):
        escaped = re.escape(name)
        text = re.sub(rf"{before}{escaped}['’]s(?!\w)", possessive, text, flags=re.IGNORECASE)
        text = re.sub(rf"{before}{escaped}{after}", subject, text, flags=re.IGNORECASE)
    return text


def read_question(
    text: str, *, speakers: Iterable[str] = (), users: Iterable[str] = (), now: datetime, years: Sequence[int] = ()
) -> Question:
    """Analyse `text` against the scope's distinct `speakers` and the `years` to try for a date without one.

    Where somebody speaks, who is named like one of the `users` whose records are asked is the user, as in "Where does
    Alice live?" asked of hers, unless a speaker bears that name.
    """
    given, tables, speakers = text, tables_of(text), list(speakers)
    named = named_in(text, speakers)
    spoken = {s for found in named.values() for s in found}
    text = as_the_user_says(text, tables[0])
    if speakers:
        text = _in_first_person(text, {s for user in users for s in own_names_in(text, user)} - spoken, tables)
    gone = {t for s in spoken for t in terms(s)}
    held = phrases_in(text)
    past = not held.isdisjoint(("did", "was", "before"))
    phrase = not asks(text, tables) and held.isdisjoint(_ASKING)
    lies: Lies = "behind" if past else "ahead" if "is" in held else "either" if phrase else "behind"
    pointed = tuple(spans(text, now, years, lies=lies))
    ahead = lies != "behind" and bool(pointed) and all(span.end - span.start <= WEEK for span in pointed)
    asked = [t for t in asked_terms(_without_times(text, now, counted=True) if ahead else text) if t not in gone]
    until = _until(pointed, now, before="before" in held)
    # Where nobody speaks, the records speak of "the user" as the question does.
    embed = text if speakers else given
    lasting = bool(pointed) and all(map(_is_long, pointed)) and held.isdisjoint(("event", "whether"))
    if until is not None and lasting and not held.isdisjoint(("first_person", "was")) and not named:
        embed = _without_times(embed, now)
    return Question(
        text=text,
        embed=_in_first_person(embed, spoken, tables) if spoken else embed,
        terms=Counter(asked),
        pairs=tuple(dict.fromkeys(pairwise(asked))),
        speakers=frozenset(named),
        first_person=not held.isdisjoint(("first_person", "own")),
        present="now" in held,
        when="when" in held,
        spans=pointed,
        tables=tuple(tables) if languages_of(text) else (),
        former=[term for term in former_terms(text) if term not in gone and term not in asked],
        until=until,
        lasting=lasting,
        ahead=ahead,
        weekly=(weekdays_of(pointed) if ahead else 0) | (0 if past else bits_of(recurring_in(text))),
        held=held,
        since=_since(text, tables),
    )


def phrases_in(text: str) -> frozenset[Phrases]:
    """Return of which `PHRASES` a text holds one, in a language that it may be in."""
    given, tables = plain(text), tables_of(text)
    return frozenset(phrase for phrase in PHRASES if any(each.says(phrase, given) for each in tables))


def _since(text: str, tables: Iterable[Language]) -> frozenset[str]:
    """Return the life events since which a text asks what is so."""
    given = plain(text)
    return frozenset(name for each in tables for name in each.changes("asked", given))


def _without_times(text: str, now: datetime, *, counted: bool = False) -> str:
    """Return a question without the phrases that point at a time, or that count from `now` ("tomorrow"); as it is where
    that leaves no question."""
    left = text
    for start, end in sorted({(each.start, each.end) for each in phrases(text, now, dates=not counted)}, reverse=True):
        left = left[:start] + left[end:]
    return left if length_of(left) >= _LEAST else text


def _until(pointed: Sequence[Span], now: datetime, *, before: bool) -> float | None:
    """Return until when what was told matters for the state that a question asks for: "before May" is until it begins,
    "in May" until it ends."""
    if before:
        return min((span.start for span in pointed if span.end <= now.timestamp()), default=None)
    return max((span.end for span in pointed), default=None)


def _is_long(span: Span) -> bool:
    """Return whether a state, rather than an event, may be asked for by its time: a month, a season or a year."""
    return span.grain in ("month", "season", "year") and not span.vague
