"""What a question asks for, read once and without an index: terms, people, person, time, text to embed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeAlias

from memorist.languages import Language, languages_of, said, tables_of
from memorist.languages.calendar import Span
from memorist.languages.phrases import spans
from memorist.recall.analysis import asked_terms, former_terms, terms
from memorist.recall.names import named_in

MAX_TEXT = 4000
"""The most characters of a question that are read: a longer one is a document, whose beginning says its subject."""


State: TypeAlias = Literal["now", "then", "before"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, analysed."""

    text: str
    embed: str
    """The text to embed: speakers' names replaced by "I" and "my", as they would speak of themselves."""
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
    """Which state it asks for: what holds now, at the time that it names, or what held before; None for all else."""


UNREAD = Question("", "", {}, (), frozenset(), False, False, ())
"""A question of which only the vector is known."""


def _first_person(text: str, names: Iterable[str]) -> str:
    """`text` with the names as the person would say it: "I" for "Ann", "my" for "Ann's"."""
    for name in sorted(names, key=len, reverse=True):
        escaped = re.escape(name)
        text = re.sub(rf"(?<!\w){escaped}['’]s(?!\w)", "my", text, flags=re.IGNORECASE)
        text = re.sub(rf"(?<!\w){escaped}(?!\w)", "I", text, flags=re.IGNORECASE)
    return text


def read_question(text: str, *, speakers: Iterable[str] = (), now: datetime, years: Sequence[int] = ()) -> Question:
    """Analyse `text` against the scope's distinct `speakers` and the `years` to try for a date without one."""
    named = named_in(text, speakers)
    spellings = {s for found in named.values() for s in found}
    gone = {t for s in spellings for t in terms(s)}
    asked = [t for t in asked_terms(text) if t not in gone]
    first_person, pointed = said("first_person", text), tuple(spans(text, now, years))
    return Question(
        text=text,
        embed=_first_person(text, spellings) if spellings else text,
        terms=Counter(asked),
        pairs=tuple(dict.fromkeys(pairwise(asked))),
        speakers=frozenset(named),
        first_person=first_person,
        when=said("when", text),
        spans=pointed,
        tables=tuple(tables_of(text)) if languages_of(text) else (),
        former=[term for term in former_terms(text) if term not in gone and term not in asked],
        state=_state(text, first_person=first_person, dated=bool(pointed)),
    )


def _state(text: str, *, first_person: bool, dated: bool) -> State | None:
    """Return which state a question asks for; None for an event, for all there was, and where it is not clear.

    Who asks in the present tense about himself, or says "now", asks for what holds now; "was I …" with a time, for what
    held then. Of others' lives more is asked than their present state: there only "now" counts. "Which sports do I
    play?" and "How many books have I read?" ask for all of them, of which none replaces another.
    """
    if dated:
        return "then" if first_person and said("was", text) else None
    if said("before", text):
        return "before" if first_person else None
    if said("several", text):
        return None
    asks = said("whether", text) or (said("is", text) and not said("did", text))
    return "now" if said("now", text) or (first_person and asks) else None
