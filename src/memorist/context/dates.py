"""Dates in a context: the date after "yesterday", and how long ago a day was."""

from datetime import datetime

from memorist.languages import language, plain
from memorist.languages.phrases import phrases
from memorist.languages.writing import noted
from memorist.system.regex import regex

_BRACKET = regex(r"\s?[(（]")
_OF_WHAT = regex(r"\s(?:in|of) (\w+)")
_SHOWN_AT_ONCE = ("weekend", "month")
"""Phrases about the present period, whose days do not depend on the day on which they were said."""


def since(then: datetime, now: datetime) -> str:
    """Return how long ago a time was, in the largest unit that says enough: "3 weeks ago"; "" for the future."""
    days = (now.date() - then.date()).days
    if days < 0:
        return ""
    if days < 2:
        return ("today", "yesterday")[days]
    for unit, length, least in (("year", 365.25, 700), ("month", 30.44, 60), ("week", 7, 14)):
        if days >= least:
            return f"{round(days / length)} {unit}s ago"
    return f"{days} days ago"


def dated(text: str, said: datetime) -> str:
    """Return `text` with the date after each expression that is relative to the time it was said.

    ``yesterday`` becomes ``yesterday (7 May 2023)``, ``letztes Jahr`` becomes ``letztes Jahr (2022)``. An expression
    that already has something in brackets behind it is left alone, and no date is put in twice. Nor does "the last
    weekend in May" count from the day it was said.
    """
    parts, end, told = [], 0, set[str]()
    for phrase in phrases(text, said, dates=False):
        grain, shown = phrase.span.grain, noted(phrase)
        if phrase.lasting or (not phrase.step and grain not in _SHOWN_AT_ONCE):
            continue
        of = _OF_WHAT.match(text, phrase.end)
        if of is not None and plain(of[1]) in language("en").days:
            continue
        if grain != "hour" and shown not in told and not _BRACKET.match(text, phrase.end):
            told.add(shown)
            parts.append(f"{text[end : phrase.end]}{shown}")
            end = phrase.end
    return "".join((*parts, text[end:]))
