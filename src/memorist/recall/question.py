"""What a question asks for, read once and without an index: terms, people, person, time, text to embed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

from memorist.languages import Language, Phrases, languages_of, plain, said, tables_of
from memorist.languages.calendar import WEEK, Span, bits_of, weekdays_of
from memorist.languages.phrases import Lies, phrases, recurring_in, spans
from memorist.languages.sentences import asks, length_of, unspaced
from memorist.languages.table import words_of
from memorist.recall.analysis import asked_terms, former_terms, terms
from memorist.recall.names import named_in, own_names_in

MAX_TEXT = 4000
"""The most characters of a question that are read: a longer one is a document, whose beginning says its subject."""


_LONGEST, _LONGEST_PHRASE, _LEAST = 25, 7, 3
"""The most words of a question for a state, as a longer one is a task; and of words that only name what is sought; the
fewest of a question without its time."""
_LETTERS = 3
"""Where no space parts them, so many letters count as a word."""
_SAID = (".", "!", "。", "！", "।")
"""What ends a statement."""
_ASKING: Sequence[Phrases] = ("who", "when", "where", "how_many", "whether")
"""What shows a question where no mark does."""
State: TypeAlias = Literal["now", "whether", "then", "before", "all"]


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
    when: bool
    """Whether it asks for a time."""
    spans: Sequence[Span]
    tables: Sequence[Language] = ()
    """The languages that it may be in; none where nothing tells."""
    former: Sequence[str] = ()
    """Terms that texts stored by an earlier version may hold in the place of some of `terms`."""
    state: State | None = None
    """Which state it asks for: what holds now, whether something holds, what held at the time that it names, what held
    before, or all that hold; None for all else."""
    until: float | None = None
    """The end of what matters for a state at a time, in seconds since 1970."""
    mild: bool = False
    """Whether it may ask for that state as well as for anything else: it says neither "I" nor "now", or is a phrase."""
    guessed: bool = False
    """Whether it may ask for it only because it has no tense that was read: "Staging URL?"."""
    ahead: bool = False
    """Whether it asks for what is planned for some days, a week at most: "What do I have on Friday?"."""
    weekly: int = 0
    """The days of the week for which it is asked what recurs, each a bit of it, as `bits_of` says."""
    since: frozenset[str] = frozenset()
    """The changes of a life since which it asks what is so: of "Where do I live?" a move."""


UNREAD = Question("", "", {}, (), frozenset(), False, False, ())
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
    first_person = said("first_person", text) or said("own", text)
    present = said("now", text)
    phrase = not (asks(text, tables) or any(said(what, text) for what in _ASKING))
    past = said("did", text) or said("was", text) or said("before", text)
    untold = not phrase and _is_untold(text, present)
    names_time = phrase or (untold and _is_brief(text, now))
    lies: Lies = "behind" if past else "ahead" if said("is", text) else "either" if names_time else "behind"
    pointed = tuple(spans(text, now, years, lies=lies))
    ahead = lies != "behind" and bool(pointed) and all(span.end - span.start <= WEEK for span in pointed)
    asked = [t for t in asked_terms(_without_times(text, now, counted=True) if ahead else text) if t not in gone]
    state, until = _state_sought(text, pointed) if phrase else _state(text, first_person, present, pointed, now)
    guessed = state is None and untold and not pointed
    if guessed:
        state = "all" if said("several", text) else "now"
    mild = state is not None and (phrase or guessed or not (first_person or present))
    if mild and named:  # of the lives of those who speak here, more is asked than their present state
        state, until, mild = None, None, False
    # Where nobody speaks, the records speak of "the user" as the question does.
    embed = text if speakers else given
    if state == "then" and not mild:
        embed = _without_times(embed, now)
    return Question(
        text=text,
        embed=_in_first_person(embed, spoken, tables) if spoken else embed,
        terms=Counter(asked),
        pairs=tuple(dict.fromkeys(pairwise(asked))),
        speakers=frozenset(named),
        first_person=first_person,
        when=said("when", text),
        spans=pointed,
        tables=tuple(tables) if languages_of(text) else (),
        former=[term for term in former_terms(text) if term not in gone and term not in asked],
        state=state,
        until=until,
        mild=mild,
        guessed=guessed and mild,
        ahead=ahead,
        weekly=(weekdays_of(pointed) if ahead else 0) | (0 if past else bits_of(recurring_in(text))),
        since=_since(text, tables) if state is not None else frozenset(),
    )


def _since(text: str, tables: Iterable[Language]) -> frozenset[str]:
    """Return the changes of a life since which a text asks what is so."""
    given = plain(text)
    return frozenset(name for each in tables for name in each.changes("asked", given))


def _without_times(text: str, now: datetime, *, counted: bool = False) -> str:
    """Return a question without the phrases that point at a time, or that count from `now` ("tomorrow"); as it is where
    that leaves no question."""
    left = text
    for start, end in sorted({(each.start, each.end) for each in phrases(text, now, dates=not counted)}, reverse=True):
        left = left[:start] + left[end:]
    return left if length_of(left) >= _LEAST else text


def _state(
    text: str, first_person: bool, present: bool, pointed: Sequence[Span], now: datetime
) -> tuple[State | None, float | None]:
    """Return which state a question asks for, and until when what was told matters; None for an event, for what was
    said to the assistant, and where it is not clear.

    Who asks in the present tense about himself, or says "now", asks for what holds now; "was I …" with a time, or "did
    I …" with a month, for what held then; "which cars have I had", for all.
    """
    if _is_longer(text, _LONGEST) or said("no_state", text):
        return None, None
    several, whether = said("several", text), said("whether", text)
    counted = several and said("how_many", text)
    if several and not counted and said("lasted", text) and all(span.grain == "year" for span in pointed):
        return "all", None
    past, holds = said("did", text), whether or ((present or said("is", text)) and not said("did", text))
    if said("before", text) and (past or not holds) and not (several or said("how_long", text) or whether):
        over = [span.start for span in pointed if span.end <= now.timestamp()]
        return ("then", min(over)) if over else ("before", None)
    if pointed and not whether:
        held = said("was", text) and not counted
        lasting = first_person and past and not (several or said("event", text)) and all(map(_is_long, pointed))
        return ("then", max(span.end for span in pointed)) if held or lasting else (None, None)
    if not holds or counted:
        return None, None
    return "all" if several else "whether" if whether else "now", None


def _is_untold(text: str, present: bool) -> bool:
    """Return whether no tense of a question tells when what it asks for was or is, nor that it asks for no state."""
    tells: Sequence[Phrases] = ("is", "did", "past", "before", "no_state", "how_many")
    return not (present or _is_longer(text, _LONGEST) or any(said(what, text) for what in tells))


def _is_brief(text: str, now: datetime) -> bool:
    """Return whether a question is hardly more than a time: "Anything on Friday?"."""
    return length_of(text) - sum(length_of(text[each.start : each.end]) for each in phrases(text, now)) < _LEAST


def _state_sought(text: str, pointed: Sequence[Span]) -> tuple[State | None, float | None]:
    """Return the same of words that only name what is sought, as programs search: "door code", "address in May"."""
    if _is_longer(text, _LONGEST_PHRASE) or text.rstrip().endswith(_SAID) or said("no_state", text):
        return None, None
    if pointed:
        return "then", max(span.end for span in pointed)
    return "all" if said("several", text) else "before" if said("before", text) else "now", None


def _is_longer(text: str, words: int) -> bool:
    return length_of(text) > (_LETTERS * words if unspaced(text) else words)


def _is_long(span: Span) -> bool:
    """Return whether a state, rather than an event, may be asked for by its time: a month, a season or a year."""
    return span.grain in ("month", "season", "year") and not span.vague
